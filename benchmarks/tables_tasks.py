"""PU tasks from what scikit-learn ships and generates: the development set for choosing defaults.

Task ``i`` is of kind ``i % 16`` and is decided by ``i`` alone. The tasks differ in size (900 to
12,000 rows, but for the two data sets of fixed size), prior, overlap, noise columns, monotone
distortions of the columns, and the number of labelled positives (40 to 2,000, log-uniform). The
order of the random draws is part of a task: a change to it makes another development set.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.random import Generator
from sklearn import datasets
from sklearn.decomposition import PCA
from split import Split

Rows = tuple[np.ndarray, np.ndarray]  # columns, and which rows are positive


def task_name(i: int) -> str:
    """The kind of task ``i``, and ``i``."""
    return f"{list(KINDS)[i % len(KINDS)]} {i}"


def load(i: int) -> Split:
    """Task ``i``."""
    random = np.random.default_rng([i, 99])
    return dealt(*_rows(i, random), random)


def dealt(X: np.ndarray | pd.DataFrame, y: np.ndarray, random: Generator) -> Split:
    """Two rows in five are for the test, and some training positives are labelled."""
    order = random.permutation(len(y))
    n_test = len(y) * 2 // 5
    test, train = order[:n_test], order[n_test:]
    positives = np.flatnonzero(y[train])
    labelled = np.zeros(len(train), dtype=bool)
    n_labelled = _n_labelled(random, len(positives))
    labelled[random.choice(positives, n_labelled, replace=False)] = True
    rows = (
        X.iloc[part].reset_index(drop=True) if isinstance(X, pd.DataFrame) else X[part]
        for part in (train, test)
    )
    X_train, X_test = rows
    return Split(X_train, labelled, y[train], X_test, y[test])


def _rows(i: int, random: Generator) -> Rows:
    kind = list(KINDS)[i % len(KINDS)]
    n = int(_log_uniform(random, 900, 12_000))
    X, y = KINDS[kind](random, n, i)
    if random.random() < 0.3 and kind not in UNDISTORTED:
        X = _distorted(random, X)
    return X.astype(float), y


def _n_labelled(random: Generator, n_positive: int) -> int:
    if n_positive <= 60:
        return int(0.7 * n_positive)
    return int(_log_uniform(random, 40, min(2000, 0.8 * n_positive)))


def _log_uniform(random: Generator, low: float, high: float) -> float:
    return np.exp(random.uniform(np.log(low), np.log(high)))


def _distorted(random: Generator, X: np.ndarray) -> np.ndarray:
    """About half of the columns through ``exp``, in units of their common spread."""
    X = X.copy()
    chosen = random.random(X.shape[1]) < 0.5
    X[:, chosen] = np.exp(X[:, chosen] / X[:, chosen].std())
    return X


def _top(random: Generator, score: np.ndarray) -> np.ndarray:
    """The rows of the highest scores; how many is drawn."""
    prior = random.choice([0.1, 0.2, 0.3, 0.5, 0.7, 0.9])
    random.random(len(score))  # decides nothing, but the draws after it come after it
    return score > np.quantile(score, 1 - prior)


def _rule_score(random: Generator, X: np.ndarray) -> np.ndarray:
    """Six random boxes, each cut by three columns, with a random weight each."""
    score = np.zeros(len(X))
    for _ in range(6):
        inside = np.ones(len(X), dtype=bool)
        for column in random.choice(X.shape[1], 3, replace=False):
            cut = np.quantile(X[:, column], random.uniform(0.2, 0.8))
            above = X[:, column] > cut
            inside &= above if random.random() < 0.5 else ~above
        score += inside * random.normal()
    return score


def breast_cancer(random: Generator, n: int, seed: int) -> Rows:
    """Benign or malignant."""
    X, y = datasets.load_breast_cancer(return_X_y=True)
    return X, y == random.integers(2)


def digits(random: Generator, n: int, seed: int) -> Rows:
    """The pixels; one to seven digits are positive."""
    X, digit = datasets.load_digits(return_X_y=True)
    return X, np.isin(digit, random.choice(10, random.integers(1, 8), replace=False))


def digits_pca(random: Generator, n: int, seed: int) -> Rows:
    """Digits again, as twelve principal components."""
    X, y = digits(random, n, seed)
    return PCA(12).fit_transform(X), y


def image_patches(random: Generator, n: int, seed: int) -> Rows:
    """Patches of 8 x 8 pixels: are they from the temple or from the flower?"""
    X, y = [], []
    for label, image in enumerate(datasets.load_sample_images().images):
        height, width, _ = image.shape
        tops, lefts = (random.integers(0, side - 8, n // 2) for side in (height, width))
        X += [_patch_columns(image[a : a + 8, b : b + 8]) for a, b in zip(tops, lefts, strict=True)]
        y += [label] * (n // 2)
    return np.array(X), np.array(y) == random.integers(2)


def _patch_columns(patch: np.ndarray) -> np.ndarray:
    """Grey values at half the resolution, mean and spread of each colour, and two slopes."""
    small = patch.reshape(4, 2, 4, 2, 3).mean((1, 3))  # (4, 4, 3)
    grey = small.mean(2)
    slopes = [np.abs(np.diff(grey, axis=axis)).mean() for axis in (0, 1)]
    return np.r_[grey.ravel(), small.mean((0, 1)), small.std((0, 1)), slopes]


def make_classification(random: Generator, n: int, seed: int) -> Rows:
    """Gaussian clusters at the corners of a cube, with redundant and noise columns."""
    d = random.integers(6, 25)
    X, y = datasets.make_classification(
        n,
        d,
        n_informative=max(4, d // 2),
        n_redundant=d // 5,
        n_clusters_per_class=int(random.integers(1, 4)),
        class_sep=random.uniform(0.8, 2.5),
        weights=[1 - random.choice([0.15, 0.3, 0.5, 0.8])],
        flip_y=random.choice([0, 0.02, 0.05]),
        random_state=seed,
    )
    return X, y == 1


def friedman_1(random: Generator, n: int, seed: int) -> Rows:
    """Friedman's first function, with up to nine noise columns."""
    d = int(random.integers(5, 15))
    X, score = datasets.make_friedman1(n, d, noise=random.uniform(0, 1.5), random_state=seed)
    return X, _top(random, score)


