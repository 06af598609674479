"""Prior estimators on mixtures with a known share of positives.

    VARPU_DATA=... python benchmarks/priors.py [--seeds 1] [--mixtures A B] [--methods A B]
        [--parts mixtures fashion labelled speed] [--out results/priors.json]

``mixtures``: the table of estimates (``priors_mixtures.py`` makes them). ``fashion``: KM2 on
FashionMNIST 1,4,7 with 3,000 labelled of the training set, at random and under selection bias
(``n_1`` of class 1, ``n_4 = n_7`` of the others), beside the paper's Table 11.
``labelled``: KM2 on Page Blocks 2 (true prior 0.9) by the number of labelled rows, and on Grid
with ``stab``, columns standardised or not. ``speed``: one default fit of KM2 to 2,000 + 2,000
rows. Parts that are not run stay in the file.
"""

import argparse
import json
import shlex
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
import uci
from priors_mixtures import MIXTURES, fashion_classes, load
from report import write

from varpu.exceptions import ScaleWarning
from varpu.priors import BBE, DEDPUL, KM1, KM2, BasePriorEstimator, ElkanNotoPrior, TIcE
from varpu.versions import cpu_name

METHODS: dict[str, Callable[..., BasePriorEstimator]] = {
    "BBE": BBE,
    "BBE, published": lambda **kw: BBE(lean_on_bound=False, **kw),
    "DEDPUL": DEDPUL,
    "KM2": KM2,
    "KM1": KM1,
    "ElkanNotoPrior": ElkanNotoPrior,
    "TIcE": TIcE,
    "TIcE, quantiles": lambda **kw: TIcE(binning="quantile", **kw),
}
PARTS = ("mixtures", "fashion", "labelled", "speed")
PAPER = {None: 0.267, 1: 0.267, 5: 0.164, 10: 0.144}


