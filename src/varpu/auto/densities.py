"""Densities of P and of the marginal by kernels around their rows, and their ratio.

Nothing is trained, so little can be learned by heart: the fewer the positives, the better this does
beside models that are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils import gen_batches

from varpu.auto.ratios import FoldRatios, out_of_fold, some_of
from varpu.crossfit import Split

# Of the kernels, in units of sqrt(d): two rows of d standardised columns are about sqrt(2 d) apart.
WIDTHS = (0.2, 0.4)
# Rows of each kind that a density is made of.
_MOST_POINTS = 3000
# Added to every ratio: a region without a labelled row may still hold a positive.
_LEAST_RATIO = 0.1
# Added to both densities: beyond all rows their ratio is 1.
_LEAST_DENSITY = 1e-12

Floats = NDArray[np.float64]


@dataclass(kw_only=True)
class KernelDensities(FoldRatios):
    """A ratio of densities a fold, over the same points.

    Attributes
    ----------
    points : array of shape (m, d)
    gamma : float
        The kernel is ``exp(-gamma distance^2)``.
    shares_p, shares_u : arrays of shape (m, folds)
        What each point counts in the two densities of a fold; columns sum to 1.
    """

    points: Floats
    gamma: float
    shares_p: Floats
    shares_u: Floats

    def _unscaled(self, view: Floats) -> Floats:
        return _log_ratio(*self._densities(view))

    def _densities(self, view: Floats) -> tuple[Floats, Floats]:
        """Of P and of the marginal, up to one factor, shapes (n, folds)."""
        similar = rbf_kernel(view, self.points, gamma=self.gamma)
        return similar @ self.shares_p, similar @ self.shares_u

    def mean_over_points(self) -> Floats:
        """``E_U`` of the ratio, shape (folds,), over the points that are of the marginal.

        A point's own kernel is left out: it is 1 at its place, and says nothing of the density
        there.
        """
        means = np.zeros(len(self.log_means))
        for batch in gen_batches(len(self.points), self._batch):
            densities_p, densities_u = self._densities(self.points[batch])
            own_p, own_u = self.shares_p[batch], self.shares_u[batch]
            means += (np.exp(_log_ratio(densities_p - own_p, densities_u - own_u)) * own_u).sum(0)
        return means


def fit_densities(
    view: Floats, splits: list[Split], width: float, random: np.random.RandomState
) -> tuple[KernelDensities, Floats]:
    """A ratio a fold, and the out-of-fold ``log f_P/f`` of every row of the marginal and of P.

    Parameters
    ----------
    view : array of shape (n, d)
        Columns in one unit.
    splits : list of Split
        One a fold.
    width : float
        Of the kernels, in units of ``sqrt(d)``.
    random : RandomState
        Draws the points where there are too many rows.
    """
    some_p = some_of(splits[0].labelled, _MOST_POINTS, random)
    some_u = some_of(splits[0].marginal, _MOST_POINTS, random)
    rows = np.union1d(some_p, some_u)
    shares_p, shares_u = (
        np.column_stack([_shares(rows, np.intersect1d(some, side)) for side in sides])
        for some, sides in (
            (some_p, [split.p for split in splits]),
            (some_u, [split.u for split in splits]),
        )
    )
    gamma = 1 / (2 * width**2 * view.shape[1])
    points = np.ascontiguousarray(view[rows])
    found = KernelDensities(
        points=points,
        gamma=gamma,
        shares_p=shares_p,
        shares_u=shares_u,
        log_means=np.zeros(len(splits)),
    )
    found.log_means = np.log(found.mean_over_points())
    return found, out_of_fold(found.log_ratios(view), splits)


def _log_ratio(densities_p: Floats, densities_u: Floats) -> Floats:
    least = _LEAST_DENSITY
    ratio = (np.maximum(densities_p, 0) + least) / (np.maximum(densities_u, 0) + least)
    return np.log(_LEAST_RATIO + ratio)


def _shares(rows: NDArray[np.int64], counted: NDArray[np.int64]) -> Floats:
    """One over their number for those that are counted, 0 for the others."""
    return np.isin(rows, counted) / max(1, len(counted))
