"""The command, in processes of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from varpu.datasets.registry import DATASETS

COMMAND = str(Path(sys.executable).with_name("varpu"))


def run(*args, **environment):
    keep = {name: value for name, value in os.environ.items() if name != "VARPU_DATA"}
    return subprocess.run(
        [COMMAND, "data", *args],
        capture_output=True,
        text=True,
        timeout=60,
        env={**keep, **{name: str(value) for name, value in environment.items()}},
    )


@pytest.mark.parametrize("command", ["list", "get", "verify"])
def test_help_has_an_example(command):
    result = run(command, "--help")
    assert result.returncode == 0, result.stderr
    assert f"Example: varpu data {command}" in result.stdout


def test_list(data_dir, tmp_path):
    result = run("list", VARPU_DATA=data_dir, VARPU_CACHE=tmp_path)
    assert result.returncode == 0, result.stderr
    lines = {line.split()[0]: line.split() for line in result.stdout.splitlines()}
    assert lines.keys() == {"name", *DATASETS}
    assert lines["avila"] == ["avila", "20,867", "2.0", "MB", str(data_dir)]
    assert lines["stl10"][1:4] == ["113,000", "3.1", "GB"]


def test_list_of_a_part(tmp_path):
    (tmp_path / "avila").mkdir()
    (tmp_path / "avila" / "avila-tr.txt").touch()
    lines = run("list", VARPU_CACHE=tmp_path).stdout.splitlines()
    assert [line.rstrip().endswith("absent") for line in lines].count(True) == len(DATASETS) - 1
    (line,) = (line for line in lines if line.startswith("avila"))
    assert line.rstrip().endswith(f"{tmp_path} (1 of 2 files)")


def test_get_what_is_there(data_dir, tmp_path):
    result = run("get", "avila", "page-blocks", VARPU_DATA=data_dir, VARPU_CACHE=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"avila: in {data_dir}\npage_blocks: in {data_dir}\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "varpu: name the data sets to get, or say --all"),
        (["avila", "--all"], "varpu: name the data sets to get, or say --all"),
        (["mnist"], "varpu: there is no data set 'mnist'; there are page_blocks"),
        (["page_blocks_authors"], "no source to download it from"),
    ],
)
def test_get_what_cannot_be(tmp_path, args, message):
    result = run("get", *args, VARPU_CACHE=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_verify(data_dir, tmp_path):
    result = run("verify", "avila", "stl10", VARPU_DATA=data_dir, VARPU_CACHE=tmp_path)
    assert result.returncode == 0, result.stderr
    assert f"{data_dir / 'avila' / 'avila-tr.txt'}: ok" in result.stdout.splitlines()
    if not (data_dir / "stl10_binary").exists():
        assert "stl10_binary/train_X.bin: missing" in result.stdout.splitlines()


def test_verify_damage(tmp_path):
    file = tmp_path / "avila" / "avila-tr.txt"
    file.parent.mkdir()
    file.write_bytes(bytes(999_319))
    result = run("verify", VARPU_CACHE=tmp_path)
    assert result.returncode == 1
    lines = result.stdout.splitlines()
    assert len(lines) == sum(len(entry.files) for entry in DATASETS.values())
    assert "avila/avila-ts.txt: missing" in lines
    (damaged,) = (line for line in lines if "damaged" in line)
    assert damaged.startswith(f"{file}: damaged: wanted sha256 493332")
