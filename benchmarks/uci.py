"""The paper's six UCI tasks: accuracy, AUC, prior and seconds of classifiers that need no prior.

    VARPU_DATA=... python benchmarks/uci.py [--seeds 5] [--jobs 1] [--out results/uci.json]

UCI's own Page Blocks file and Grid *without* ``stab``, whose sign is the label. As many positives
are labelled as the paper trains on and holds out together; all training rows are the marginal
sample. A seed decides the labelled rows, the test rows where a set has none of its own, and the
fit.
"""

import argparse
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
import pandas as pd
import sklearn
from report import write
from sklearn.metrics import roc_auc_score
from split import Split
from tasks import data_dir

import varpu
from varpu.base import BasePUClassifier
from varpu.exceptions import ScaleWarning
from varpu.versions import cpu_name

MODELS: dict[str, Callable[[int], BasePUClassifier]] = {
    "PUClassifier": lambda seed: varpu.PUClassifier(random_state=seed),
    "VPUBoostingClassifier": lambda seed: varpu.VPUBoostingClassifier(random_state=seed),
}
# What the paper's VPU reaches (its Table 2); its Grid file holds the label.
PAPER = {
    "Page Blocks 1": 93.6,
    "Page Blocks 2": 93.5,
    "Grid 1": 92.6,
    "Grid 2": 89.5,
    "Avila 1": 82.0,
    "Avila 2": 87.2,
}

# Side by side, the long ones first.
SLOWEST = ("Grid 1", "Grid 2", "Avila 2", "Avila 1", "Page Blocks 1", "Page Blocks 2")


def load(name: str, seed: int) -> Split:
    """A task by its name in the paper; in "Grid 1, stab" a column holds the label, as there."""
    random = np.random.default_rng([seed, 7])
    kind, number = name.removesuffix(", stab").rsplit(" ", 1)
    if kind == "Avila":
        letters = ["A"] if number == "1" else ["A", "F"]
        parts = [
            pd.read_csv(data_dir() / "avila" / f"avila-{part}.txt", header=None)
            for part in ("tr", "ts")
        ]
        X, X_test = (part.iloc[:, :10].to_numpy(float) for part in parts)
        y, y_test = (part[10].isin(letters).to_numpy() for part in parts)
        n_labelled = 2192
    else:
        if kind == "Grid":
            X, y, n_labelled, n_test = _grid(number, with_stab=name.endswith(", stab"))
        else:
            X, y, n_labelled, n_test = _page_blocks(number)
        order = random.permutation(len(y))
        test, train = order[:n_test], order[n_test:]
        X, X_test, y, y_test = X[train], X[test], y[train], y[test]
    labelled = np.zeros(len(y), dtype=bool)
    labelled[random.choice(np.flatnonzero(y), n_labelled, replace=False)] = True
    return Split(X, labelled, y, X_test, y_test)


def _grid(number: str, with_stab: bool) -> tuple[np.ndarray, np.ndarray, int, int]:
    frame = pd.read_csv(data_dir() / "grid-stability" / "Data_for_UCI_named.csv")
    positive = frame["stabf"] == ("stable" if number == "1" else "unstable")
    dropped = ["stabf"] if with_stab else ["stab", "stabf"]
    return frame.drop(columns=dropped).to_numpy(float), positive.to_numpy(), 1167, 4000


def _page_blocks(number: str) -> tuple[np.ndarray, np.ndarray, int, int]:
    file = data_dir() / "page-blocks" / "page-blocks.data"
    frame = pd.read_csv(file, sep=r"\s+", header=None)
    is_text = (frame[10] == 1).to_numpy()
    return frame.iloc[:, :10].to_numpy(float), is_text if number == "2" else ~is_text, 116, 2189


def measure(model: BasePUClassifier, split: Split) -> dict[str, float]:
    start = time.perf_counter()
    model.fit(split.X, split.labelled)
    seconds = time.perf_counter() - start
    proba = model.predict_proba(split.X_test)[:, 1]
    return {
        "accuracy": 100 * float(((proba > 0.5) == split.y_test).mean()),
        "auc": float(roc_auc_score(split.y_test, model.decision_function(split.X_test))),
        "prior": model.prior_,
        "true_prior": float(split.truth.mean()),
        "seconds": seconds,
    }


def one(job: tuple[str, str, int]) -> tuple[tuple[str, str, int], dict[str, float]]:
    task, name, seed = job
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # the prior is shown beside the true one
        found = measure(MODELS[name](seed), load(task, seed))
    print(f"{task}, {name}, seed {seed}: {found}", file=sys.stderr, flush=True)
    return job, found


def pin(cores: "multiprocessing.Queue[set[int]]") -> None:
    os.sched_setaffinity(0, cores.get())


def run(jobs: list[tuple[str, str, int]], side_by_side: int) -> pd.DataFrame:
    """One line a fit; several side by side have two cores each."""
    if side_by_side == 1:
        found = [one(job) for job in jobs]
    else:
        context = multiprocessing.get_context("spawn")
        cores = context.Queue()
        for i in range(side_by_side):
            cores.put({2 * i, 2 * i + 1})
        with context.Pool(side_by_side, pin, (cores,)) as pool:
            found = list(pool.imap_unordered(one, jobs, chunksize=1))
    lines = [dict(zip(("task", "model", "seed"), job, strict=True)) | line for job, line in found]
    return pd.DataFrame(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="fits side by side, on two cores each")
    parser.add_argument("--out", help="write the numbers here too, as JSON")
    options = parser.parse_args()
    jobs = [(t, name, seed) for seed in range(options.seeds) for t in SLOWEST for name in MODELS]
    runs = run(jobs, options.jobs)
    results: dict[str, object] = {
        "command": f"python benchmarks/uci.py --seeds {options.seeds} --jobs {options.jobs}",
        "hardware": f"{cpu_name()}, two cores a fit",
        "versions": {
            "varpu": varpu.__version__,
            "scikit-learn": sklearn.__version__,
            "lightgbm": version("lightgbm"),
            "torch": version("torch"),
        },
        "seeds": options.seeds,
    }
    print("| task | model | accuracy | paper's VPU | AUC | prior (true) | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for task, paper in PAPER.items():
        for name in MODELS:
            own = runs[(runs["task"] == task) & (runs["model"] == name)].sort_values("seed")
            mean = own.drop(columns=["task", "model", "seed"]).mean()
            std = float(own["accuracy"].std(ddof=0))
            results[f"{task}, {name}"] = {
                **mean.round(4).to_dict(),
                "accuracy_std": round(std, 4),
                "accuracies": own["accuracy"].round(2).tolist(),
                "priors": own["prior"].round(3).tolist(),
            }
            print(
                f"| {task} | {name} | {mean['accuracy']:.1f} ± {std:.1f} | {paper} |"
                f" {mean['auc']:.3f} | {mean['prior']:.2f} ({mean['true_prior']:.2f}) |"
                f" {mean['seconds']:.1f} |"
            )
    write(options.out, results)


if __name__ == "__main__":
    main()
