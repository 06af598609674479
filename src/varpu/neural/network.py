"""A network as an ordinary binary classifier, for the methods that wrap one."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _check_sample_weight
from torch import nn

from varpu.exceptions import PUInputError
from varpu.neural.checks import check_single_params
from varpu.neural.single import train_single
from varpu.neural.single_classifier import SingleNetworkClassifier
from varpu.neural.split import split_rows
from varpu.seeding import random_of
from varpu.training import Risk

Floats = NDArray[np.float64]


class NetworkClassifier(SingleNetworkClassifier):
    """A network trained by the logistic loss on rows of two *known* classes, with weights.

    This is not a PU method: it is what rank pruning and Elkan-Noto wrap when they are to use the
    same networks as the rest, and what full supervision looks like beside them.

    Parameters
    ----------
    hidden : sequence of int, default=(128, 128, 128)
        Hidden layers of the network for tables.
    module : str, function or None, default=None
        Another network, as in :class:`VPUClassifier`.
    lr : float or sequence of float, default=1e-3
        All of a grid are trained together and the one with the least held-out risk is kept.
    betas : pair of float, default=(0.9, 0.999)
        Of Adam.
    weight_decay : float, default=0.0
        Weight of an L2 penalty on the network's weights.
    batch_size : int or None, default=None
        Rows of each class in a batch. None: a tenth of the negatives, from 32 to 500.
    epochs, steps_per_epoch : int, default=50 and 30
    lr_milestones : sequence of int, default=()
        Epochs, from 0, at which the learning rate is multiplied by ``lr_decay`` and Adam restarts.
    lr_decay : float, default=0.5
    validation_fraction : float or pair of int, default=0.0
        Share of each class held out to choose the epoch by the held-out loss, or (positives,
        negatives) as counts. With 0 the last epoch is kept.
    patience : int or None, default=None
        Stop after that many epochs without a better held-out risk.
    standardize : bool, default=True
        Centre and scale the columns of a table first.
    device : str, default="auto"
        "auto" takes a GPU if there is one.
    precision : {"fp32", "tf32", "bf16", "auto"}, default="fp32"
        Arithmetic of the products; "auto" takes bf16 where the device has instructions for it.
    random_state : int, RandomState or None, default=None
        Decides everything.
    progress : bool or None, default=None
        Show a progress bar; None: if someone is watching a terminal.

    Attributes
    ----------
    module_ : nn.Module
        The network, in evaluation mode, on the CPU.
    lr_, best_epoch_, held_out_loss_ : float, int and float
        Of that network; the loss is NaN where nothing was held out.
    history_ : DataFrame
        One line an epoch and learning rate: ``lr``, ``epoch``, ``loss``, ``held_out_loss``.
    prior_ : float
        The share of the positives (``classes_[1]``) among the rows it was fitted on.
    scale_, log_mean_phi_, classes_, n_features_in_, feature_names_in_
        As in every classifier here.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from varpu import NetworkClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> bool(NetworkClassifier(epochs=5, random_state=0).fit(X, y).score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        hidden: Sequence[int] = (128, 128, 128),
        module: str | Callable[[], nn.Module] | None = None,
        lr: float | Sequence[float] = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        weight_decay: float = 0.0,
        batch_size: int | None = None,
        epochs: int = 50,
        steps_per_epoch: int = 30,
        lr_milestones: Sequence[int] = (),
        lr_decay: float = 0.5,
        validation_fraction: float | tuple[int, int] = 0.0,
        patience: int | None = None,
        standardize: bool = True,
        device: str = "auto",
        precision: str = "fp32",
        random_state: int | np.random.RandomState | None = None,
        progress: bool | None = None,
    ) -> None:
        self.hidden = hidden
        self.module = module
        self.lr = lr
        self.betas = betas
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.epochs = epochs
        self.steps_per_epoch = steps_per_epoch
        self.lr_milestones = lr_milestones
        self.lr_decay = lr_decay
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.standardize = standardize
        self.device = device
        self.precision = precision
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows of two classes.

        Parameters
        ----------
        X : array or frame of shape (n, d), or images of shape (n, C, H, W)
        y : array of shape (n,) with two values
        sample_weight : array of shape (n,), optional
            How many rows each row stands for. Rows of weight 0 are left out.
        """
        self._check_params()
        table = self._check_rows(X, fitting=True)
        positive = self._check_y(y, table.shape[0])
        weight = _check_sample_weight(
            sample_weight, positive.astype(np.float64), ensure_non_negative=True
        )
        if not (weight[positive].any() and weight[~positive].any()):
            raise PUInputError("after leaving out rows of weight 0, y has rows of one class only")
        self._fit_rows(*_distinct(table, positive, weight))
        return self

    def _check_params(self) -> None:
        check_single_params(self)

    def _fit_rows(self, X: NDArray[Any], positive: NDArray[np.bool_], weight: Floats) -> None:
        random = random_of(self.random_state)
        split = split_rows(positive, self.validation_fraction, "case-control", random)
        prior = float(weight[positive].sum() / weight.sum())
        # The prior says how the classes stand to each other; within each, weights are 1 on average.
        relative = weight.copy()
        for rows in (positive, ~positive):
            relative[rows] /= weight[rows].mean()
        seed = int(random.randint(2**31 - 1))
        risk = Risk("supervised", "logistic")
        self._take_over(train_single(self, X, split, risk, prior, seed, weight=relative))
        self._take_probabilities(self._log_phi(X), prior)


def _distinct(
    X: NDArray[Any], positive: NDArray[np.bool_], weight: Floats
) -> tuple[NDArray[Any], NDArray[np.bool_], Floats]:
    """Identical rows of a table as one row of their weight, so that copies and weights agree."""
    used = weight > 0
    X, positive, weight = X[used], positive[used], weight[used]
    if X.ndim > 2:
        return X, positive, weight
    labelled, number = np.unique(np.column_stack([X, positive]), axis=0, return_inverse=True)
    total: Floats = np.bincount(number.ravel(), weight).astype(np.float64)
    return labelled[:, :-1], labelled[:, -1] == 1, total
