"""The paper's table tasks by the textbook loop, with the penalty weight that the paper prints.

    VARPU_DATA=... python benchmarks/textbook_tables.py [--tasks NAME ...] [--seeds 10] [--jobs 2]
        [--out FILE]

``varpu paper run table2`` trains many networks as one, in bfloat16 on a GPU. Where its accuracy
differs from the paper's, this tells whether that is the reason: the same splits, by a loop as one
would first write it, in float32, with first weights and batches of its own.
"""

import argparse
import shlex
import sys
from importlib.metadata import version

import numpy as np
import tasks
import textbook
import torch
from joblib import Parallel, delayed
from report import write

from varpu.nets import MLP
from varpu.paper.methods.networks import member
from varpu.paper.tasks import task
from varpu.training import Recipe
from varpu.versions import cpu_name

NAMES = (
    *("page_blocks_1", "page_blocks_2", "grid_stability_1-stab", "grid_stability_2-stab"),
    *("avila_1", "avila_2"),
)


def fit(name: str, seed: int) -> float:
    """The test accuracy, in %, at the epoch with the least held-out loss."""
    torch.set_num_threads(1)
    own = task(name)
    problem = own.problem(seed)
    X, y = problem.data.X.astype(np.float32), problem.truth
    rows = tasks.Rows(X, y, X[problem.test], y[problem.test])
    network = member(problem, seed, lam=own.lam, lr=own.lr, prior=float("nan"))
    torch.manual_seed(seed)
    return 100 * textbook.fit(rows, network, Recipe(batch_size=own.batch_size), MLP(X.shape[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", nargs="+", default=NAMES, choices=NAMES, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", help="write the numbers here too, as JSON")
    options = parser.parse_args()
    found: dict[str, object] = {
        "command": shlex.join(["python", "benchmarks/textbook_tables.py", *sys.argv[1:]]),
        "hardware": f"{cpu_name()}, one thread a fit",
        "versions": {name: version(name) for name in ("varpu", "torch", "numpy")},
        "seeds": options.seeds,
    }
    for name in options.tasks:
        fits = (delayed(fit)(name, seed) for seed in range(options.seeds))
        accuracies = np.array(Parallel(options.jobs)(fits))
        print(f"{name}: {accuracies.mean():.1f} ± {accuracies.std():.1f}", flush=True)
        found[name] = {
            "lam": task(name).lam,
            "accuracy": float(accuracies.mean()),
            "accuracy_std": float(accuracies.std()),
            "accuracies": accuracies.round(2).tolist(),
        }
        write(options.out, found)


if __name__ == "__main__":
    main()
