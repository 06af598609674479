"""The paper's tasks as the benchmarks use them: data from VARPU_DATA, the paper's splits."""

import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from varpu.training import Member


@dataclass
class Task:
    """A data set with its binary labels, and how many rows the paper labels and holds out."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
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


def avila() -> Task:
    """Avila, class A against the rest."""
    train, test = (
        pd.read_csv(data_dir() / "avila" / f"avila-{part}.txt", header=None)
        for part in ("tr", "ts")
    )
    features = [frame.iloc[:, :10].to_numpy(np.float32) for frame in (train, test)]
    return Task(
        features[0],
        (train[10] == "A").to_numpy(),
        features[1],
        (test[10] == "A").to_numpy(),
        2000,
        192,
        1000,
    )


def grid(seed: int) -> Task:
    """Grid stability, stable against unstable, with ``stab`` as published; 4,000 test rows."""
    frame = pd.read_csv(data_dir() / "grid-stability" / "Data_for_UCI_named.csv")
    X = frame.drop(columns="stabf").to_numpy(np.float32)
    y = (frame["stabf"] == "stable").to_numpy()
    order = np.random.default_rng([seed, 1]).permutation(len(y))
    test, train = order[:4000], order[4000:]
    return Task(X[train], y[train], X[test], y[test], 1000, 167, 1000)


def _idx(name: str, header: int) -> np.ndarray:
    with gzip.open(data_dir() / "FashionMNIST" / "raw" / name) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def fashion_mnist() -> Task:
    """FashionMNIST, classes 1, 4, 7 against the rest."""
    parts = []
    for part in ("train", "t10k"):
        images = _idx(f"{part}-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)
        parts += [images, np.isin(_idx(f"{part}-labels-idx1-ubyte.gz", 8), [1, 4, 7])]
    return Task(*parts, 3000, 270, 5000)


def cifar10() -> Task:
    """CIFAR-10, classes 0, 1, 8, 9 against the rest."""
    folder = data_dir() / "cifar-10-batches-bin"
    names = [[f"data_batch_{i}.bin" for i in range(1, 6)], ["test_batch.bin"]]
    parts = []
    for files in names:
        raw = np.concatenate([np.fromfile(folder / name, np.uint8) for name in files])
        raw = raw.reshape(-1, 3073)
        parts += [raw[:, 1:].reshape(-1, 3, 32, 32), np.isin(raw[:, 0], [0, 1, 8, 9])]
    return Task(*parts, 3000, 332, 5000)
