"""``varpu predict --engine ray``: the local engine's file, byte for byte."""

import os
import signal
import sys
import threading
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from varpu import cli
from varpu.exceptions import VarpuError
from varpu.scaleout import ray_predict
from varpu.scaleout.ray_joining import ray_cluster
from varpu.tabular import TableModel, TableWriter, read_table

N = 250_000


@pytest.fixture(scope="module")
def frame():
    random = np.random.RandomState(0)
    frame = pd.DataFrame({"key": [f"{i:06d}" for i in range(N)], "x": random.normal(size=N)})
    frame["colour"] = random.choice(["red", "blue", None], N)
    frame["since"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.randint(0, 900, N), "D")
    frame["bought"] = np.where((frame["x"] > 0.3) & (np.arange(N) % 2 == 0), 1, None)
    return frame


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ray_predict")
    for name, id in (("named", "key"), ("numbered", None), ("row", "row")):
        few = frame[:2000].rename(columns={"key": id} if id else {})
        few = few if id else few.drop(columns="key")
        TableModel.fit(few, label="bought", id=id, time_budget=0.1).save(folder / name)
    return folder


@pytest.fixture(scope="module")
def cluster():
    with ray_cluster(workers=2):
        yield


@pytest.fixture
def varpu(monkeypatch, capfd):
    """Run the command in this process; its exit code, output and errors."""

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["varpu", *map(str, args)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        shown = capfd.readouterr()
        return left.value.code or 0, shown.out, shown.err

    return run


def write(path, frame, rows=100_000):
    with TableWriter(path) as writer:
        for start in range(0, len(frame), rows):
            writer.write(frame[start : start + rows])
    return path


@pytest.mark.parametrize(
    ("model", "source", "target"),
    [
        ("named", "t.parquet", "s.parquet"),
        ("numbered", "t.parquet", "s.csv"),
        ("named", "t.csv.gz", "s.parquet"),
        ("numbered", "t.tsv", "s.jsonl"),
        ("named", "t.arrow", "s.csv.gz"),
    ],
)
def test_the_same_file(cluster, frame, folder, tmp_path, varpu, model, source, target):
    some = frame if source == "t.parquet" else frame[:120_000]
    table = write(tmp_path / source, some.iloc[:, ::-1].assign(more=1), 40_000)
    told = []
    for engine in ("local", "ray"):
        args = [folder / model, table, "--out", tmp_path / f"{engine}_{target}"]
        code, shown, err = varpu("predict", *args, "--engine", engine)
        assert (code, err) == (0, "")
        told.append(shown.split(" in ")[0])
    assert told[0] == told[1]
    assert "'more'" in told[0]
    same = [(tmp_path / f"{engine}_{target}").read_bytes() for engine in ("local", "ray")]
    assert same[0] == same[1]


@pytest.mark.parametrize(("group", "rows"), [(7_000, 30_000), (90_000, 100_000), (N, 50_000)])
def test_row_groups_of_any_size(cluster, frame, folder, tmp_path, group, rows):
    table = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), table, row_group_size=group)
    found = list(ray_predict.scored_batches(folder / "named", table, rows=rows, workers=2))
    assert [len(batch) for batch in found] == [rows] * (N // rows) + [N % rows] * (N % rows > 0)
    scored = pd.concat(found, ignore_index=True)
    assert scored["key"].tolist() == frame["key"].tolist()
    wanted = TableModel.load(folder / "named").predict(frame)["probability"]
    np.testing.assert_array_equal(scored["probability"].to_numpy(float), wanted)


def test_an_id_may_be_named_as_numbers_are(cluster, frame, folder, tmp_path):
    table = write(tmp_path / "t.parquet", frame[5:9].rename(columns={"key": "row"}))
    [found] = ray_predict.scored_batches(folder / "row", table)
    assert found["row"].tolist() == ["000005", "000006", "000007", "000008"]


def workers_at(name):
    import psutil

    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if any(word.startswith(f"ray::{name}") for word in process.cmdline()[:1]):
                found.append(process.pid)
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found


def test_a_killed_worker_loses_no_row_and_doubles_none(cluster, frame, folder, tmp_path):
    table = write(tmp_path / "t.parquet", frame, 5000)
    killed = []

    def kill():
        while not (pids := workers_at("MapBatches")):
            time.sleep(0.005)
        os.kill(pids[0], signal.SIGKILL)
        killed.append(pids[0])

    found = []
    for batch in ray_predict.scored_batches(folder / "named", table, rows=5000, workers=2):
        found.append(batch)
        if len(found) == 5:
            killer = threading.Thread(target=kill, daemon=True)
            killer.start()
    killer.join(10)
    assert len(killed) == 1
    scored = pd.concat(found, ignore_index=True)
    assert scored["key"].tolist() == frame["key"].tolist()
    wanted = TableModel.load(folder / "named").predict(frame)["probability"]
    np.testing.assert_array_equal(scored["probability"].to_numpy(float), wanted)


def test_no_rows_and_bad_rows(cluster, frame, folder, tmp_path, varpu):
    out = tmp_path / "s.csv"
    ray = ("--out", out, "--engine", "ray")
    empty = tmp_path / "empty.csv"
    empty.write_text("key,x,colour,since\n", encoding="utf-8")
    assert varpu("predict", folder / "named", empty, *ray)[0] == 0
    assert list(read_table(out).columns) == ["key", "probability", "label"]
    out.unlink()
    bad = tmp_path / "bad.csv"
    lines = "1,2,red,2024-01-01\n" * 150_000
    bad.write_text(f"key,x,colour,since\n{lines}2,big,red,2024-01-01\n", encoding="utf-8")
    code, shown, err = varpu("predict", folder / "named", bad, *ray)
    assert (code, shown) == (2, "")
    assert "column 'x': wanted numbers" in err
    assert err.count("\n") == 1
    lacks = tmp_path / "lacks.csv"
    lacks.write_text("key,x\n1,2\n", encoding="utf-8")
    assert "lacks columns" in varpu("predict", folder / "named", lacks, *ray)[2]
    assert not out.exists()


@pytest.mark.slow
def test_a_table_that_always_kills_its_worker_comes_to_an_end(
    cluster, frame, folder, tmp_path, monkeypatch
):
    table = write(tmp_path / "t.parquet", frame[:1000])
    monkeypatch.setattr(ray_predict, "_score_range", deadly)
    with pytest.raises(VarpuError, match="a worker died 4 times"):
        list(ray_predict.scored_batches(folder / "named", table))


def deadly(score, edges, rows, ticket):
    os.kill(os.getpid(), signal.SIGKILL)
    yield ticket
