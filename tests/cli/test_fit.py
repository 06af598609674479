"""``varpu fit``, run as a person would run it."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from varpu import cli
from varpu.tabular import TableModel, TableWriter

N = 200


@pytest.fixture(scope="module")
def frame():
    random = np.random.RandomState(0)
    frame = pd.DataFrame({"key": [f"{i:04d}" for i in range(N)], "x": random.normal(size=N)})
    frame["<i>colour</i>"] = random.choice(["red", "[bold]"], N)
    frame["always"] = "same"
    frame["bought"] = np.where((frame["x"] > 0.3) & (np.arange(N) % 2 == 0), 1, None)
    return frame


@pytest.fixture
def table(frame, tmp_path):
    with TableWriter(tmp_path / "table.csv") as writer:
        writer.write(frame)
    return tmp_path / "table.csv"


@pytest.fixture
def varpu(monkeypatch, capsys):
    """Run the command in this process; its exit code, output and errors."""

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["varpu", *map(str, args)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        shown = capsys.readouterr()
        return left.value.code or 0, shown.out, shown.err

    return run


def test_one_table(table, tmp_path, frame):
    command = [sys.executable, "-W", "error", "-m", "varpu", "fit", str(table), "--label", "bought"]
    command += ["--id", "key", "--time-budget", "0.1", "--out", str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    for text in (
        f"rows       {N}, of which {(frame['bought'] == 1).sum()} labelled positive",
        "90% interval",
        "left out always: constant: 'same'",
        "trees of 31 leaves",
        f"varpu predict {tmp_path / 'model'} NEW.csv --out scored.csv",
    ):
        assert text in done.stdout
    model = TableModel.load(tmp_path / "model")
    assert model.id == "key"
    assert model.encoder.names_ == ["x", "<i>colour</i>"]


def test_two_tables(frame, tmp_path, varpu):
    features = frame.drop(columns="bought")
    for name, rows in (("p.parquet", features[frame["bought"] == 1]), ("u.jsonl.gz", features)):
        with TableWriter(tmp_path / name) as writer:
            writer.write(rows)
    where = ["--positives", tmp_path / "p.parquet", "--unlabeled", tmp_path / "u.jsonl.gz"]
    code, out, err = varpu("fit", *where, "--time-budget", "0.1", "--out", tmp_path / "model")
    assert (code, err) == (0, "")
    assert "case-control" in out
    assert "two tables are taken as case-control" in out
    assert "left out key" in out


HOSTILE = {
    "empty": (b"", ["--label", "y"], "is empty"),
    "quotes": (b'x,y\n1,"a\n2,\n3,\n', ["--label", "y"], "a quote is opened and not closed"),
    "columns": (b"x,y\n1,a\n2\n", ["--label", "y"], "Expected 2 columns, got 1"),
    "encoding": (b"x,y\n1,caf\xe9\n2,\xc3\xa9\n", ["--label", "y"], "line 2, byte 10"),
    "long": (b"x,y\n1," + b"z" * 10_000_000 + b"\n", ["--label", "y"], "more than 4 MB"),
    "no label": (b"x,label\n1,a\n2,\n", ["--label", "lable"], "did you mean 'label'?"),
    "no id": (b"x,y\n1,a\n2,\n", ["--label", "y", "--id", "z"], "no column 'z' for the id"),
    "no positives": (b"x,y\n1,\n2,\n", ["--label", "y"], "no row is labelled positive"),
    "only positives": (b"x,y\n1,a\n2,a\n", ["--label", "y"], "every row is labelled positive"),
    "which": (b"x,y\n1,a\n2,b\n", ["--label", "y"], "--positive"),
    "no column": (b"x,y\n1,a\n1,\n", ["--label", "y"], "no column to learn from"),
    "one positive": (b"x,y\n1,a\n2,\n3,\n4,\n", ["--label", "y"], "at least 2 distinct labelled"),
    "no rows": (b"x,y\n", ["--label", "y"], "no rows"),
    "no --label": (b"x,y\n1,a\n2,\n", [], "--label"),
    "scenario": (b"x,y\n1,a\n2,\n", ["--label", "y", "--scenario", "none"], "scenario"),
    "prior": (b"x,y\n1,a\n2,\n", ["--label", "y", "--prior", "2"], "prior"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_tables(tmp_path, varpu, case):
    contents, options, message = HOSTILE[case]
    path = tmp_path / "table.csv"
    path.write_bytes(contents)
    code, out, err = varpu("fit", path, *options, "--out", tmp_path / "model")
    assert (code, out) == (2, "")
    assert err.startswith("varpu: ")
    assert message in err
    assert err.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]


def test_hostile_places(tmp_path, table, varpu):
    label = ("--label", "bought", "--time-budget", "0.1")
    assert "is a folder" in varpu("fit", tmp_path, *label, "--out", tmp_path / "m")[2]
    assert "does not exist" in varpu("fit", tmp_path / "n.csv", *label, "--out", tmp_path / "m")[2]
    assert "is not a folder" in varpu("fit", table, *label, "--out", tmp_path / "a" / "m")[2]
    code, _, err = varpu("fit", table, *label, "--out", tmp_path)
    assert code == 2
    assert "is no model" in err
    assert varpu("fit", "--positives", table, "--out", tmp_path / "m")[0] == 2
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]
    assert varpu("fit", table, *label, "--out", tmp_path / "m")[0] == 0
    code, _, err = varpu("fit", table, *label, "--out", tmp_path / "m")
    assert code == 2
    assert "--force" in err
    assert varpu("fit", table, *label, "--out", tmp_path / "m", "--force")[0] == 0


def test_help_has_an_example(varpu):
    assert "Example: varpu fit" in varpu("fit", "--help")[1]
