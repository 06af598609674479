"""Kernel machines: logistic regression on an RBF kernel, cross-fitted.

Cheap, smooth and hard to overfit, they see what trees cut into steps and what a network needs more
positives for.
"""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from varpu.auto.ratios import FoldRatios, out_of_fold
from varpu.crossfit import Split
from varpu.scale import log_mean_exp

_LANDMARKS = 300
# Rows of each kind that one machine is fitted to; more would take longer and change little.
_MOST_ROWS = 20_000

Floats = NDArray[np.float64]


class KernelSetting(NamedTuple):
    """A view of the table and a kernel on it.

    ``gamma`` is the kernel's width over the number of columns, ``c`` the inverse of the L2
    penalty. A ``power`` of the kernel above 1 damps the directions in which the rows, labelled or
    not, hardly vary: what is left goes along with their density, and tells a shell from its core.
    """

    view: str
    gamma: float
    c: float
    power: float = 1.0

    @property
    def name(self) -> str:
        """For people."""
        power = "" if self.power == 1 else f", power {self.power:g}"
        return f"kernel, {self.view}, {self.gamma:g}/d{power}, C {self.c:g}"


SETTINGS = (
    KernelSetting("whitened", 0.3, 10.0),
    KernelSetting("whitened", 0.3, 1.0),
    KernelSetting("whitened", 1.0, 1.0),
    KernelSetting("scores", 1.0, 10.0, power=2.0),
)


@dataclass(kw_only=True)
class KernelMachines(FoldRatios):
    """One machine a fold on the same landmarks.

    Attributes
    ----------
    landmarks : array of shape (m, d)
    basis : array of shape (m, m)
        From similarities with the landmarks to coordinates.
    gamma : float
    weights, intercepts : arrays of shape (folds, m) and (folds,)
    single_set : bool
        Whether ``Phi`` is the probability of a label or the odds of being a labelled row.
    """

    landmarks: Floats
    basis: Floats
    gamma: float
    weights: Floats
    intercepts: Floats
    single_set: bool

    def _unscaled(self, view: Floats) -> Floats:
        features = rbf_kernel(view, self.landmarks, gamma=self.gamma) @ self.basis.T
        return self.log_phi(features)

    def log_phi(self, features: Floats) -> Floats:
        """``log Phi`` by the coordinates of rows, shape (n, folds)."""
        logits = features @ self.weights.T + self.intercepts
        # All rows are the marginal: P(labelled|x) is proportional to f_P/f. Labelled rows beside
        # the marginal: the odds of being one of them are.
        return log_expit(logits) if self.single_set else logits


def fit_machines(
    view: Floats,
    splits: list[Split],
    setting: KernelSetting,
    single_set: bool,
    random: np.random.RandomState,
) -> tuple[KernelMachines, Floats]:
    """One machine a fold, and the out-of-fold ``log f_P/f`` of every row of the marginal and of P.

    Parameters
    ----------
    view : array of shape (n, d)
        The setting's view of the table.
    splits : list of Split
        One a fold.
    setting : KernelSetting
    single_set : bool
    random : RandomState
        Draws the landmarks, and the rows where there are too many.
    """
    width = setting.gamma / view.shape[1]
    kernel = Nystroem(
        gamma=width, n_components=min(_LANDMARKS, len(view) // 2 or 1), random_state=random
    )
    features = kernel.fit_transform(view)
    basis = kernel.normalization_
    if setting.power != 1:
        damped = _damping(features, setting.power)
        features, basis = features @ damped, damped.T @ basis
    fitted = [_logistic(features, split, setting.c, single_set, random) for split in splits]
    machines = KernelMachines(
        # In one order of memory, before it is stored and after: the bits of a product depend on it.
        landmarks=np.ascontiguousarray(kernel.components_),
        basis=np.ascontiguousarray(basis),
        gamma=width,
        weights=np.array([logistic.coef_[0] for logistic in fitted]),
        intercepts=np.array([logistic.intercept_[0] for logistic in fitted]),
        log_means=np.zeros(len(splits)),
        single_set=single_set,
    )
    scores = machines.log_phi(features).T
    for k, split in enumerate(splits):
        machines.log_means[k] = log_mean_exp(scores[k, split.u])
    return machines, out_of_fold(scores - machines.log_means[:, None], splits)


def _damping(features: Floats, power: float) -> Floats:
    """From features of a kernel to those of its power, whose largest eigenvalue stays 1."""
    variances, axes = np.linalg.eigh(features.T @ features / len(features))
    share = np.maximum(variances, 0.0) / variances.max()
    return np.asarray(axes * share ** ((power - 1) / 2))


def _logistic(
    features: Floats,
    split: Split,
    inverse_penalty: float,
    single_set: bool,
    random: np.random.RandomState,
) -> LogisticRegression:
    p = split.p
    rest = np.setdiff1d(split.u, p) if single_set else split.u
    share = min(1.0, _MOST_ROWS / max(len(p), len(rest)))
    if share < 1:  # of both alike, so that the odds stay what they are
        p, rest = (
            random.choice(rows, max(2, round(share * len(rows))), replace=False)
            for rows in (p, rest)
        )
    rows = np.concatenate([p, rest])
    logistic = LogisticRegression(C=inverse_penalty, max_iter=300)
    with warnings.catch_warnings():
        # Stopped early it is a little smoother, and its held-out loss says what that is worth.
        warnings.simplefilter("ignore", ConvergenceWarning)
        logistic.fit(features[rows], np.repeat([1, 0], [len(p), len(rest)]))
    return logistic
