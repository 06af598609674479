"""The paper's tasks: which classes are positive, how many are labelled, which network learns.

Numbers are those of the paper's Tables 5, 6 and 8; learning rates and batches, which it does not
give, those of the authors' published program, whose one for a data set serves both of its tasks.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varpu import datasets
from varpu.datasets import Dataset, PUSplit, make_pu
from varpu.exceptions import PUInputError

__all__ = ["Problem", "Task", "task"]

_UNKNOWN = -1  # the class of a row that was published without one


@dataclass(frozen=True, eq=False)
class Problem:
    """A task for one seed: rows are numbers of rows of the data set.

    Attributes
    ----------
    data : Dataset
    truth : bool array of shape (n,)
        Which rows are positive; for judging, and for the true prior where a method is given it.
    train, test : int arrays
    split : PUSplit
        Of the training rows.
    """

    data: Dataset
    truth: NDArray[np.bool_]
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    split: PUSplit

    @property
    def true_prior(self) -> float:
        """The share of positives among the training rows."""
        return float(self.truth[self.train].mean())


@dataclass(frozen=True)
class Task:
    """A data set with what the paper does with it.

    Attributes
    ----------
    name, title, dataset : str
    positive : tuple
        Classes.
    prior : float or None
        As the paper says; None where it is unknown.
    n_labeled, n_validation : int
        Labelled positives to train on and held out, M and M_v.
    n_test : int or None
        Rows drawn for testing; None where a test set was published.
    network : {"mlp", "lenet5", "cifar_cnn", "stl_cnn"}
    lr : float
    batch_size : int
    lam : float
        The weight of the penalty that the paper found.
    options : dict
        For the data set's loader.
    bias : int or None
        n_1 / n_4 = n_1 / n_7 among the labelled rows of FashionMNIST.
    raw_pixels : bool
        Whether pixels are 0 to 255, as in the authors' program for FashionMNIST.
    leaky : bool
        Whether held-out positives may be trained on, as there.
    """

    name: str
    title: str
    dataset: str
    positive: tuple[Any, ...]
    prior: float | None
    n_labeled: int
    n_validation: int
    n_test: int | None
    network: str
    lr: float
    batch_size: int
    lam: float
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    bias: int | None = None
    raw_pixels: bool = False
    leaky: bool = False

    @property
    def base(self) -> str:
        """The name of the task that this is a variant of."""
        return self.name.split("-")[0]

    @property
    def is_image(self) -> bool:
        """Whether its rows are images."""
        return self.network != "mlp"

    def load(self) -> Dataset:
        """The data set; read once."""
        return _loaded(self.dataset, tuple(self.options.items()))

    def problem(self, seed: int) -> Problem:
        """The rows that a seed trains, holds out and tests."""
        data = self.load()
        truth = np.isin(data.y, self.positive)
        if self.n_test is None:
            train, test = data.train, data.test
        else:
            order = np.random.default_rng([seed, 1]).permutation(len(data.y))
            test, train = np.sort(order[: self.n_test]), np.sort(order[self.n_test :])
        if (data.y[train] == _UNKNOWN).any():
            split = self._given(data.y, train, truth, seed)
            return Problem(data, truth, train, test, split)
        weights = None
        if self.bias is not None:
            first, *others = self.positive
            weights = {first: self.bias, **dict.fromkeys(others, 1)}
        split = make_pu(
            None,
            data.y,
            positive=self.positive,
            n_labeled=self.n_labeled,
            validation=self.n_validation,
            bias=weights,
            rows=train,
            random_state=seed,
        )
        if self.leaky:
            split = _leaky(split, train[truth[train]], seed)
        return Problem(data, truth, train, test, split)

    def _given(
        self, y: NDArray[Any], train: NDArray[np.int64], truth: NDArray[np.bool_], seed: int
    ) -> PUSplit:
        """The split of STL-10, where most rows have no class: its positives are those known."""
        order = np.random.default_rng(seed).permutation(train)
        known, others = order[truth[order]], order[~truth[order]]
        n_p, n_held_p = self.n_labeled, self.n_validation
        n_held = round(len(train) * n_held_p / (n_p + n_held_p)) - n_held_p
        p, held_p = known[n_held_p : n_held_p + n_p], known[:n_held_p]
        u = np.concatenate([p, known[n_held_p + n_p :], others[n_held:]])
        held_u = np.concatenate([held_p, others[:n_held]])
        return PUSplit(*map(np.sort, (p, u, held_p, held_u)))


def _leaky(split: PUSplit, positives: NDArray[np.int64], seed: int) -> PUSplit:
    """Held-out positives from all positives, those to train on among them."""
    random = np.random.default_rng([seed, 2])
    held_out = np.sort(random.choice(positives, len(split.held_out_p), replace=False))
    return replace(split, held_out_p=held_out)


@lru_cache(maxsize=4)
def _loaded(dataset: str, options: tuple[tuple[str, Any], ...]) -> Dataset:
    load: Callable[..., Dataset] = getattr(datasets, dataset)
    return load(**dict(options))


def _pair(
    dataset: str,
    title: str,
    positive: tuple[tuple[Any, ...], tuple[Any, ...]],
    prior: tuple[float | None, float | None],
    lam: tuple[float, float],
    **shared: Any,
) -> dict[str, Task]:
    return {
        f"{dataset}_{i + 1}": Task(
            name=f"{dataset}_{i + 1}",
            title=f"{title}{'¹²'[i]}",
            dataset=dataset,
            positive=positive[i],
            prior=prior[i],
            lam=lam[i],
            **shared,
        )
        for i in range(2)
    }


_TASKS: dict[str, Task] = {
    **_pair(
        "page_blocks",
        "Page Blocks",
        ((2, 3, 4, 5), (1,)),
        (0.104, 0.896),
        (0.0003, 0.0001),
        n_labeled=100,
        n_validation=16,
        n_test=2189,
        network="mlp",
        lr=3e-4,
        batch_size=100,
    ),
    **_pair(
        "grid_stability",
        "Grid Stability",
        (("stable",), ("unstable",)),
        (0.365, 0.635),
        (0.1, 0.1),
        n_labeled=1000,
        n_validation=167,
        n_test=4000,
        network="mlp",
        lr=3e-4,
        batch_size=500,
    ),
    **_pair(
        "avila",
        "Avila",
        (("A",), ("A", "F")),
        (0.411, 0.599),
        (0.1, 0.03),
        n_labeled=2000,
        n_validation=192,
        n_test=None,
        network="mlp",
        lr=6e-4,
        batch_size=500,
    ),
    **_pair(
        "fashion_mnist",
        "F-MNIST",
        ((1, 4, 7), (0, 2, 3, 5, 6, 8, 9)),
        (0.3, 0.7),
        (0.3, 3.0),
        n_labeled=3000,
        n_validation=500,
        n_test=None,
        network="lenet5",
        lr=3e-4,
        batch_size=500,
    ),
    **_pair(
        "cifar10",
        "CIFAR-10",
        ((0, 1, 8, 9), (2, 3, 4, 5, 6, 7)),
        (0.4, 0.6),
        (0.03, 0.01),
        n_labeled=3000,
        n_validation=500,
        n_test=None,
        network="cifar_cnn",
        lr=3e-5,
        batch_size=500,
    ),
    # Of the 2,500 labelled positives a tenth validates; the other labelled images are not used.
    **_pair(
        "stl10",
        "STL-10",
        ((0, 2, 3, 8, 9), (1, 4, 5, 6, 7)),
        (None, None),
        (0.3, 0.1),
        n_labeled=2250,
        n_validation=250,
        n_test=None,
        network="stl_cnn",
        lr=1e-4,
        batch_size=500,
    ),
}


def task(name: str) -> Task:
    """A task by its name, such as ``"avila_1"``; variants are named after it.

    ``grid_stability_1-stab`` keeps the column that holds the label, ``page_blocks_1-authors`` reads
    the authors' copy of the file, ``fashion_mnist_1-labelled-500`` labels 500,
    ``fashion_mnist_1-bias-5`` has n_1/n_4 = 5; ``-raw_pixels`` and ``-leaky`` are faults of the
    authors' program.
    """
    base, _, variant = name.partition("-")
    found = _TASKS.get(base)
    if found is not None:
        changed = found if not variant else _variant(found, variant)
        if changed is not None:
            return replace(changed, name=name)
    raise PUInputError(f"there is no task {name!r}; there are {', '.join(_TASKS)}")


def _variant(of: Task, variant: str) -> Task | None:
    kind, _, number = variant.partition("-")
    count = int(number) if re.fullmatch(r"[1-9]\d*", number) else None
    if variant == "stab" and of.dataset == "grid_stability":
        return replace(of, title=f"{of.title} with stab", options={"stab": True})
    if variant == "authors" and of.dataset == "page_blocks":
        return replace(
            of, title=f"{of.title}, authors' file", options={"copy": "authors"}, n_test=2188
        )
    if of.dataset != "fashion_mnist":
        return None
    if variant == "raw_pixels":
        return replace(of, title=f"{of.title}, raw pixels", raw_pixels=True)
    if variant == "leaky":
        return replace(of, title=f"{of.title}, leaky validation", leaky=True)
    if kind == "labelled" and count is not None:
        # As many held out as the paper's split has: a sixth.
        return replace(
            of,
            title=f"{of.title}, {count:,} labelled",
            n_labeled=count,
            n_validation=max(1, round(count / 6)),
        )
    if kind == "bias" and count is not None and len(of.positive) == 3:
        return replace(of, title=f"{of.title}, n₁/n₄ = {count}", bias=count)
    return None
