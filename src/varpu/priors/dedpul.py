"""Difference of estimated densities (DEDPUL; Ivanov, 2020)."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

from varpu.checks import real, whole
from varpu.exceptions import PUInputError
from varpu.priors.base import Interval, Sample
from varpu.priors.scored import ScoredPriorEstimator

# Scores this far from the others say no more than that they are far.
_FARTHEST = 12.0
_GRID = 4096
_LARGEST_RATIO = 50.0
# Of the search for the prior: tolerance, steps, resolution, and the largest lag that may be chosen.
_TOLERANCE, _MOST_STEPS = 1e-5, 1000
_RESOLUTION, _LARGEST_LAG = 0.001, 0.05

Floats = NDArray[np.float64]


class DEDPUL(ScoredPriorEstimator):
    """The prior from the density ratio of out-of-fold scores, by expectation-maximisation.

    A score turns the problem into one of one dimension. There the densities of positives and of
    the marginal are estimated by kernels, and their ratio ``r`` at the marginal rows is smoothed by
    running medians and made to rise with the score. Then ``prior <- E_U[min(1, prior r)]`` from 1
    downwards. Noise lets that fall too far, so the knee of the lag
    ``prior - E_U[min(1, prior r)]`` stands in where it is at a larger prior.

    It needs scores under which some rows are certainly positive, as BBE does; positives must be
    labelled at random. It costs the cross-fit of the scorer.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Scores rows by ``predict_proba``, fitted to tell labelled from unlabelled ones. None:
        boosted trees and models of distances on the variational loss, blended by their pooled loss,
        which take missing values, categories and sparse matrices too. Images are projected on 50
        principal components.
    bandwidth_u, bandwidth_p : float, default=0.05 and 0.1
        Of the two kernel densities, in deviations of the scores.
    n_folds : int, default=5
        Identical rows share a fold. Fewer are made where there are not that many distinct labelled
        rows.
    n_bootstrap : int, default=100
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether all rows are the marginal sample, or the unlabelled rows alone.
    random_state : int, RandomState or None, default=None
        Decides folds, scorers and draws.

    Attributes
    ----------
    prior_ : float
    prior_interval_ : pair of float
        90% by the bootstrap of the scores; the scorer is not fitted again.
    out_of_fold_log_ratio_ : array of shape (n,)
        ``log f_P/f`` of each row by the model that did not see it.

    References
    ----------
    Ivanov, "DEDPUL: Difference-of-Estimated-Densities-based Positive-Unlabeled Learning", ICMLA
    2020. Bandwidths, smoothing, search and the rule between its two answers follow the authors'
    program; its passing trends ("MT") do not, as sorting, its last step and ours, comes after them
    anyway, and densities are computed on a grid.
    """

    def __init__(
        self,
        *,
        estimator: Any = None,
        bandwidth_u: float = 0.05,
        bandwidth_p: float = 0.1,
        n_folds: int = 5,
        n_bootstrap: int = 100,
        scenario: str = "single-set",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.bandwidth_u = bandwidth_u
        self.bandwidth_p = bandwidth_p
        self.n_folds = n_folds
        self.n_bootstrap = n_bootstrap
        self.scenario = scenario
        self.random_state = random_state

    def _check_params(self) -> None:
        super()._check_params()
        whole("n_bootstrap", self.n_bootstrap, 2)
        for name in ("bandwidth_u", "bandwidth_p"):
            real(name, getattr(self, name), 0, open_low=True)

    def _read(
        self,
        scores_p: Floats,
        scores_u: Floats,
        sample: Sample,
        random: np.random.RandomState,
    ) -> tuple[float, Interval]:
        widths = (self.bandwidth_p, self.bandwidth_u)
        scores_p, scores_u = (np.clip(s, -_FARTHEST, _FARTHEST) for s in (scores_p, scores_u))
        prior = prior_from_ratio(density_ratio(scores_p, scores_u, *widths))
        drawn = [
            prior_from_ratio(
                density_ratio(_redrawn(scores_p, random), _redrawn(scores_u, random), *widths)
            )
            for _ in range(self.n_bootstrap)
        ]
        low, high = np.quantile(drawn, [0.05, 0.95])
        return prior, (float(low), float(high))


def density_ratio(
    scores_p: Floats, scores_u: Floats, bandwidth_p: float, bandwidth_u: float
) -> Floats:
    """``f_P/f`` at the marginal rows, in rising order; it rises with the score."""
    both = np.concatenate([scores_p, scores_u])
    low, high = float(both.min()), float(both.max())
    if high - low < 1e-9:
        raise PUInputError("all rows have one and the same score, which tells nothing of a prior")
    ordered = np.sort(scores_u)
    density_p, density_u = (
        _density(scores, low, high, width, ordered)
        for scores, width in ((scores_p, bandwidth_p), (scores_u, bandwidth_u))
    )
    ratio = np.minimum(density_p / np.maximum(density_u, 1e-300), _LARGEST_RATIO)
    ratio = _running_median(ratio, 5)
    sure = ordered >= (scores_p.mean() + scores_u.mean()) / 2
    ratio[sure] = np.maximum.accumulate(ratio[sure])
    return np.sort(_running_median(ratio, len(ratio) // 20))


def prior_from_ratio(ratio: Floats) -> float:
    """The prior for which the mean posterior is the prior, or the knee of their lag.

    Parameters
    ----------
    ratio : array of shape (n,)
        ``f_P/f`` at the rows of the marginal, in rising order.
    """
    sums = np.concatenate([[0.0], ratio.cumsum()])

    def mean_posterior(prior: Any) -> Any:
        """``E_U[min(1, prior r)]`` of one prior or of an array of them."""
        n_below = np.searchsorted(ratio, 1.0 / prior)
        return (prior * sums[n_below] + len(ratio) - n_below) / len(ratio)

    prior = 1.0
    for _ in range(_MOST_STEPS):
        mean = float(mean_posterior(prior))
        if abs(prior - mean) < _TOLERANCE or prior * ratio[-1] < 1:
            break
        prior = mean
    grid = np.arange(1.0, _RESOLUTION / 2, -_RESOLUTION)
    lags = grid - mean_posterior(grid)
    allowed = lags[1:-1] < _LARGEST_LAG
    if not allowed.any():
        return prior
    knee = float(grid[1:-1][np.where(allowed, np.diff(lags, 2), -np.inf).argmax()])
    found_root = (lags < 0).sum() > 1 and prior > _RESOLUTION
    return prior if knee <= prior or found_root else knee


def _density(scores: Floats, low: float, high: float, bandwidth: float, at: Floats) -> Floats:
    """A Gaussian kernel density, computed on a grid."""
    deviation = float(scores.std())
    width = bandwidth * (deviation if deviation > 1e-9 else high - low)
    margin = 5 * width
    step = (high - low + 2 * margin) / (_GRID - 1)
    place = (scores - low + margin) / step
    left = np.floor(place).astype(np.int64)
    part = place - left
    # A score between two points of the grid counts in both, by its nearness.
    counts = np.bincount(left, 1 - part, _GRID) + np.bincount(left + 1, part, _GRID)[:_GRID]
    smooth = gaussian_filter1d(counts, width / step, mode="constant", truncate=6)
    grid = low - margin + step * np.arange(_GRID)
    return np.interp(at, grid, smooth) / (len(scores) * step)


def _running_median(values: Floats, half: int) -> Floats:
    """The median of a window of ``2 half + 1`` values, of fewer at the ends."""
    if half < 1:
        return values.copy()
    window = pd.Series(values).rolling(2 * half + 1, center=True, min_periods=1)
    return np.array(window.median(), dtype=np.float64)


def _redrawn(scores: Floats, random: np.random.RandomState) -> Floats:
    return scores[random.randint(len(scores), size=len(scores))]
