"""``varpu check``: text, JSON, exit codes and bad input."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from varpu import cli


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command in this process: a new one would load the libraries each time."""

    def run_command(*args):
        monkeypatch.setattr(sys, "argv", ["varpu", "check", *map(str, args)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return Result(stop.value.code or 0, *capsys.readouterr())

    return run_command


def table(folder, name="table.csv", *, spoiled=False, **columns):
    rng = np.random.default_rng(0)
    positive = rng.random(1000) < 0.5
    y = positive & (rng.random(1000) < 0.5)
    X = pd.DataFrame({"size": rng.normal(size=1000) + 2 * positive})
    X["town"] = rng.choice(["a", "b", "c"], 1000)
    X["known"] = np.where(y, "yes", None)
    if spoiled:
        X["<script>[red]\x1b[31m"] = np.where(y, "ward 7", "ward 8")
        X["unit"] = "cm"
    X = X.assign(**columns)
    path = folder / name
    if path.suffix == ".parquet":
        X.to_parquet(path)
    else:
        X.to_csv(path, index=False)
    return path


def test_help_has_an_example(run):
    result = run("--help")
    assert result.code == 0
    assert "Example: varpu check" in result.out


def test_clean(run, tmp_path):
    result = run(table(tmp_path), "--label", "known")
    assert result.code == 0, result.err
    out = result.out
    assert out.startswith("table.csv: 1,000 rows, 2 columns, 2")
    assert out.endswith("Nothing was found.\n")


def test_findings_as_text(run, tmp_path):
    result = run(table(tmp_path, "table.parquet", spoiled=True), "--label", "known")
    assert result.code == 1, result.err
    out = result.out
    assert "error PU001 A column alone tells" in out
    assert "note PU006 A constant column" in out
    assert all(f"  {word}: " in out for word in ("seen", "why", "do"))
    assert out.endswith("1 error, 1 note.\n")
    # What came from the table is shown as it is, but does not steer the terminal.
    assert "<script>[red]" in out
    assert "\x1b" not in out


def test_findings_as_json(run, tmp_path):
    path = table(tmp_path, spoiled=True)
    result = run(path, "--label", "known", "--format", "json", "--seed", 3)
    assert result.code == 1, result.err
    shown = json.loads(result.out)
    assert (shown["rows"], shown["columns"]) == (1000, 4)
    assert [found["code"] for found in shown["findings"]] == ["PU001", "PU006"]
    assert shown["findings"][0]["columns"] == ["<script>[red]\x1b[31m"]
    again = run(path, "--label", "known", "--format", "json", "--seed", 3)
    assert again.out == result.out


def test_drop_and_positive(run, tmp_path):
    path = table(tmp_path, spoiled=True, kind=np.resize(["x", "y", "z"], 1000))
    result = run(path, "--label", "known", "--drop", "<script>[red]\x1b[31m", "--drop", "unit")
    assert (result.code, result.err) == (0, "")
    result = run(path, "--label", "kind", "--positive", "y", "--format", "json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["labelled"] == 333


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--label", "knwn"], "did you mean 'known'?"),
        (["--label", "known", "--drop", "sizes"], "did you mean 'size'?"),
        (["--label", "known", "--positive", "maybe"], "'maybe'"),
        (["--label", "town"], "--positive VALUE"),
        (["--label", "known", "--drop", "size", "--drop", "town"], "no column is left"),
    ],
)
def test_bad_options(run, tmp_path, options, message):
    result = run(table(tmp_path), *options)
    assert result.code == 2
    assert result.out == ""
    [line] = result.err.splitlines()
    assert line.startswith("varpu: ")
    assert message in line


def test_bad_files(run, tmp_path):
    (tmp_path / "empty.csv").touch()
    for name in ("empty.csv", "absent.csv", "."):
        result = run(tmp_path / name, "--label", "known")
        assert result.code == 2
        assert result.out == ""
        assert len(result.err.splitlines()) == 1


def test_in_a_process_of_its_own(tmp_path):
    command = [Path(sys.executable).with_name("varpu"), "check", table(tmp_path, spoiled=True)]
    result = subprocess.run([*command, "--label", "known"], capture_output=True, timeout=120)
    assert result.returncode == 1
    assert result.stderr == b""
    assert b"PU001" in result.stdout
