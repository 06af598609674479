"""``varpu fit`` and ``varpu predict`` on large tables: time, rows a second and peak memory.

    python benchmarks/cli.py [--rows 1000000] [--factor 10] [--folder FOLDER] [--out FILE]

Makes a CSV file of 20 columns (numbers with gaps, categories, truth values, a date), fits it, and
scores a Parquet file of as many rows and one of ten times as many. Wall time, time of
all cores and peak memory are those of each command as a process of its own, so they include its
start; a machine that does other work besides shows in the first.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from report import write

from varpu import __version__
from varpu.tabular import TableWriter
from varpu.versions import cpu_name

_BATCH = 100_000
_LEVELS = {"city": 40, "shop": 12, "plan": 4, "browser": 8}
BARS = {"fit seconds": 300, "fit GiB": 4, "predict rows/s": 200_000}


def rows_of(number: int, size: int) -> pd.DataFrame:
    """One batch: the label depends on numbers, a product of two, a category and gaps."""
    random = np.random.default_rng(number)
    frame = pd.DataFrame({f"x{i}": random.normal(size=size) for i in range(11)})
    frame["visits"] = random.poisson(3, size)
    frame["member"] = random.random(size) < 0.3
    day = random.integers(0, 1000, size)
    frame["since"] = np.datetime64("2020-01-01", "s") + day.astype("timedelta64[D]")
    for name, levels in _LEVELS.items():
        names = np.array([f"{name} {i}" for i in range(levels)], dtype=object)
        frame[name] = names[random.integers(0, levels, size)]
    frame["customer"] = [f"c{number * _BATCH + i:09d}" for i in range(size)]
    signal = frame["x0"] + frame["x1"] * frame["x2"] + 0.5 * frame["visits"] - 1.5
    signal += 2.0 * (frame["city"] == "city 3") + 1.0 * frame["member"]
    is_positive = signal + random.logistic(0, 0.5, size) > 1.2
    labelled = is_positive & (random.random(size) < 0.2)
    frame["bought"] = np.where(labelled, "yes", None)
    for name in ("x3", "x4", "plan"):
        frame.loc[random.random(size) < 0.1, name] = None
    return frame


def make(path: Path, n_rows: int) -> None:
    with TableWriter(path) as writer:
        for start in range(0, n_rows, _BATCH):
            writer.write(rows_of(start // _BATCH, min(_BATCH, n_rows - start)))


def run(*args: str) -> dict[str, float]:
    """Run the command; its wall time and its peak memory alone."""
    began = time.perf_counter()
    command = str(Path(sys.executable).with_name("varpu"))
    process = os.spawnv(os.P_NOWAIT, command, [command, *args])
    _, status, usage = os.wait4(process, 0)
    if status:
        raise SystemExit(f"varpu {' '.join(args)} failed: {status}")
    seconds = time.perf_counter() - began
    busy = usage.ru_utime + usage.ru_stime
    return {"seconds": seconds, "CPU seconds": busy, "GiB": usage.ru_maxrss / 2**20}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--factor", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="where to keep the tables; they are large")
    parser.add_argument("--out", help="a JSON file to write")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        found = measure(folder, args.rows, args.factor)
    print(f"{'':30s} {'seconds':>8s} {'CPU':>8s} {'rows/s':>10s} {'GiB':>6s}")
    for name, entry in found.items():
        rate = f"{entry['rows'] / entry['seconds']:,.0f}"
        print(
            f"{name:30s} {entry['seconds']:8.1f} {entry['CPU seconds']:8.1f} {rate:>10s}"
            f" {entry['GiB']:6.2f}"
        )
    small, large = list(found.values())[1:]
    if large["rows"] > small["rows"]:
        more = (large["rows"] - small["rows"]) / (large["seconds"] - small["seconds"])
        print(f"predict without its start: {more:,.0f} rows/s")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"bars: {json.dumps(BARS)}; memory of predict the same for both sizes")
    if args.out:
        about = {"command": "python benchmarks/cli.py", "cpu": cpu_name(), "cores": os.cpu_count()}
        write(args.out, {**about, "varpu": __version__, **found})


def measure(folder: Path, n_rows: int, factor: int) -> dict[str, Any]:
    csv, model = folder / "train.csv", folder / "model"
    if not csv.exists():
        make(csv, n_rows)
    fit = ("fit", str(csv), "--label", "bought", "--id", "customer", "--out", str(model), "--force")
    found: dict[str, Any] = {f"fit {n_rows:,} x 20 CSV": {"rows": n_rows, **run(*fit)}}
    for size in (n_rows, n_rows * factor):
        table, scored = folder / f"new_{size}.parquet", folder / "scored.parquet"
        if not table.exists():
            make(table, size)
        predict = ("predict", str(model), str(table), "--out", str(scored), "--force")
        found[f"predict {size:,} Parquet"] = {"rows": size, **run(*predict)}
    return found


if __name__ == "__main__":
    main()
