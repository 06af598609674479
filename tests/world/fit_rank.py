"""A process of torchrun that fits; it notes what it found, or what went wrong, in a folder.

torchrun --standalone --nproc-per-node 2 fit_rank.py CASE,CASE... FOLDER
"""

import os
import sys
from pathlib import Path

import numpy as np
import torch

from varpu import PUClassifier, VPUClassifier, save
from varpu.world import joined_world


def rows(columns=6, n=900):
    random = np.random.default_rng(0)
    truth = random.random(n) < 0.4
    X = random.normal(size=(n, columns)) + 1.2 * truth[:, None]
    return X, truth & (random.random(n) < 0.4)


def network(**changes):
    small = {"hidden": (32, 32), "epochs": 12, "patience": None, "batch_size": 101}
    return VPUClassifier(**(small | {"random_state": 0, "device": "cpu"} | changes))


def fitted(case, rank):
    """The model of a case, fitted; some cases are wrong on purpose, on one process alone."""
    X, y = rows(columns=6 if case != "columns" or rank == 0 else 7)
    if case == "alone":
        return network(cv=None).fit(X, y)
    if case == "folds":
        return network(cv=3, lam=[0.03, 0.3]).fit(X, y)
    if case == "auto":
        return PUClassifier(n_folds=2, random_state=0, device="cpu").fit(X, y)
    if case == "seeds":
        return network(cv=None, epochs=2, random_state=None).fit(X, y)
    if case == "rows" and rank == 1:
        X, y = X[:-1], y[:-1]
    if case == "values" and rank == 1:
        X = X + 1.0
    if case == "labels" and rank == 1:
        y = np.zeros_like(y)
    if case == "crash" and rank == 1:
        raise ZeroDivisionError("a fault of the program")
    return network(cv=None, standardize=False).fit(X, y)


def threads():
    """The names of this process's threads, where the system tells them."""
    return [file.read_text("utf-8").strip() for file in Path("/proc/self/task").glob("*/comm")]


def main():
    cases, folder = sys.argv[1].split(","), Path(sys.argv[2])
    rank = int(os.environ.get("RANK", "0"))
    torch.set_num_threads(1)
    try:
        with joined_world():
            for case in cases:
                save(fitted(case, rank), folder / f"{case}.{rank}.varpu")
    except Exception as error:
        (folder / f"{rank}.error").write_text(f"{type(error).__name__}: {error}", "utf-8")
        sys.exit(2)
    left = [name for name in threads() if "gloo" in name]
    assert not left, f"threads of the group outlive it: {left}"


if __name__ == "__main__":
    main()
