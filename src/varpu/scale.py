"""From score to probability: ``P(y=1|x) = min(1, Phi(x) / c)``, and ways to find ``c``.

The variational loss leaves the scale of ``Phi`` open: ``Phi = c Phi*`` with ``c = E_U[Phi] / pi``.
So a scale is a prior and a prior is a scale.
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from varpu.calibration import recalibration
from varpu.exceptions import PUInputError, ScaleWarning

SCALES = ("max", "quantile", "prior")
_QUANTILE = 0.95
# Below this many held-out positives the prior's error is of the order of the prior itself.
_FEW_POSITIVES = 30
_NARROW_INTERVAL, _WIDE_INTERVAL = 0.05, 0.25

Scores = NDArray[np.float64]


def log_mean_exp(log_values: Scores) -> float:
    """``log mean exp`` of a sample."""
    return float(logsumexp(log_values) - np.log(len(log_values)))


def estimate_prior(
    scores_p: Scores,
    scores_u: Scores,
    weight_p: Scores | None = None,
    weight_u: Scores | None = None,
    *,
    delta: float = 0.1,
    gamma: float = 0.01,
) -> float:
    """Share of positives in the marginal by best bin estimation (BBE, Garg et al., 2021).

    For the best threshold ``t`` the estimate is ``q_U(t) / q_P(t)``, the shares of the marginal and
    of the positives that score at least ``t``; "best" weighs the ratio against its sampling error.
    It wants scores of rows that were not trained on: on training scores it reads too low. It only
    sees ranks, so any increasing function of the score gives the same answer.

    Parameters
    ----------
    scores_p, scores_u : arrays
        Scores of positives and of the marginal sample.
    weight_p, weight_u : arrays, optional
        How many rows each score stands for.
    delta, gamma : float
        Confidence and slack of the bound, as published.
    """
    weight_p, weight_u = _or_ones(weight_p, scores_p), _or_ones(weight_u, scores_u)
    return _best_bin(_Tails(scores_p, scores_u), weight_p, weight_u, delta, gamma)


def prior_interval(
    scores_p: Scores,
    scores_u: Scores,
    weight_p: Scores | None = None,
    weight_u: Scores | None = None,
    *,
    level: float = 0.9,
    n_samples: int = 200,
    seed: int = 0,
) -> tuple[float, float]:
    """A bootstrap interval of :func:`estimate_prior`: rows of P and of U are drawn anew.

    It shows the sampling error alone. That no region may hold positives only, which makes every
    estimate too high, it cannot show.
    """
    weight_p, weight_u = _or_ones(weight_p, scores_p), _or_ones(weight_u, scores_u)
    estimate = partial(_best_bin, _Tails(scores_p, scores_u))
    return _interval(estimate, weight_p, weight_u, level, n_samples, seed)


def _interval(
    estimate: Callable[[Scores, Scores], float],
    weight_p: Scores,
    weight_u: Scores,
    level: float = 0.9,
    n_samples: int = 200,
    seed: int = 0,
) -> tuple[float, float]:
    random = np.random.default_rng(seed)
    draw_p, draw_u = _resampling(weight_p), _resampling(weight_u)
    found = [estimate(draw_p(random), draw_u(random)) for _ in range(n_samples)]
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _resampling(weight: Scores) -> Callable[[np.random.Generator], Scores]:
    """A function from a generator to new weights: as many rows, drawn with replacement."""
    n = round(weight.sum())
    if (weight != np.rint(weight)).any():
        return lambda random: random.multinomial(n, weight / weight.sum()).astype(np.float64)
    # Whole numbers, as nearly always: to draw row numbers is several times as fast.
    row = np.repeat(np.arange(len(weight)), weight.astype(np.int64))

    def draw(random: np.random.Generator) -> Scores:
        drawn = np.bincount(row[random.integers(n, size=n)], minlength=len(weight))
        return drawn.astype(np.float64)

    return draw


def _or_ones(weight: Scores | None, scores: Scores) -> Scores:
    return np.ones(len(scores)) if weight is None else weight


class _Tails:
    """Sorted once: the weight of P and of U that scores at least each threshold."""

    def __init__(self, scores_p: Scores, scores_u: Scores) -> None:
        scores = np.concatenate([scores_p, scores_u])
        self._order = np.argsort(-scores, kind="stable")
        ordered = scores[self._order]
        self._ends = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(ordered) - 1)
        self._n_p = len(scores_p)

    def __call__(self, weight_p: Scores, weight_u: Scores) -> tuple[Scores, Scores]:
        both = np.zeros((2, len(self._order)))
        both[0, : self._n_p] = weight_p / weight_p.sum()
        both[1, self._n_p :] = weight_u / weight_u.sum()
        share_p, share_u = both[:, self._order].cumsum(axis=1)[:, self._ends]
        return share_p, share_u


def _best_bin(
    tails: _Tails, weight_p: Scores, weight_u: Scores, delta: float = 0.1, gamma: float = 0.01
) -> float:
    share_p, share_u = tails(weight_p, weight_u)
    share_p, share_u = share_p[share_p > 0], share_u[share_p > 0]
    noise = np.sqrt(np.log(4 / delta) / 2) * (weight_u.sum() ** -0.5 + weight_p.sum() ** -0.5)
    best = np.argmin((share_u + (1 + gamma) * noise) / share_p)
    return float(min(1.0, share_u[best] / share_p[best]))


@dataclass(frozen=True)
class PriorReading:
    """A prior read off scores of rows that were not trained on, with a 90% interval."""

    prior: float
    interval: tuple[float, float]


def read_prior(
    log_ratio_p: Scores, log_ratio_u: Scores, weight_p: Scores, weight_u: Scores
) -> PriorReading:
    """The prior from held-out log-ratios, with a :class:`ScaleWarning` where it is doubtful.

    It is :func:`estimate_prior`, drawn towards ``1 / E_P[f_P/f]`` of recalibrated ratios where its
    interval is wide and most rows are positive. Two things make it worthless: scores that are
    tied, as a saturated network's are, leave no ranks to read; and an estimate of none or all of
    the sample has found no threshold at all. Then the bound of the ratios as they are stands in. As
    ``prior * f_P/f`` is a probability it is never below the prior, and it is the prior where
    classes do not overlap.

    Parameters
    ----------
    log_ratio_p, log_ratio_u : arrays
        ``log f_P/f`` of positives and of the marginal sample, by models that did not see them.
    weight_p, weight_u : arrays
        How many rows each score stands for.

    Raises
    ------
    PUInputError
        If there are no positives or no rows of the marginal.
    """
    if len(log_ratio_p) == 0 or len(log_ratio_u) == 0:
        raise PUInputError(
            "a prior is read off rows that were held out, of both kinds; there are"
            f" {len(log_ratio_p)} labelled and {len(log_ratio_u)} marginal ones: give prior=, or"
            " hold rows out"
        )
    least = 1.0 / float(weight_u.sum())
    estimate = partial(_best_bin, _Tails(log_ratio_p, log_ratio_u))
    upper = partial(_upper_bound, log_ratio_p)
    prior, bound = estimate(weight_p, weight_u), upper(weight_p, weight_u)
    doubts = []
    if _largest_tie(log_ratio_p, weight_p) > 0.5:
        doubts.append("most labelled positives have one and the same score")
    elif not least < prior < 1 - least:
        doubts.append(f"no score tells positives from the rest (best bin estimation: {prior:.3f})")
    if doubts:
        doubts.append("so it is the upper bound 1 / E_P[f_P/f]")
        prior, estimate = bound, upper
    elif prior > bound + _WIDE_INTERVAL:
        doubts.append(f"the scores themselves allow at most {bound:.2f}")
    low, high = (max(end, least) for end in _interval(estimate, weight_p, weight_u))
    if not doubts and high - low > _NARROW_INTERVAL:
        bound = _calibrated_bound(log_ratio_p, log_ratio_u, weight_p, weight_u)
        prior += _trust_in_bound(bound, high - low) * max(0.0, bound - prior)
        high = max(high, prior)
    if weight_p.sum() < _FEW_POSITIVES:
        doubts.append(f"it rests on {weight_p.sum():g} labelled positives")
    if high - low > _WIDE_INTERVAL:
        doubts.append(f"its 90% interval is {low:.2f} to {high:.2f}")
    reading = PriorReading(max(prior, least), (low, high))
    if doubts:
        warnings.warn(
            f"the prior {reading.prior:.3f}, and with it every probability, is not to be trusted:"
            f" {'; '.join(doubts)}. The ranking is not affected; give prior= if you know it",
            ScaleWarning,
            stacklevel=_levels_up_to_the_user(),
        )
    return reading


def _upper_bound(log_ratio_p: Scores, weight_p: Scores, weight_u: Scores) -> float:
    """``min(1, 1 / E_P[f_P/f])``; a function of both weights as the other estimate is."""
    log_mean = logsumexp(log_ratio_p, b=weight_p) - np.log(weight_p.sum())
    return float(np.exp(min(0.0, -log_mean)))


def _calibrated_bound(
    log_ratio_p: Scores, log_ratio_u: Scores, weight_p: Scores, weight_u: Scores
) -> float:
    """The upper bound from recalibrated scores: shrunken ones would put it too high."""
    scores = np.concatenate([log_ratio_p, log_ratio_u])
    in_p = np.concatenate([weight_p, np.zeros(len(log_ratio_u))])
    in_u = np.concatenate([np.zeros(len(log_ratio_p)), weight_u])
    curve = recalibration(scores, in_p, in_u)
    return _upper_bound(curve(log_ratio_p) if curve else log_ratio_p, weight_p, weight_u)


def _trust_in_bound(bound: float, width: float) -> float:
    """How far to go from the best bin's estimate to the upper bound, 0 to 1.

    Where most is positive and labelled positives are few, P and the marginal look alike, and the
    best bin is the one that flatters most: it reads too low, and its interval is wide. The bound is
    a mean over all positives, hardly noisy, and near 1 there is little that it can be too high by.
    """
    wide = np.clip((width - _NARROW_INTERVAL) / 0.1, 0, 1)
    return float(wide * np.clip((bound - 0.75) / 0.1, 0, 1))


def _largest_tie(scores: Scores, weight: Scores) -> float:
    """The share of the rows that have the commonest score."""
    _, value = np.unique(scores, return_inverse=True)
    return float(np.bincount(value, weight).max() / weight.sum())


def _levels_up_to_the_user() -> int:
    """How far up the calls to the first line that is not of this package: the caller of fit."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] == "varpu":
        frame, level = frame.f_back, level + 1
    return level


def max_scale(log_phi: Scores) -> float:
    """The paper's scale: the largest ``Phi`` of the training rows (end of Algorithm 1)."""
    return float(np.exp(log_phi.max()))


def quantile_scale(log_phi_p: Scores) -> float:
    """A high quantile of ``Phi`` on labelled positives: like the maximum, but no one row rules."""
    return float(np.exp(np.quantile(log_phi_p, _QUANTILE)))


def prior_scale(log_mean_phi: float, prior: float) -> float:
    """The scale that a prior implies, ``E_U[Phi] / prior``, from ``log E_U[Phi]``."""
    return float(np.exp(log_mean_phi - np.log(prior)))


def mean_probability(log_phi_u: Scores, scale: float) -> float:
    """The prior that a scale implies, ``E_U[min(1, Phi / scale)]``."""
    return float(np.exp(np.minimum(log_phi_u - np.log(scale), 0.0)).mean())
