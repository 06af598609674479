"""The store: whole files, merged by seed, and a damaged one is named."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from varpu.exceptions import PUInputError
from varpu.paper import Cell, ResultFileError, Run, Store, results
from varpu.paper.rounding import plain

CELL = Cell("avila_1", "vpu")


def run_of(seed, **more):
    return Run(seed=seed, metrics={"accuracy": 81.23456789}, settings={"lam": 0.1}, **more)


def files(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_what_is_added_can_be_read(tmp_path):
    store = Store(tmp_path)
    assert store.read(CELL) == []
    run = Run(
        seed=3,
        metrics={"accuracy": np.float32(81.25), "auc": 0.912345678},
        settings={"lam": 0.1, "hidden": (300, 300), "module": np.mean},
        seconds=1.23456,
        extra={"lambdas": [{"lam": 1e-4}], "shares": np.array([1, 2]), "deep": {1: None}},
        versions={"varpu": "0.1.0"},
        hardware="a machine",
        command="varpu paper run table2",
    )
    store.add(CELL, [run])
    [found] = store.read(CELL)
    assert found.metrics == {"accuracy": 81.25, "auc": 0.912346}
    assert found.settings == {"lam": 0.1, "hidden": [300, 300], "module": "mean"}
    assert found.extra == {"lambdas": [{"lam": 1e-4}], "shares": [1, 2], "deep": {"1": None}}
    assert (found.seed, found.seconds, found.hardware) == (3, 1.23, "a machine")
    assert (found.versions, found.command) == ({"varpu": "0.1.0"}, "varpu paper run table2")
    assert files(tmp_path) == ["avila_1/vpu.json"]


def test_runs_are_merged_by_seed_and_the_first_stays(tmp_path):
    store = Store(tmp_path)
    for seed in (4, 1, 3):
        store.add(CELL, [run_of(seed, hardware="first")])
    store.add(CELL, [run_of(1, hardware="second"), run_of(0, hardware="second")])
    found = store.read(CELL)
    assert [run.seed for run in found] == [0, 1, 3, 4]
    assert [run.hardware for run in found] == ["second", "first", "first", "first"]


def test_a_file_has_one_line_a_run_and_shared_settings_once(tmp_path):
    store = Store(tmp_path)
    for seed in range(3):
        store.add(CELL, [Run(seed, {"accuracy": 1.0}, {"lam": seed, "steps": 30})])
    text = store.path(CELL).read_text(encoding="utf-8")
    content = json.loads(text)
    assert content["settings"] == {"steps": 30}
    assert [run["settings"] for run in content["runs"]] == [{"lam": 0}, {"lam": 1}, {"lam": 2}]
    assert sum(line.startswith('{"seed": ') for line in text.splitlines()) == 3
    assert [run.settings["steps"] for run in store.read(CELL)] == [30] * 3


def test_what_is_no_number_is_kept_as_such(tmp_path):
    store = Store(tmp_path)
    store.add(CELL, [Run(0, {"accuracy": float("nan"), "held_out_loss": float("inf")})])
    assert "NaN" not in store.path(CELL).read_text(encoding="utf-8")
    assert all(np.isnan(value) for value in store.read(CELL)[0].metrics.values())


def test_numbers_are_rounded():
    assert plain([93.61234567, 0.0003, 12, True, "x"]) == [93.6123, 0.0003, 12, True, "x"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"format": 1}',
        b'{"format": 2, "task": "avila_1", "method": "vpu", "settings": {}, "runs": []}',
        b'{"format": 1, "task": "avila_2", "method": "vpu", "settings": {}, "runs": []}',
        b'{"format": 1, "task": "avila_1", "method": "vpu", "settings": {}, "runs": [{"seed": 0}]}',
    ],
)
def test_a_damaged_or_foreign_file_is_named_and_left_alone(tmp_path, content):
    store = Store(tmp_path)
    path = store.path(CELL)
    path.parent.mkdir()
    path.write_bytes(content)
    for use in (lambda: store.read(CELL), lambda: store.add(CELL, [run_of(0)])):
        with pytest.raises(ResultFileError, match=r"avila_1.vpu\.json"):
            use()
    assert path.read_bytes() == content
    assert files(tmp_path) == ["avila_1/vpu.json"]


def test_a_file_cut_short_is_found_out(tmp_path):
    store = Store(tmp_path)
    store.add(CELL, [run_of(seed) for seed in range(2)])
    text = store.path(CELL).read_text(encoding="utf-8")
    for length in range(0, len(text) - 2, 7):
        store.path(CELL).write_text(text[:length], encoding="utf-8")
        with pytest.raises(ResultFileError):
            store.read(CELL)


def test_an_interrupted_write_changes_nothing(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.add(CELL, [run_of(0)])
    before = store.path(CELL).read_bytes()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(results.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.add(CELL, [run_of(1)])
    assert store.path(CELL).read_bytes() == before
    assert files(tmp_path) == ["avila_1/vpu.json"]


def test_leftovers_are_removed(tmp_path):
    store = Store(tmp_path)
    store.add(CELL, [run_of(0)])
    left = tmp_path / "avila_1" / ".vpu.123.partial"
    left.write_text("{", encoding="utf-8")
    store.clean()
    assert files(tmp_path) == ["avila_1/vpu.json"]
    left.write_text("{", encoding="utf-8")
    store.add(CELL, [run_of(1)])
    assert files(tmp_path) == ["avila_1/vpu.json"]


def test_names_stay_in_the_folder(tmp_path):
    for cell in (Cell("..", "vpu"), Cell("a/b", "vpu"), Cell("avila_1", "../x"), Cell("", "vpu")):
        with pytest.raises(PUInputError, match="named by letters"):
            Store(tmp_path).path(cell)


def test_two_processes_lose_nothing(tmp_path):
    code = """
import sys
from varpu.paper.results import Run, Store
from varpu.paper.specs import Cell
for seed in range(int(sys.argv[2]), 60, 3):
    Store(sys.argv[1]).add(Cell("avila_1", "vpu"), [Run(seed, {"accuracy": 1.0})])
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    running = [subprocess.Popen([*command, str(i)], env={**os.environ}) for i in range(3)]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    assert [run.seed for run in Store(tmp_path).read(CELL)] == list(range(60))
    assert files(tmp_path) == ["avila_1/vpu.json"]