def timed(estimator: BasePriorEstimator, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        estimator.fit(X, y)
    return {
        "prior": estimator.prior_,
        "interval": list(estimator.prior_interval_),
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
    }


def mixtures(names: list[str], methods: list[str], seeds: int) -> list[dict[str, Any]]:
    lines = []
    print("| mixture | true |", " | ".join(methods), "|")
    print("| --- | --- |", " --- |" * len(methods), sep="")
    for name in names:
        for seed in range(seeds):
            made = load(name, seed)
            found = {}
            for method in methods:
                estimator = METHODS[method](scenario=made.scenario, random_state=seed)
                found[method] = timed(estimator, made.X, made.labelled)
                found[method]["error"] = abs(found[method]["prior"] - made.prior)
            lines.append(
                {
                    "mixture": name,
                    "seed": seed,
                    "rows": len(made.X),
                    "labelled": int(made.labelled.sum()),
                    "scenario": made.scenario,
                    "true_prior": made.prior,
                    "methods": found,
                }
            )
            priors = " | ".join(f"{found[m]['prior']:.3f}" for m in methods)
            print(f"| {name} | {made.prior:.3f} | {priors} |", flush=True)
    for what in ("error", "seconds", "cpu_seconds"):
        means = {m: np.mean([line["methods"][m][what] for line in lines]) for m in methods}
        print(f"| mean {what} | |", " | ".join(f"{means[m]:.3f}" for m in methods), "|")
    return lines


def fashion(seeds: int) -> list[dict[str, Any]]:
    images, kind = fashion_classes()
    lines = []
    print("\n| n_1/n_4 | paper | KM2, mean | each |\n| --- | --- | --- | --- |")
    for ratio, paper in PAPER.items():
        found = []
        for seed in range(seeds):
            y = np.zeros(len(kind), dtype=int)
            y[_labelled(kind, ratio, np.random.default_rng(seed))] = 1
            found.append(timed(KM2(random_state=seed), images, y))
        priors = [one["prior"] for one in found]
        lines.append({"n_1/n_4": ratio, "paper": paper, "KM2": found})
        each = " ".join(f"{p:.3f}" for p in priors)
        print(f"| {ratio or 'at random'} | {paper} | {np.mean(priors):.3f} | {each} |", flush=True)
    return lines


def _labelled(kind: np.ndarray, ratio: int | None, random: np.random.Generator) -> np.ndarray:
    if ratio is None:
        return random.choice(np.flatnonzero(np.isin(kind, [1, 4, 7])), 3000, replace=False)
    n_4 = round(3000 / (2 + ratio))
    counts = {1: 3000 - 2 * n_4, 4: n_4, 7: n_4}
    return np.concatenate(
        [random.choice(np.flatnonzero(kind == k), n, replace=False) for k, n in counts.items()]
    )


def labelled(seeds: int) -> list[dict[str, Any]]:
    """KM2 by the number of labelled rows, with the columns' units and without."""
    wanted = [("Page Blocks 2", n) for n in (100, 300, 1000, 2500)] + [("Grid 1, stab", 1000)]
    lines = []
    print("\n| task | labelled | true | standardised | raw |\n| --- | --- | --- | --- | --- |")
    for task, n in wanted:
        found: dict[str, list[float]] = {"standardised": [], "raw": []}
        for seed in range(seeds):
            split = uci.load(task, seed)
            y = np.zeros(len(split.X), dtype=int)
            rows = np.random.default_rng(seed).permutation(np.flatnonzero(split.truth))[:n]
            y[rows] = 1
            for name, priors in found.items():
                model = KM2(standardize=name == "standardised", n_bootstrap=2, random_state=seed)
                priors.append(timed(model, split.X, y)["prior"])
        true = float(split.truth.mean())
        lines.append({"task": task, "labelled": n, "true_prior": true, **found})
        cells = " | ".join(" ".join(f"{p:.2f}" for p in priors) for priors in found.values())
        print(f"| {task} | {n} | {true:.2f} | {cells} |", flush=True)
    return lines


def speed() -> list[dict[str, Any]]:
    """The default fit, bootstrap included, on a smooth problem and on a rough one."""
    random = np.random.default_rng(0)
    lines = []
    for n_columns in (2, 10, 50):
        truth = random.random(2000) < 0.4
        U, P = random.normal(size=(2, 2000, n_columns))
        U[truth, 0] += 3
        P[:, 0] += 3
        X, y = np.vstack([U, P]), np.repeat([0, 1], 2000)
        found = timed(KM2(scenario="case-control", random_state=0), X, y)
        lines.append({"columns": n_columns, **found})
        print(f"\nKM2, 2,000 + 2,000 rows, {n_columns} columns: {found['seconds']:.1f} s", end="")
        print(f" ({found['cpu_seconds']:.1f} s of the processor), prior {found['prior']:.3f}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--mixtures", nargs="+", default=list(MIXTURES), choices=list(MIXTURES))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--out")
    chosen = parser.parse_args()
    command = shlex.join(["python", "benchmarks/priors.py", *_given(chosen)])
    made_with = {
        "command": command,
        "cpu": cpu_name(),
        "versions": {name: version(name) for name in ("varpu", "numpy", "scipy", "lightgbm")}
        | {"scikit-learn": sklearn.__version__},
    }
    results = _earlier(chosen.out)
    for part in chosen.parts:
        seeds = {"mixtures": chosen.seeds, "speed": 1}.get(part, 3)
        if part == "mixtures":
            lines = mixtures(chosen.mixtures, chosen.methods, seeds)
        elif part == "speed":
            lines = speed()
        else:
            lines = fashion(seeds) if part == "fashion" else labelled(seeds)
        results[part] = {**made_with, "seeds": list(range(seeds)), "lines": lines}
    write(chosen.out, results)


def _earlier(path: str | None) -> dict[str, Any]:
    """What the file holds already: parts that are not run again are kept."""
    if path is None or not Path(path).exists():
        return {}
    return json.loads(Path(path).read_text(encoding="utf-8"))


def _given(chosen: argparse.Namespace) -> list[str]:
    """The arguments that are not the defaults."""
    given = [] if chosen.seeds == 1 else ["--seeds", str(chosen.seeds)]
    for name, full in (("mixtures", list(MIXTURES)), ("methods", list(METHODS))):
        value = getattr(chosen, name)
        given += [] if value == full else [f"--{name}", *value]
    if chosen.parts != list(PARTS):
        given += ["--parts", *chosen.parts]
    return given + (["--out", chosen.out] if chosen.out else [])


if __name__ == "__main__":
    main()
