"""``varpu predict``, run as a person would run it."""

import sys

import numpy as np
import pandas as pd
import pytest

from varpu import cli
from varpu.tabular import TableModel, TableWriter, read_table, reading

N = 300


@pytest.fixture(scope="module")
def frame():
    random = np.random.RandomState(0)
    frame = pd.DataFrame({"key": [f"{i:04d}" for i in range(N)], "x": random.normal(size=N)})
    frame["colour"] = random.choice(["red", "blue"], N)
    frame["bought"] = np.where((frame["x"] > 0.3) & (np.arange(N) % 2 == 0), 1, None)
    return frame


@pytest.fixture(scope="module")
def model(frame):
    return TableModel.fit(frame, label="bought", id="key", time_budget=0.1)


@pytest.fixture
def folder(model, tmp_path):
    model.save(tmp_path / "model")
    return tmp_path / "model"


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


def write(path, frame):
    with TableWriter(path) as writer:
        writer.write(frame)
    return path


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("t.csv", "s.parquet"),
        ("t.parquet", "s.csv.gz"),
        ("t.arrow", "s.jsonl"),
        ("t.jsonl", "s.tsv"),
    ],
)
def test_streamed_as_in_one_go(frame, model, folder, tmp_path, varpu, monkeypatch, source, target):
    monkeypatch.setattr(reading.table_batches, "__kwdefaults__", {"as_text": (), "seen": None})
    monkeypatch.setattr(reading.table_batches, "__defaults__", (70,))
    table = write(tmp_path / source, frame.iloc[:, ::-1].assign(more=1))
    out = tmp_path / target
    code, shown, err = varpu("predict", folder, table, "--out", out)
    assert (code, err) == (0, "")
    assert f"{N} rows" in shown
    assert "rows/s" in shown
    assert "'more'" in shown
    assert "'bought'" not in shown
    found = read_table(out, as_text=["key"])
    wanted = model.predict(frame)
    if target == "s.jsonl":  # it has ten digits
        found["probability"] = found["probability"].round(9)
        wanted["probability"] = wanted["probability"].round(9)
    pd.testing.assert_frame_equal(
        found, wanted, check_dtype=False, check_exact="json" not in target
    )


def test_rows_without_id_are_numbered(frame, tmp_path, varpu, monkeypatch):
    model = TableModel.fit(frame.drop(columns="key"), label="bought", time_budget=0.01)
    model.save(tmp_path / "model")
    monkeypatch.setattr(reading.table_batches, "__defaults__", (70,))
    table = write(tmp_path / "t.csv", frame)
    assert varpu("predict", tmp_path / "model", table, "--out", tmp_path / "s.csv")[0] == 0
    assert read_table(tmp_path / "s.csv")["row"].tolist() == list(range(N))


def test_no_rows(frame, folder, tmp_path, varpu):
    table = write(tmp_path / "t.csv", frame[:0])
    assert varpu("predict", folder, table, "--out", tmp_path / "s.csv")[0] == 0
    assert list(read_table(tmp_path / "s.csv").columns) == ["key", "probability", "label"]


HOSTILE = {
    "missing": (b"key,x\n1,2\n", "lacks columns that the model uses: 'colour'"),
    "type": (b"key,x,colour\n1,2,red\n2,big,red\n", "column 'x': wanted numbers"),
    "late": (b"key,x,colour\n" + b"1,2,red\n" * 200_000 + b"1,\xff,red\n", "not UTF-8"),
    "quotes": (b'key,x,colour\n1,2,"red\n2,3,red\n', "a quote is opened"),
    "no id": (b"x,colour\n1,red\n", "no column 'key' for the id"),
    "empty": (b"", "is empty"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_tables(folder, tmp_path, varpu, case):
    contents, message = HOSTILE[case]
    path = tmp_path / "t.csv"
    path.write_bytes(contents)
    code, out, err = varpu("predict", folder, path, "--out", tmp_path / "s.csv")
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model", "t.csv"]


def test_hostile_places(frame, folder, tmp_path, varpu):
    table = write(tmp_path / "t.csv", frame)
    assert "is a folder" in varpu("predict", folder, folder, "--out", tmp_path / "s.csv")[2]
    assert "kind of table" in varpu("predict", folder, table, "--out", tmp_path / "s.doc")[2]
    assert "--force" in varpu("predict", folder, table, "--out", table)[2]
    assert "is a file" in varpu("predict", table, table, "--out", tmp_path / "s.csv")[2]
    for file in folder.iterdir():
        contents = file.read_bytes()
        file.write_bytes(contents[:-9] + bytes([contents[-9] ^ 1]) + contents[-8:])
        code, out, err = varpu("predict", folder, table, "--out", tmp_path / "s.csv")
        assert (code, out) == (2, "")
        assert "altered or damaged" in err
        file.write_bytes(contents)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["model", "t.csv"]


def test_help_has_an_example(varpu):
    assert "Example: varpu predict" in varpu("predict", "--help")[1]
