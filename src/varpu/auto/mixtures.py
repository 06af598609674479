"""Mixtures of Gaussians over all rows, and how much likelier each part is among positives.

The parts are learned without a label, from all that there is. What the labelled rows have to tell
is then a handful of numbers, one a part, so that a hundred of them do: where a cluster of the
marginal should hold seven of them and holds none, it is one of negatives.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from varpu.auto.ratios import FoldRatios, out_of_fold
from varpu.crossfit import Split, mixture_weights
from varpu.scale import log_mean_exp

VIEWS = ("scores", "whitened")
# Beyond so many columns a part has more numbers to its shape than there are rows to tell them.
MOST_COLUMNS = 100
# Of parts; how many are right nobody knows, so several are averaged, each learned from rows of its
# own draw.
_SIZES = (3, 4, 6, 8)
_N_MIXTURES = 12
_ROWS_A_PART = 10
_MOST_ROWS = 3000
# Added to the variances, which are about 1: parts stay broad, and blur what few positives could not
# tell apart anyway.
_LEAST_VARIANCE = 0.4
_MOST_ITERATIONS = 30
# Labelled rows that are dealt out beforehand as the marginal is.
_SHRINKAGE = 2.0
_TINY = 1e-9

Floats = NDArray[np.float64]


@dataclass(kw_only=True)
class Mixtures(FoldRatios):
    """Several mixtures of the marginal, their parts one after another.

    Attributes
    ----------
    sizes : int array of shape (mixtures,)
        How many of the parts belong to each.
    shares : array of shape (parts,)
    centres : array of shape (parts, d)
    precisions : array of shape (parts, d, d)
        Cholesky factors of the inverse covariances, as scikit-learn has them.
    ratios : array of shape (parts, folds)
        The share of a part among positives over its share in the marginal.
    """

    sizes: NDArray[np.int64]
    shares: Floats
    centres: Floats
    precisions: Floats
    ratios: Floats

    def _unscaled(self, view: Floats) -> Floats:
        """Of the mean over mixtures."""
        total = np.zeros((len(view), self.ratios.shape[1]))
        for end, size in zip(self.sizes.cumsum(), self.sizes, strict=True):
            own = slice(end - size, end)
            mixture = GaussianMixture(size)
            mixture.weights_, mixture.means_ = self.shares[own], self.centres[own]
            mixture.precisions_cholesky_ = self.precisions[own]
            total += mixture.predict_proba(view) @ self.ratios[own]
        return np.asarray(np.log(total / len(self.sizes)))


def fit_mixtures(
    view: Floats, splits: list[Split], random: np.random.RandomState
) -> tuple[Mixtures, Floats]:
    """Ratios a fold, and the out-of-fold ``log f_P/f`` of every row of the marginal and of P.

    Parameters
    ----------
    view : array of shape (n, d)
        Columns in one unit.
    splits : list of Split
        One a fold.
    random : RandomState
        Draws the rows of each mixture and where it begins.
    """
    marginal = splits[0].marginal
    sizes, fitted, ratios = [], [], []
    for i in range(_N_MIXTURES):
        size = max(1, min(_SIZES[i % len(_SIZES)], len(marginal) // _ROWS_A_PART))
        drawn = random.choice(marginal, min(len(marginal), _MOST_ROWS))
        mixture = _mixture(view[drawn], size, int(random.randint(2**31 - 1)))
        belongs = mixture.predict_proba(view)
        sizes.append(size)
        fitted.append(mixture)
        ratios.append(np.column_stack([_ratios(belongs, split) for split in splits]))
    found = Mixtures(
        sizes=np.array(sizes, dtype=np.int64),
        shares=np.concatenate([mixture.weights_ for mixture in fitted]),
        centres=np.concatenate([mixture.means_ for mixture in fitted]),
        precisions=np.concatenate([mixture.precisions_cholesky_ for mixture in fitted]),
        ratios=np.concatenate(ratios),
        log_means=np.zeros(len(splits)),
    )
    scores = found.unscaled(view)
    for k, split in enumerate(splits):
        found.log_means[k] = log_mean_exp(scores[k, split.u])
    return found, out_of_fold(scores - found.log_means[:, None], splits)


def _mixture(rows: Floats, size: int, seed: int) -> GaussianMixture:
    mixture = GaussianMixture(
        size,
        reg_covar=_LEAST_VARIANCE,
        max_iter=_MOST_ITERATIONS,
        init_params="random_from_data",
        random_state=seed,
    )
    with warnings.catch_warnings():
        # One of several that are averaged need not be the best there is.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.fit(rows)


def _ratios(belongs: Floats, split: Split) -> Floats:
    """How much likelier each part is among positives: (parts,), from who belongs where (n, parts).

    A part's density over the marginal's is its ratio, so the shares among positives are those
    weights of the parts under which the positives are likeliest.
    """
    share = belongs[split.u].mean(axis=0) + _TINY
    with np.errstate(divide="ignore"):  # a row that has nothing of a part
        log_ratios = np.log(belongs[split.p].T / share[:, None])
    weights = mixture_weights(log_ratios, np.ones(len(split.p)), _SHRINKAGE * share)
    return np.asarray(weights / share)
