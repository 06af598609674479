"""Time and memory of streamed fits against the number of rows, and what that means for 10^9.

    python benchmarks/scale.py [--rows 100000 1000000 ...] [--kinds network trees] [--folder FOLDER]
                               [--out results/scale.json]

Each fit is a process of its own (scale_fit.py) on a table that is made for it (scale_table.py) and
removed after. Ratios are those of one run on one machine: compare no seconds across machines.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import scale_table
from report import write

from varpu import __version__
from varpu.versions import cpu_name

ROWS = (100_000, 1_000_000, 2_000_000, 10_000_000, 20_000_000)
BARS = {
    "network GiB": 1.5,
    "trees GiB": 3.0,
    "time of a row at 20 million, by that at 2 million": 1.3,
}
# Of the line "seconds = start + rows * each", which is only one from about here on.
_FIRST_OF_THE_LINE = 1_000_000


def measure(kind: str, file: Path) -> dict[str, Any]:
    script = Path(__file__).with_name("scale_fit.py")
    done = subprocess.run(
        [sys.executable, str(script), kind, str(file)], capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{kind} on {file.name} failed:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(json.dumps(found), file=sys.stderr, flush=True)
    return found


def line(runs: list[dict[str, Any]]) -> tuple[float, float]:
    """Seconds at no rows, and seconds a row: the line through the smallest and the largest run."""
    runs = [run for run in runs if run["rows"] >= _FIRST_OF_THE_LINE] or runs
    first, last = runs[0], runs[-1]
    if first is last:
        return 0.0, first["seconds"] / first["rows"]
    each = (last["seconds"] - first["seconds"]) / (last["rows"] - first["rows"])
    return first["seconds"] - each * first["rows"], each


def show(found: dict[str, list[dict[str, Any]]]) -> None:
    print(f"{'':10s} {'rows':>12s} {'seconds':>8s} {'us/row':>7s} {'GiB':>6s} {'L_var':>7s}")
    for kind, runs in found.items():
        for run in runs:
            each, gib = 1e6 * run["seconds"] / run["rows"], run["peak_mib"] / 1024
            print(
                f"{kind:10s} {run['rows']:12,d} {run['seconds']:8.1f} {each:7.2f} {gib:6.2f}"
                f" {run['held_out_loss']:7.3f}"
            )


def ratio(runs: list[dict[str, Any]]) -> float | None:
    by_rows = {run["rows"]: run["seconds"] / run["rows"] for run in runs}
    if not {2_000_000, 20_000_000} <= by_rows.keys():
        return None
    return by_rows[20_000_000] / by_rows[2_000_000]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--kinds", nargs="+", default=["network", "trees"])
    parser.add_argument("--folder", type=Path, help="where to make the tables; they are large")
    parser.add_argument("--out", help="a JSON file to write")
    args = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in args.kinds}
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for rows in args.rows:
            file = Path(folder) / f"{rows}.parquet"
            scale_table.write(file, rows)
            for kind in args.kinds:
                found[kind].append({**measure(kind, file), "table_mib": file.stat().st_size >> 20})
            file.unlink()
    ratios = {kind: ratio(runs) for kind, runs in found.items()}
    show(found)
    print(f"time of a row at 20 million, by that at 2 million: {ratios}; bars: {json.dumps(BARS)}")
    about: dict[str, object] = {
        "command": "python benchmarks/scale.py",
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "versions": {
            "varpu": __version__,
            "torch": version("torch"),
            "xgboost": version("xgboost"),
        },
    }
    projected = {
        kind: {"start_s": line(runs)[0], "a_row_us": 1e6 * line(runs)[1]}
        for kind, runs in found.items()
    }
    write(args.out, {**about, "ratio_20m_2m": ratios, "line": projected, "runs": found})


if __name__ == "__main__":
    main()
