"""The paper's cells on Ray: the local engine's numbers, each once, whoever dies on the way."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from varpu.paper import Cell, Run, Store, load_plugin, loading, registry, run
from varpu.scaleout.ray_joining import ray_cluster

PLUGIN = Path(__file__).parents[1] / "paper" / "plugin.py"
# The small experiment, but a seed takes long enough to be killed in its middle; and methods whose
# results are told to others.
MORE = f"""
import sys
from varpu.paper import load_plugin, register_method
load_plugin({str(PLUGIN)!r})
small = sys.modules["varpu_plugin_plugin"]
small.STEPS = 12_000

class Apart(small.Logistic):
    name, seed_by_seed = "apart", True

class Prior(small.Logistic):
    name = "km2"

class Needs(small.Logistic):
    name = "needs"

    def train(self, task, seed, options):
        found = super().train(task, seed, options)
        found.metrics["looked_up"] = options.look_up(task.name, "km2", seed)["prior"]
        return found

class Fatal(small.Logistic):
    name = "fatal"

    def train(self, task, seed, options):
        import os
        os.kill(os.getpid(), 9) if seed == 1 else None
        return super().train(task, seed, options)

for method in (Apart(), Prior(), Needs(), Fatal()):
    register_method(method)
small.register_experiments({{folder!r}})
"""
TABLE = """
title = "{name}"
caption = "{name}"
kind = "table"
columns = [{{ task = "small_1", label = "1" }}, {{ task = "small_2", label = "2" }}]
"""
ROWS = {"apart": ["apart"], "looked_up": ["km2", "needs"], "deadly": ["fatal", "logistic"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Experiments of our own and the plugin that knows them."""
    folder = tmp_path_factory.mktemp("ray_paper")
    for name, methods in ROWS.items():
        rows = "".join(f'[[rows]]\nmethod = "{one}"\nlabel = "{one}"\n' for one in methods)
        (folder / f"{name}.toml").write_text(TABLE.format(name=name) + rows, encoding="utf-8")
    (folder / "more.py").write_text(MORE.format(folder=str(folder)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def cluster(folder):
    """One for the tests of this file; its workers note what they begin."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VARPU_TEST_LOG", str(folder / "log"))
        with ray_cluster(workers=2):
            yield


@pytest.fixture
def plugin(monkeypatch, tmp_path, folder):
    monkeypatch.setattr(loading, "_folders", [])
    for name, empty in (("_methods", {}), ("_tasks", {}), ("_plugins", [])):
        monkeypatch.setattr(registry, name, empty)
    monkeypatch.setenv("VARPU_TEST_LOG", str(folder / "log"))
    monkeypatch.chdir(tmp_path)
    (folder / "log").unlink(missing_ok=True)
    load_plugin(folder / "more.py")


def begun(folder):
    log = folder / "log"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [line for line in lines if line.startswith("begin")]


def contents(results):
    """Every file of the results, without the seconds and the command."""
    found = {}
    for path in sorted(Path(results).rglob("*")):
        if path.is_file():
            content = json.loads(path.read_text(encoding="utf-8"))
            for one in content["runs"]:
                assert one.pop("seconds") >= 0
                assert ("--engine ray" in one.pop("command")) == ("ray" in str(results))
            found[path.relative_to(results).as_posix()] = content
    return found


def workers_at(name):
    """The processes of the cluster that are at such a task; Ray gives them its name."""
    import psutil

    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.cmdline()[:1] == [f"ray::{name}"]:
                found.append(process.pid)
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
    return found


def killing(after, folder, killed):
    """Kill a worker that is in the middle of a seed, once so many were begun."""
    while len(begun(folder)) < after or not (pids := workers_at("_compute")):
        time.sleep(0.01)
    os.kill(pids[0], signal.SIGKILL)
    killed.append(pids[0])


def test_a_killed_worker_costs_its_seed_and_nothing_else(cluster, plugin, folder):
    assert run("small", seeds=3, device="cpu", results="local").done == 9
    (folder / "log").unlink()
    assert run("small", seeds=3, device="cpu", results="ray", engine="ray").done == 9
    assert len(begun(folder)) == 9
    (folder / "log").unlink()
    killed = []
    killer = threading.Thread(target=killing, args=(3, folder, killed), daemon=True)
    killer.start()
    outcome = run("small", seeds=3, device="cpu", results="ray_killed", engine="ray")
    killer.join(30)
    assert len(killed) == 1
    assert (outcome.done, outcome.failed, outcome.skipped) == (9, {}, {})
    assert 9 <= len(begun(folder)) <= 10
    assert contents("local") == contents("ray") == contents("ray_killed")
    assert len(contents("ray_killed")) == 3
    assert run("small", seeds=3, device="cpu", results="ray_killed", engine="ray").done == 0


def test_trouble_in_a_cell_is_its_own(cluster, plugin, capsys):
    outcome = run("mixed", seeds=2, device="cpu", engine="ray", quick=True)
    assert set(outcome.failed) == {Cell("absent_1", "broken"), Cell("small_1", "broken")}
    assert all("the network caught fire" in why for why in outcome.failed.values())
    assert list(outcome.skipped) == ["absent_1"]
    assert outcome.done == 6
    said = capsys.readouterr().err
    assert said.count("absent is not there; put it into a folder") == 1
    assert "logistic on small_1, seed 1: accuracy" in said


def test_seeds_are_tasks_of_their_own_where_a_method_takes_them_singly(cluster, plugin):
    assert run("apart", seeds=2, device="cpu", quick=True, results="local").done == 4
    done = run("apart", seeds=2, device="cpu", quick=True, results="ray", engine="ray").done
    assert done == 4
    assert contents("local") == contents("ray")


def test_what_is_looked_up_is_there_before(cluster, plugin):
    outcome = run("looked_up", seeds=2, device="cpu", quick=True, engine="ray")
    assert (outcome.done, outcome.failed) == (8, {})
    store = Store("results/paper/quick")
    priors = {one.seed: one.metrics["prior"] for one in store.read(Cell("small_2", "km2"))}
    found = {one.seed: one.metrics for one in store.read(Cell("small_2", "needs"))}
    assert {seed: one["looked_up"] for seed, one in found.items()} == priors


def test_a_cell_that_always_kills_its_worker_fails_alone(cluster, plugin, capfd):
    outcome = run("deadly", None, ["small_1"], 2, device="cpu", quick=True, engine="ray")
    assert set(outcome.failed) == {Cell("small_1", "fatal")}
    assert "its worker died 4 times" in outcome.failed[Cell("small_1", "fatal")]
    assert outcome.done == 1 + 2  # its first seed, and two of the other
    assert capfd.readouterr().out == ""


def test_what_is_there_is_not_run_again(cluster, plugin, folder):
    Store("results/paper/quick").add(Cell("small_2", "logistic"), [Run(0, {}), Run(1, {})])
    assert run("small", seeds=2, device="cpu", quick=True, engine="ray").done == 4
    assert "begin small_2 0" not in begun(folder)


@pytest.mark.slow
def test_ctrl_c_leaves_a_clean_state(cluster, folder, tmp_path):
    import ray

    command = [sys.executable, "-m", "varpu", "paper", "--plugin", str(folder / "more.py")]
    address = ray.get_runtime_context().gcs_address
    (folder / "log").unlink(missing_ok=True)
    process = subprocess.Popen(
        [*command, "run", "small", "--seeds", "9", "--engine", "ray", "--address", address],
        cwd=tmp_path,
        env={**os.environ, "VARPU_TEST_LOG": str(folder / "log")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    while len(begun(folder)) < 5 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said.decode()
    assert b"the same command goes on from there" in said
    assert b"Traceback" not in said
    files = list(tmp_path.rglob("results/*/*/*"))
    assert files
    assert all(path.suffix == ".json" for path in files)
