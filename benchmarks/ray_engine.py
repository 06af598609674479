"""Ray on one machine: ``varpu predict`` and a sweep of ``varpu paper run``, one worker and two.

    python benchmarks/ray_engine.py [--rows 5000000] [--repeats 3] [--folder FOLDER] [--out FILE]

Each command is a process of its own and is run with one worker and with two in turn. A short run
(few rows, few seeds) beside each long one tells its start apart: what the rest takes is the
difference. Then a worker is killed with SIGKILL halfway through, and the file that comes out is
compared with that of the local engine.
"""

import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from cli import make, rows_of
from report import write

from varpu.tabular import TableModel
from varpu.versions import cpu_name, versions

_TRAIN_ROWS = 250_000  # enough for the model of large tables
_FEW_ROWS = 200_000
_SEEDS, _FEW_SEEDS = 40, 2
BARS = {"predict ratio": 1.6, "sweep ratio": 1.6, "rows lost or doubled by a kill": 0}
# Cells of equal work: trees of one thread, a seed a task.
SWEEP = """
import time
import numpy as np
from varpu import VPUBoostingClassifier
from varpu.paper import register_experiments, register_method, register_task
from varpu.paper.methods.base import SeedResult

class Task:
    name, dataset, title, prior = "made", "made", "Made", None

class Trees:
    name, title, seed_by_seed = "trees", "Trees", True

    def run(self, task, seeds, options):
        for seed in seeds:
            start = time.perf_counter()
            random = np.random.RandomState(seed)
            X = random.normal(size=(20_000, 10))
            labelled = (X[:, 0] + X[:, 1] * X[:, 2] > 0.5) & (random.random_sample(20_000) < 0.3)
            model = VPUBoostingClassifier(
                random_state=seed, n_jobs=1, max_rounds=40, early_stopping_rounds=40
            ).fit(X, labelled)
            yield [SeedResult(seed, {"prior": model.prior_}, {}, time.perf_counter() - start)]

register_task(Task())
register_method(Trees())
register_experiments(FOLDER)
"""
TABLE = """
title = "Sweep"
caption = "Equal cells"
kind = "table"
metric = "prior"
columns = [{ task = "made", label = "made" }]
[[rows]]
method = "trees"
label = "trees"
"""


