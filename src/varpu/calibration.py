"""Out-of-fold scores made true: a log-ratio that says 2 should mean ``f_P/f = exp(2)``.

Trees and networks that were stopped in time have shrunken scores: they rank well, but understate
how much likelier a sure positive is among positives. That costs accuracy, as the class changes
where ``prior * f_P/f`` is one half. The pool of out-of-fold scores shows by how much they shrank:
in it, the density ratio of the score itself can be read off.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.isotonic import isotonic_regression
from sklearn.linear_model import LogisticRegression

# A curve of three parameters wants a few positives for each.
_FEWEST_POSITIVES = 30
# Scores beyond are far from any decision, and a few of them would bend the curve.
_FARTHEST = 8.0
_MOST_KNOTS = 256
# Scores that the curve makes equal keep their order.
_SLOPE = 1e-6

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Recalibration:
    """A curve from a score to ``log f_P/f``, linear between knots and never falling.

    Attributes
    ----------
    scores, log_ratios : arrays of shape (knots,)
    """

    scores: Floats
    log_ratios: Floats

    def __call__(self, scores: Floats) -> Floats:
        """``log f_P/f`` of rows by their scores, in the order that the scores give."""
        return np.interp(scores, self.scores, self.log_ratios) + _SLOPE * scores


def recalibration(scores: Floats, weight_p: Floats, weight_u: Floats) -> Recalibration | None:
    """Learn the curve from a pool of scores of rows that were not trained on.

    The log-ratio is a parabola in the score, fitted by logistic regression of positives against
    the marginal sample, whose log-odds are the log-ratio up to a constant. Where the parabola
    falls it is levelled by isotonic regression. The constant follows from ``E_U[f_P/f] = 1``.

    Parameters
    ----------
    scores : array of shape (n,)
        Out-of-fold log-ratios, uncalibrated.
    weight_p, weight_u : arrays of shape (n,)
        How many labelled rows, and how many rows of the marginal sample, each row stands for.

    Returns
    -------
    Recalibration or None
        None where there are too few positives for it, or where all have one score.
    """
    z = np.clip(scores, -_FARTHEST, _FARTHEST)
    p, u = weight_p > 0, weight_u > 0
    centred = z[u] - np.average(z[u], weights=weight_u[u])
    spread = float(np.sqrt(np.average(centred**2, weights=weight_u[u])))
    if weight_p.sum() < _FEWEST_POSITIVES or spread < 1e-6:
        return None
    both = np.concatenate([z[p], z[u]]) / spread
    side = np.repeat([1, 0], [p.sum(), u.sum()])
    weight = np.concatenate([weight_p[p], weight_u[u]])
    logistic = LogisticRegression(C=100.0, max_iter=1000)
    logistic.fit(np.column_stack([both, both**2]), side, sample_weight=weight)
    slope, bend = logistic.coef_[0]

    knots, where = np.unique(z, return_inverse=True)
    mass = np.bincount(where, weight_u) + np.bincount(where, weight_p)
    at_knots = slope * (knots / spread) + bend * (knots / spread) ** 2
    level = isotonic_regression(at_knots, sample_weight=mass)
    log_mean = logsumexp(level[where], b=weight_u) - np.log(weight_u.sum())
    kept = np.unique(np.linspace(0, len(knots) - 1, _MOST_KNOTS).round().astype(int))
    return Recalibration(knots[kept], level[kept] - log_mean)
