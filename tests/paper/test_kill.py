"""A run that is killed again and again ends with the files of one that never was."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pytest

from varpu.paper import Cell, Store

PLUGIN = Path(__file__).with_name("plugin.py")
CELLS = [Cell(f"small_{i}", "logistic") for i in (1, 2, 3)]
SEEDS = 6
KILLS = 10

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")


def start(folder, **variables):
    command = [sys.executable, "-m", "varpu", "paper", "--plugin", str(PLUGIN), "run", "small"]
    return subprocess.Popen(
        [*command, "--seeds", str(SEEDS), "--device", "cpu"],
        cwd=folder,
        env={**os.environ, "VARPU_TEST_LOG": str(folder / "log"), **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def finished(process):
    """Whether it comes to its end."""
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said.decode()
    return True


def begun(folder):
    """The lines of the log that say that a seed was begun."""
    log = folder / "log"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [tuple(line.split()[1:]) for line in lines if line.startswith("begin")]


def kept(folder):
    """The seeds in the store; reading it also shows that no file is damaged."""
    store = Store(folder / "results" / "paper")
    return {(cell.task, str(run.seed)) for cell in CELLS for run in store.read(cell)}


def contents(folder):
    """Every file of the results, without the seconds."""
    found = {}
    for path in sorted((folder / "results").rglob("*")):
        if path.is_file():
            content = json.loads(path.read_text(encoding="utf-8"))
            for run in content["runs"]:
                assert run.pop("seconds") > 0
            found[path.relative_to(folder).as_posix()] = content
    return found


def test_killed_ten_times_and_then_to_the_end(tmp_path):
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    undisturbed.mkdir()
    killed.mkdir()
    assert finished(start(undisturbed))
    # A moment somewhere in the first seed, in the writing after it, or a little later.
    seed_takes = median(
        run.seconds for run in Store(undisturbed / "results" / "paper").read(CELLS[0])
    )

    everything = len(CELLS) * SEEDS
    moments = random.Random(0)
    for _ in range(KILLS):
        before, at_start = len(begun(killed)), kept(killed)
        assert len(at_start) < everything, "it came to its end before it was killed ten times"
        process = start(killed)
        while len(begun(killed)) == before and process.poll() is None:
            time.sleep(0.002)
        until = time.monotonic() + moments.uniform(0, 1.5 * seed_takes)
        # Seeds that go faster than the one that was timed must not all be done by then.
        while time.monotonic() < until and len(begun(killed)) < before + 2:
            time.sleep(0.002)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        # What was kept when this process began was not begun again by it.
        assert not at_start & set(begun(killed)[before:])
    assert len(kept(killed)) < everything
    assert finished(start(killed))
    assert contents(killed) == contents(undisturbed)
    assert len(contents(killed)) == 3
    assert len(begun(undisturbed)) == everything
    done = [line for line in (killed / "log").read_text("utf-8").splitlines() if "kept" in line]
    assert len(done) == len(set(done))


def test_ctrl_c_leaves_a_clean_state(tmp_path):
    process = start(tmp_path, VARPU_TEST_STEPS=str(10**12))  # it never ends by itself
    while not begun(tmp_path) and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"the same command goes on from there" in said
    assert b"Traceback" not in said
    assert all(path.suffix == ".json" for path in tmp_path.rglob("results/*/*/*"))
