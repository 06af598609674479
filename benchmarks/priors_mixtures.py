"""Mixtures with a known share of positives: synthetic ones, scikit-learn's tables, VARPU_DATA's."""

import gzip
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.random import Generator
from sklearn import datasets
from tasks import data_dir

Rows = tuple[np.ndarray, np.ndarray]  # columns or images, and which rows are positive


@dataclass
class Mixture:
    """A PU sample; ``prior`` is the share of positives in the marginal sample."""

    X: np.ndarray
    labelled: np.ndarray
    scenario: str
    prior: float


def load(name: str, seed: int) -> Mixture:
    make, n_rows, n_labelled, scenario = MIXTURES[name]
    random = np.random.default_rng([seed, list(MIXTURES).index(name)])
    X, y = make(random)
    if n_rows is not None and n_rows < len(y):
        chosen = random.choice(len(y), n_rows, replace=False)
        X, y = X[chosen], y[chosen]
    labelled = np.zeros(len(y), dtype=bool)
    labelled[random.choice(np.flatnonzero(y), n_labelled, replace=False)] = True
    marginal = np.ones_like(y) if scenario == "single-set" else ~labelled
    return Mixture(X, labelled, scenario, float(y[marginal].mean()))


def gaussians(prior: float, distance: float, n_columns: int) -> Callable[[Generator], Rows]:
    def make(random: Generator) -> Rows:
        y = random.random(4000) < prior
        X = random.normal(size=(4000, n_columns))
        X[y, 0] += distance
        return X, y

    return make


def three_modes(random: Generator) -> Rows:
    y = random.random(4000) < 0.7
    centres = 4 * np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    X = random.normal(size=(4000, 3))
    X[y] += centres[random.integers(3, size=y.sum())]
    return X, y


def moons(random: Generator) -> Rows:
    X, y = datasets.make_moons(4000, noise=0.15, random_state=int(random.integers(2**31)))
    kept = (y == 0) | (random.random(4000) < 0.6)
    return np.c_[X, random.normal(size=(4000, 4))][kept], y[kept] == 1


def shells(random: Generator) -> Rows:
    X, y = datasets.make_gaussian_quantiles(
        n_samples=4000, n_features=5, n_classes=4, random_state=int(random.integers(2**31))
    )
    return X, y == 3


def clusters(random: Generator) -> Rows:
    X, y = datasets.make_classification(
        4000,
        12,
        n_informative=6,
        weights=[0.1],
        class_sep=1.5,
        flip_y=0,
        random_state=int(random.integers(2**31)),
    )
    return X, y == 1


def blobs(random: Generator) -> Rows:
    X, blob = datasets.make_blobs(
        4000, n_features=5, centers=10, cluster_std=2.0, random_state=int(random.integers(2**31))
    )
    return X, blob < 6


def hastie(random: Generator) -> Rows:
    X, y = datasets.make_hastie_10_2(4000, random_state=int(random.integers(2**31)))
    return X, y == 1


def box(random: Generator) -> Rows:
    """Uniform columns; the positives fill a box of three of them."""
    X = random.random((4000, 8))
    return X, (X[:, :3] < 0.6).all(axis=1)


def heavy_tails(random: Generator) -> Rows:
    X, y = gaussians(0.8, 3.0, 6)(random)
    return np.exp(X), y


def breast_cancer(label: int) -> Callable[[Generator], Rows]:
    def make(random: Generator) -> Rows:
        X, y = datasets.load_breast_cancer(return_X_y=True)
        return X, y == label

    return make


def digits(*positive: int) -> Callable[[Generator], Rows]:
    def make(random: Generator) -> Rows:
        X, y = datasets.load_digits(return_X_y=True)
        return X, np.isin(y, positive)

    return make


def wine(random: Generator) -> Rows:
    X, y = datasets.load_wine(return_X_y=True)
    return X, y == 1


def page_blocks(text: bool) -> Callable[[Generator], Rows]:
    def make(random: Generator) -> Rows:
        file = data_dir() / "page-blocks" / "page-blocks.data"
        frame = pd.read_csv(file, sep=r"\s+", header=None)
        return frame.iloc[:, :10].to_numpy(float), ((frame[10] == 1) == text).to_numpy()

    return make


def grid(kind: str) -> Callable[[Generator], Rows]:
    def make(random: Generator) -> Rows:
        frame = pd.read_csv(data_dir() / "grid-stability" / "Data_for_UCI_named.csv")
        X = frame.drop(columns=["stab", "stabf"]).to_numpy(float)
        return X, (frame["stabf"] == kind).to_numpy()

    return make


def avila(*letters: str) -> Callable[[Generator], Rows]:
    def make(random: Generator) -> Rows:
        frame = pd.read_csv(data_dir() / "avila" / "avila-tr.txt", header=None)
        return frame.iloc[:, :10].to_numpy(float), frame[10].isin(letters).to_numpy()

    return make


def fashion_classes() -> Rows:
    """The training images of FashionMNIST and their ten classes."""
    parts = []
    for name, header in (("images-idx3", 16), ("labels-idx1", 8)):
        file = data_dir() / "FashionMNIST" / "raw" / f"train-{name}-ubyte.gz"
        parts.append(np.frombuffer(gzip.decompress(file.read_bytes()), np.uint8, offset=header))
    return parts[0].reshape(-1, 1, 28, 28), parts[1]


def fashion(reverse: bool) -> Callable[[Generator], Rows]:
    def make(random: Generator) -> Rows:
        images, kind = fashion_classes()
        return images, np.isin(kind, [1, 4, 7]) != reverse

    return make


ONE, TWO = "single-set", "case-control"
# Maker, rows taken of it (None: all), labelled positives, scenario.
MIXTURES: dict[str, tuple[Callable[[Generator], Rows], int | None, int, str]] = {
    "Gaussians, far": (gaussians(0.3, 4.0, 2), None, 500, ONE),
    "Gaussians, near": (gaussians(0.5, 2.0, 2), None, 500, ONE),
    "Gaussians, few positives": (gaussians(0.1, 4.0, 10), None, 150, ONE),
    "Gaussians, two sets": (gaussians(0.6, 3.0, 5), None, 800, TWO),
    "three modes": (three_modes, None, 800, TWO),
    "moons": (moons, None, 500, ONE),
    "shells": (shells, None, 400, ONE),
    "make_classification": (clusters, None, 500, ONE),
    "blobs": (blobs, None, 500, ONE),
    "Hastie": (hastie, None, 500, TWO),
    "box": (box, None, 300, ONE),
    "heavy tails": (heavy_tails, None, 500, ONE),
    "breast cancer, benign": (breast_cancer(1), None, 120, ONE),
    "breast cancer, malignant": (breast_cancer(0), None, 80, ONE),
    "digits, even": (digits(0, 2, 4, 6, 8), None, 300, ONE),
    "digits, 0 and 1": (digits(0, 1), None, 120, ONE),
    "wine": (wine, None, 30, ONE),
    "Page Blocks 1": (page_blocks(False), None, 116, ONE),
    "Page Blocks 2": (page_blocks(True), None, 116, ONE),
    "Grid 1": (grid("stable"), 6000, 1167, ONE),
    "Grid 2": (grid("unstable"), 6000, 1167, ONE),
    "Avila 1": (avila("A"), None, 2192, ONE),
    "Avila 2": (avila("A", "F"), None, 2192, ONE),
    "FashionMNIST 1,4,7": (fashion(False), 6000, 500, ONE),
    "FashionMNIST, the others": (fashion(True), 6000, 500, ONE),
}
