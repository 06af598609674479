"""Tables in files: what is written is read again, and what is broken is named."""

import gzip

import pandas as pd
import pytest

from varpu.exceptions import PUInputError
from varpu.tabular import TableWriter, read_table, table_batches

TEXT = ["csv", "tsv", "jsonl"]
ENDINGS = [
    *TEXT,
    *(f"{kind}.{way}" for kind in TEXT for way in ("gz", "bz2", "xz", "zst")),
    "parquet",
    "arrow",
    "feather",
]


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "number": [1.5, None, -3.25, 1e-9],
            "whole": [1, 2, 3, 2**53 + 1],
            "word": ["a", None, 'with "quotes", comma', "two\nlines"],
            "true": [True, False, True, True],
        }
    )


def same(found, frame):
    pd.testing.assert_frame_equal(found, frame, check_dtype=False)


@pytest.mark.parametrize("ending", ENDINGS)
def test_round_trip(tmp_path, frame, ending):
    path = tmp_path / f"table.{ending}"
    with TableWriter(path) as writer:
        writer.write(frame[:3])
        writer.write(frame[3:])
    assert writer.rows == 4
    same(read_table(path), frame)
    batches = list(table_batches(path, rows=2))
    assert max(map(len, batches)) <= 2
    same(pd.concat(batches, ignore_index=True), frame)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ["csv.gz", "csv.zst", "parquet", "arrow", "jsonl"])
def test_nothing_is_left_of_a_failure(tmp_path, frame, ending):
    def fail():
        with TableWriter(tmp_path / f"table.{ending}") as writer:
            writer.write(frame)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_dates_are_dates(tmp_path):
    frame = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=3)})
    for ending in ("csv", "parquet", "arrow"):
        with TableWriter(tmp_path / f"table.{ending}") as writer:
            writer.write(frame)
        assert (read_table(tmp_path / f"table.{ending}")["day"] == frame["day"]).all()


def test_types_widen_where_later_values_need_it(tmp_path):
    # More than the block from which types are guessed.
    lines = ["7,1,,2020-01-01"] * 400_000 + ["x,1.5,z,soon"]
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,d\n" + "\n".join(lines) + "\n")
    whole = read_table(path)
    assert len(whole) == 400_001
    assert whole["a"].iloc[[0, -1]].tolist() == ["7", "x"]
    assert whole["b"].iloc[[0, -1]].tolist() == [1.0, 1.5]
    assert whole["c"].iloc[-1] == "z"
    shares = []
    batches = list(table_batches(path, seen=shares.append))
    assert sum(map(len, batches)) == 400_001
    assert batches[-1]["a"].iloc[-1] == "x"
    assert shares[-1] == 1.0


def test_ids_keep_their_zeros(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,x\n007,1\n010,2\n")
    assert read_table(path, as_text=["id"])["id"].tolist() == ["007", "010"]
    assert next(table_batches(path, as_text=["id"]))["id"].tolist() == ["007", "010"]


@pytest.mark.parametrize("text", ["a;b\n1;2\n", "a\tb\n1\t2\n", "﻿a,b\r\n1,2\r\n"])
def test_other_csv_files(tmp_path, text):
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    assert read_table(path).to_dict("list") == {"a": [1], "b": [2]}


def test_a_table_of_no_rows_is_one_batch(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n")
    (batch,) = table_batches(path)
    assert list(batch.columns) == ["a", "b"]
    assert len(batch) == 0


def test_json_lines_may_lack_a_key(tmp_path):
    path = tmp_path / "table.jsonl"
    path.write_text('{"a": 1}\n\n{"b": "x", "a": 2.5}')
    found = read_table(path)
    assert found["a"].tolist() == [1.0, 2.5]
    assert found["b"].isna().tolist() == [True, False]


LONG = b"a,b\n1,2\n1," + b"x" * 10_000_000 + b"\n2,3\n"
BROKEN = [
    ("t.csv", b"", "is empty"),
    ("t.csv", b"\n\n", "no table"),
    ("t.csv", b"a,b\n1,2\n3\n", "Expected 2 columns, got 1"),
    ("t.csv", b'a,b\n1,"x\n3,4\n5,6\n', "a quote is opened and not closed"),
    ("t.csv", b"a,b\n1,2\n3,caf\xe9\n", r"not UTF-8: line 3, byte 14 of the file is 0xe9.*iconv"),
    ("t.csv", b"a,b\xe9\n1,2\n", "not UTF-8: line 1, byte 4"),
    ("t.csv", "a,b\n1,2\n".encode("utf-16"), "not UTF-8: line 1, byte 1 .*0xff"),
    ("t.csv", LONG, "a row of more than 4 MB"),
    ("t.csv", b"a,a\n1,2\n", "more than one column named 'a'"),
    ("t.csv.gz", b"a,b\n1,2\n", "cannot be read"),
    ("t.csv.gz", gzip.compress(b"a,b\n1,2\n" * 999)[:-12], "cannot be read"),
    ("t.csv.xz", b"a,b\n1,2\n", "cannot be read"),
    ("t.csv.zst", b"a,b\n1,2\n", "cannot be read"),
    ("t.jsonl", b"\n\n", "no JSON object"),
    ("t.jsonl", b'{"a": 1}\n{"a": \n', "is not JSON lines"),
    ("t.jsonl", b"[1, 2]\n", "is not JSON lines"),
    ("t.jsonl", b'{"a": 1}\n{"a": "x"}\n', "changed from number to string"),
    ("t.jsonl", b'{"a": "\xe9"}\n', "not UTF-8: line 1, byte 8"),
    ("t.jsonl", b'{"a": "' + b"x" * 10_000_000 + b'"}\n', "a row of more than 4 MB"),
    ("t.parquet", b"a,b\n1,2\n", "is not a Parquet file, or is damaged"),
    ("t.arrow", b"a,b\n1,2\n", "is not an Arrow file, or is damaged"),
    ("t.xlsx", b"PK", "does not say what kind of table"),
    ("t.parquet.gz", b"PK", "compressed within"),
    ("table", b"a,b\n", "does not say what kind of table"),
]


# Named by their place: contents would be long names, and a time is in those of gzip.
@pytest.mark.parametrize(
    ("name", "contents", "message"), BROKEN, ids=[f"{i}-{line[0]}" for i, line in enumerate(BROKEN)]
)
def test_broken_files(tmp_path, name, contents, message):
    path = tmp_path / name
    path.write_bytes(contents)
    with pytest.raises(PUInputError, match=message):
        read_table(path)
    with pytest.raises(PUInputError, match=message):
        list(table_batches(path))


def test_no_file(tmp_path):
    with pytest.raises(PUInputError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(PUInputError, match="does not exist"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(PUInputError, match="not a folder to write to"):
        TableWriter(tmp_path / "none" / "table.csv")


def test_a_bad_byte_between_two_reads(tmp_path):
    path = tmp_path / "t.csv"
    row = b"1,2\n"
    path.write_bytes(b"a,b\n" + row * ((4 << 20) // 4 - 2) + b"1,\xc3\n" + row)
    with pytest.raises(PUInputError, match=f"line {(4 << 20) // 4}, byte {(4 << 20) - 1} "):
        read_table(path)