def friedman_2(random: Generator, n: int, seed: int) -> Rows:
    """Friedman's second function."""
    X, score = datasets.make_friedman2(n, noise=random.uniform(0, 60), random_state=seed)
    return X, _top(random, score)


def friedman_3(random: Generator, n: int, seed: int) -> Rows:
    """Friedman's third function."""
    X, score = datasets.make_friedman3(n, noise=random.uniform(0, 0.1), random_state=seed)
    return X, _top(random, score)


def moons(random: Generator, n: int, seed: int) -> Rows:
    """Two moons, with up to nine noise columns."""
    X, y = datasets.make_moons(n, noise=random.uniform(0.1, 0.35), random_state=seed)
    return np.c_[X, random.normal(size=(n, random.integers(0, 10)))], y == 1


def gaussian_shells(random: Generator, n: int, seed: int) -> Rows:
    """One Gaussian cut into four shells, of which some are positive."""
    X, shell = datasets.make_gaussian_quantiles(
        n_samples=n, n_features=int(random.integers(3, 12)), n_classes=4, random_state=seed
    )
    return X, np.isin(shell, [[0], [0, 1], [2, 3], [3]][random.integers(4)])


def hastie(random: Generator, n: int, seed: int) -> Rows:
    """Ten Gaussian columns; far from the middle or not."""
    X, y = datasets.make_hastie_10_2(n, random_state=seed)
    return X, y == 1


def axis_aligned_rules(random: Generator, n: int, seed: int) -> Rows:
    """Gaussian columns and random boxes: what trees are made for."""
    X = random.normal(size=(n, random.integers(6, 20)))
    return X, _top(random, _rule_score(random, X) + 1e-6 * random.normal(size=n))


def blobs(random: Generator, n: int, seed: int) -> Rows:
    """Many round clusters, of which a half or a third are positive."""
    X, blob = datasets.make_blobs(
        n,
        centers=int(random.integers(6, 20)),
        n_features=int(random.integers(3, 10)),
        cluster_std=random.uniform(1, 4),
        random_state=seed,
    )
    n_blobs = blob.max() + 1
    return X, np.isin(blob, random.choice(n_blobs, n_blobs // random.integers(2, 4), replace=False))


def integer_codes(random: Generator, n: int, seed: int) -> Rows:
    """Columns of three to five codes, and a noisy rule."""
    X = random.integers(0, random.integers(3, 6), size=(n, random.integers(6, 15))).astype(float)
    score = _rule_score(random, X) + 0.5 * _rule_score(random, X) + 0.1 * random.normal(size=n)
    return X, _top(random, score)


def random_network(random: Generator, n: int, seed: int) -> Rows:
    """Uniform columns, labelled by a smooth random network: what nets are made for."""
    d = random.integers(5, 15)
    X = random.uniform(-1, 1, size=(n, d))
    hidden = np.tanh(1.2 * X @ random.normal(size=(d, 20)))
    score = hidden @ random.normal(size=20)
    return X, _top(random, score + random.uniform(0, 0.5) * random.normal(size=n))


def heavy_tails(random: Generator, n: int, seed: int) -> Rows:
    """A mixture of Gaussians, of which some are positive; most often put through ``exp``."""
    d, n_parts = random.integers(5, 15), random.integers(3, 8)
    centres = random.normal(size=(n_parts, d)) * random.uniform(1, 2.5)
    part = random.integers(0, n_parts, n)
    X = centres[part] + random.normal(size=(n, d))
    X = np.exp(0.7 * X) if random.random() < 0.7 else X
    return X, part < max(1, n_parts // random.integers(2, 4))


KINDS: dict[str, Callable[[Generator, int, int], Rows]] = {
    "breast cancer": breast_cancer,
    "digits": digits,
    "image patches": image_patches,
    "make_classification": make_classification,
    "Friedman 1": friedman_1,
    "Friedman 2": friedman_2,
    "Friedman 3": friedman_3,
    "moons": moons,
    "Gaussian shells": gaussian_shells,
    "Hastie 10.2": hastie,
    "axis-aligned rules": axis_aligned_rules,
    "blobs": blobs,
    "digits PCA": digits_pca,
    "integer codes": integer_codes,
    "random network": random_network,
    "heavy tails": heavy_tails,
}
UNDISTORTED = {"breast cancer", "digits", "digits PCA"}