def started(*args: str | Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "varpu", *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def seconds_of(*args: str | Path) -> float:
    began = time.perf_counter()
    process = started(*args)
    said = process.communicate()[1]
    if process.returncode:
        raise SystemExit(f"varpu {' '.join(map(str, args))} failed: {said.decode()}")
    return time.perf_counter() - began


def side_by_side(long: Any, short: Any, repeats: int, amount: int, few: int) -> dict[str, Any]:
    """Long and short runs with one worker and two, in turn; ratios of the medians."""
    found: dict[str, list[float]] = {}
    for _ in range(repeats):
        for workers in (1, 2):
            for name, run in (("long", long), ("short", short)):
                found.setdefault(f"{name} {workers}", []).append(run(workers))
    took = {name: median(values) for name, values in found.items()}
    rest = {w: took[f"long {w}"] - took[f"short {w}"] for w in (1, 2)}
    return {
        "seconds of each run": {k: [round(v, 2) for v in values] for k, values in found.items()},
        "ratio of the whole command": took["long 1"] / took["long 2"],
        "ratio without its start": rest[1] / rest[2],
        "a second without its start, 1 worker": (amount - few) / rest[1],
        "a second without its start, 2 workers": (amount - few) / rest[2],
    }


def measure_predict(folder: Path, rows: int, repeats: int) -> dict[str, Any]:
    model = folder / "model"
    if not model.exists():
        frame = rows_of(10_000, _TRAIN_ROWS)
        TableModel.fit(frame, label="bought", id="customer").save(model)
    few = min(_FEW_ROWS, rows // 2)
    for size in (rows, few):
        if not (folder / f"new_{size}.parquet").exists():
            make(folder / f"new_{size}.parquet", size)

    def args(size: int, out: str) -> list[str | Path]:
        table = folder / f"new_{size}.parquet"
        return ["predict", model, table, "--out", folder / out, "--force"]

    def on_ray(size: int) -> Any:
        return lambda w: seconds_of(*args(size, "ray.parquet"), "--engine", "ray", "--workers", w)

    found = {"rows": rows, "local seconds": seconds_of(*args(rows, "local.parquet"))}
    found |= side_by_side(_as_text(on_ray(rows)), _as_text(on_ray(few)), repeats, rows, few)
    wanted = _sum(folder / "local.parquet")
    found["same file as the local engine"] = _last_of(on_ray(rows), folder) == wanted
    halfway = median(found["seconds of each run"]["long 2"]) * 0.6
    found["killed"] = _killed([*args(rows, "killed.parquet"), "--engine", "ray"], halfway)
    found["killed"]["same file"] = _sum(folder / "killed.parquet") == wanted
    return found


def _as_text(run: Any) -> Any:
    return lambda workers: run(str(workers))


def _last_of(run: Any, folder: Path) -> str:
    run("2")
    return _sum(folder / "ray.parquet")


def _killed(args: list[str | Path], moment: float) -> dict[str, Any]:
    """Kill a worker in the middle of its work; the command has to end well by itself."""
    began = time.perf_counter()
    process = started(*args, "--workers", "2")
    time.sleep(moment)
    while not (workers := _workers_of(process.pid)):
        time.sleep(0.01)
        if process.poll() is not None:
            raise SystemExit("the command was over before its worker could be killed")
    os.kill(workers[0], signal.SIGKILL)
    said = process.communicate()[1]
    if process.returncode:
        raise SystemExit(f"the command did not survive: {said.decode()}")
    return {"after seconds": moment, "seconds": time.perf_counter() - began}


def _workers_of(command: int) -> list[int]:
    """The workers beneath a command that are at a task: Ray names them by it."""
    parents, busy = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            number = int(folder.name)
            parents[number] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if (
                (folder / "cmdline")
                .read_bytes()
                .startswith((b"ray::MapBatches", b"ray::ReadRange"))
            ):
                busy.append(number)
        except OSError:
            continue
    return [number for number in busy if command in _ancestors(number, parents)]


def _ancestors(number: int, parents: dict[int, int]) -> list[int]:
    found = []
    while (number := parents.get(number, 0)) > 1:
        found.append(number)
    return found


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def measure_sweep(folder: Path, repeats: int) -> dict[str, Any]:
    (folder / "experiments").mkdir(exist_ok=True)
    (folder / "experiments" / "sweep.toml").write_text(TABLE, encoding="utf-8")
    plugin = folder / "sweep_plugin.py"
    code = SWEEP.replace("FOLDER", repr(str((folder / "experiments").resolve())))
    plugin.write_text(code, encoding="utf-8")

    def run(seeds: int) -> Any:
        def with_workers(workers: str) -> float:
            with tempfile.TemporaryDirectory() as results:
                args = ["paper", "--plugin", plugin, "run", "sweep", "--seeds", str(seeds)]
                more = ["--results", results, "--engine", "ray", "--workers", workers]
                return seconds_of(*args, "--device", "cpu", *more)

        return _as_text(with_workers)

    found = side_by_side(run(_SEEDS), run(_FEW_SEEDS), repeats, _SEEDS, _FEW_SEEDS)
    return {"seeds": _SEEDS, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to keep the tables; they are large")
    parser.add_argument("--only", choices=["predict", "sweep"])
    parser.add_argument("--out", help="a JSON file to write")
    args = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if args.only != "sweep":
            found["predict"] = measure_predict(folder, args.rows, args.repeats)
        if args.only != "predict":
            found["sweep"] = measure_sweep(folder, args.repeats)
    print(json.dumps(found, indent=1))
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"bars: {json.dumps(BARS)}")
    about = {
        "command": f"python benchmarks/ray_engine.py --rows {args.rows} --repeats {args.repeats}",
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "versions": versions(),
    }
    write(args.out, {**about, **found})


if __name__ == "__main__":
    main()
