"""The paper's tasks as the speed benchmarks use them: the authors' numbers of held-out rows."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from varpu import datasets
from varpu.training import Member


@dataclass
class Rows:
    """A data set with its binary labels."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


@dataclass
class Task(Rows):
    """The same, and how many rows the paper labels and holds out."""

    n_labeled: int
    n_held_out_p: int
    n_held_out_u: int

    def member(self, seed: int, lam: float, lr: float) -> Member:
        """A random split: held-out rows first, labelled positives from what is left.

        No held-out positive is trained on; U holds the labelled rows.
        """
        order = np.random.default_rng(seed).permutation(len(self.y))
        held_out, train = order[: self.n_held_out_u], order[self.n_held_out_u :]
        return Member(
            seed=seed,
            lam=lam,
            lr=lr,
            p=train[self.y[train]][: self.n_labeled],
            u=train,
            held_out_p=held_out[self.y[held_out]][: self.n_held_out_p],
            held_out_u=held_out,
        )


def data_dir() -> Path:
    folder = os.environ.get("VARPU_DATA")
    if not folder or not Path(folder).is_dir():
        raise SystemExit("set VARPU_DATA to the folder that holds the data sets")
    return Path(folder)


def published(data: datasets.Dataset, positive: list, *sizes: int) -> Task:
    """A data set with the test rows that it was published with."""
    X, y, train, test = data.X, np.isin(data.y, positive), data.train, data.test
    return Task(X[train], y[train], X[test], y[test], *sizes)


def avila() -> Task:
    """Avila, class A against the rest."""
    return published(datasets.avila(), ["A"], 2000, 192, 1000)


def grid(seed: int) -> Task:
    """Grid stability, stable against unstable, with ``stab`` as published; 4,000 test rows."""
    data = datasets.grid_stability(stab=True)
    X, y = data.X, data.y == "stable"
    order = np.random.default_rng([seed, 1]).permutation(len(y))
    test, train = order[:4000], order[4000:]
    return Task(X[train], y[train], X[test], y[test], 1000, 167, 1000)


def fashion_mnist() -> Task:
    """FashionMNIST, classes 1, 4, 7 against the rest."""
    return published(datasets.fashion_mnist(), [1, 4, 7], 3000, 270, 5000)


def cifar10() -> Task:
    """CIFAR-10, classes 0, 1, 8, 9 against the rest."""
    return published(datasets.cifar10(), [0, 1, 8, 9], 3000, 332, 5000)
