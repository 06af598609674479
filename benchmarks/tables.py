"""The development sets: classifiers that need no prior on tables of scikit-learn's, or of KEEL's.

    python benchmarks/tables.py [--set made|keel] [--tasks 48] [--first 0] [--models A B]
        [--jobs 2] [--out FILE]

Defaults are chosen here and not on the paper's tasks (``uci.py``). ``tables_tasks.py`` makes tasks
from what scikit-learn ships and generates, ``tables_keel.py`` from real tables, which have to be
installed. Beside our classifiers stand those of ``others.py``; what is of another package has to be
installed and asked for by ``--models``. Not every one gives a prior.

``--jobs N`` runs N tasks side by side, each on one thread; seconds of runs with different N do not
compare. The image patches need Pillow.
"""

import argparse
import importlib
import shlex
import time
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from others import OTHERS, PACKAGES, Found, Model
from report import write
from split import Split

import varpu
from varpu.versions import cpu_name


def ours(name: str) -> Model:
    """A classifier of varpu by its name, which is looked up when it is first fitted."""

    def fit(split: Split, seed: int) -> Found:
        model = getattr(varpu, name)(random_state=seed).fit(split.X, split.labelled)
        return model.predict_proba(split.X_test)[:, 1], model.prior_

    return fit


MODELS: dict[str, Model] = {
    "PUClassifier": ours("PUClassifier"),
    "VPUBoostingClassifier": ours("VPUBoostingClassifier"),
    "VPUClassifier": ours("VPUClassifier"),
    **OTHERS,
    **PACKAGES,
}
SETS = {"made": "tables_tasks", "keel": "tables_keel"}  # the modules that make their tasks


def measure(kind: str, i: int, models: list[str], seed: int) -> dict[str, Any]:
    """Task ``i`` of a set in figures, and how each model does on it."""
    tasks = importlib.import_module(SETS[kind])
    split = tasks.load(i)
    found: dict[str, dict[str, float | None]] = {}
    for name in models:
        start = time.perf_counter()
        proba, prior = MODELS[name](split, seed)
        seconds = time.perf_counter() - start
        found[name] = {
            "accuracy": 100 * float(((proba > 0.5) == split.y_test).mean()),
            "prior": prior,
            "seconds": seconds,
        }
    n, columns = split.X.shape
    return {
        "task": tasks.task_name(i),
        "n": n,
        "columns": columns,
        "labelled": int(split.labelled.sum()),
        "true_prior": float(split.truth.mean()),
        "models": found,
    }


def measure_on_one_thread(kind: str, i: int, models: list[str], seed: int) -> dict[str, Any]:
    with parallel_config("sequential"):
        return measure(kind, i, models, seed)


def measure_all(
    kind: str, tasks: range, models: list[str], seed: int, jobs: int
) -> Iterator[dict[str, Any]]:
    """Task after task, each as soon as it and those before it are done."""
    if jobs == 1:
        return (measure(kind, i, models, seed) for i in tasks)
    with parallel_config("loky", inner_max_num_threads=1):
        return Parallel(jobs, return_as="generator")(
            delayed(measure_on_one_thread)(kind, i, models, seed) for i in tasks
        )


def mean_of(name: str, runs: list[dict[str, Any]]) -> dict[str, float | None]:
    """Mean accuracy, distance of the prior from the true one, and seconds of a model."""
    found = [run["models"][name] for run in runs]
    errors = [
        abs(model["prior"] - run["true_prior"])
        for model, run in zip(found, runs, strict=True)
        if model["prior"] is not None
    ]
    return {
        "accuracy": float(np.mean([model["accuracy"] for model in found])),
        "prior_error": float(np.mean(errors)) if errors else None,
        "seconds": float(np.mean([model["seconds"] for model in found])),
    }


def line(*cells: object) -> None:
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def cell(accuracy: float, prior: float | None, seconds: float) -> str:
    return f"{accuracy:.1f}, {'–' if prior is None else f'{prior:.2f}'}, {seconds:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--set", choices=list(SETS), default="made", help="of tasks")
    parser.add_argument("--tasks", type=int, default=48, metavar="N", help="how many")
    parser.add_argument("--first", type=int, default=0, metavar="I", help="number of the first")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), metavar="NAME")
    parser.add_argument("--seed", type=int, default=0, help="of the models")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="tasks side by side")
    parser.add_argument("--out", help="write the numbers here too, as JSON")
    options = parser.parse_args()
    tasks = range(options.first, options.first + options.tasks)
    name = importlib.import_module(SETS[options.set]).task_name
    if not find_spec("PIL") and any("image" in name(i) for i in tasks):
        raise SystemExit("image patches are among these tasks; they need: pip install pillow")

    models = options.models or [name for name in MODELS if name not in PACKAGES]
    print("Accuracy in %, prior (in the last line: its mean error) and seconds of a fit.\n")
    line("task", "n", "columns", "labelled", "prior", *models)
    line(*["---"] * (5 + len(models)))
    runs = []
    for run in measure_all(options.set, tasks, models, options.seed, options.jobs):
        runs.append(run)
        line(
            *(run[key] for key in ("task", "n", "columns", "labelled")),
            f"{run['true_prior']:.2f}",
            *(cell(**run["models"][name]) for name in models),
        )
    means = {name: mean_of(name, runs) for name in models}
    line("mean", "", "", "", "", *(cell(*mean.values()) for mean in means.values()))
    command = (
        f"python benchmarks/tables.py --set {options.set} --tasks {options.tasks}"
        f" --first {options.first}"
        f" --seed {options.seed} --jobs {options.jobs} --models {shlex.join(models)}"
    )
    used = {name.split()[0] for name in models if name in PACKAGES}  # "pulearn bagging": pulearn
    versions = {
        name: version(name)
        for name in ("varpu", "scikit-learn", "lightgbm", "torch", "numpy", *sorted(used))
    }
    results = {"command": command, "hardware": cpu_name(), "versions": versions}
    write(options.out, {**results, "means": means, "tasks": runs})


if __name__ == "__main__":
    main()
