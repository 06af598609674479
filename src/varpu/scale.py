"""From score to probability: ``P(y=1|x) = min(1, Phi(x) / c)``, and ways to find ``c``.

The variational loss leaves the scale of ``Phi`` open: ``Phi = c Phi*`` with ``c = E_U[Phi] / pi``.
So a scale is a prior and a prior is a scale.
"""

import warnings

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from varpu.exceptions import PUInputError, ScaleWarning

SCALES = ("max", "quantile", "prior")
_QUANTILE = 0.95
# Below this many held-out positives the prior's error is of the order of the prior itself.
_FEW_POSITIVES = 30

Scores = NDArray[np.float64]


def log_mean_exp(log_values: Scores) -> float:
    """``log mean exp`` of a sample."""
    return float(logsumexp(log_values) - np.log(len(log_values)))


def estimate_prior(
    scores_p: Scores, scores_u: Scores, delta: float = 0.1, gamma: float = 0.01
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
    delta, gamma : float
        Confidence and slack of the bound, as published.
    """
    thresholds = np.unique(np.concatenate([scores_p, scores_u]))
    share_p = 1 - np.searchsorted(np.sort(scores_p), thresholds, side="left") / len(scores_p)
    share_u = 1 - np.searchsorted(np.sort(scores_u), thresholds, side="left") / len(scores_u)
    seen = share_p > 0
    share_p, share_u = share_p[seen], share_u[seen]
    noise = np.sqrt(np.log(4 / delta) / 2) * (len(scores_u) ** -0.5 + len(scores_p) ** -0.5)
    best = np.argmin((share_u + (1 + gamma) * noise) / share_p)
    return float(min(1.0, share_u[best] / share_p[best]))


def max_scale(log_phi: Scores) -> float:
    """The paper's scale: the largest ``Phi`` of the training rows (end of Algorithm 1)."""
    return float(np.exp(log_phi.max()))


def quantile_scale(log_phi_p: Scores) -> float:
    """A high quantile of ``Phi`` on labelled positives: like the maximum, but no one row rules."""
    return float(np.exp(np.quantile(log_phi_p, _QUANTILE)))


def prior_scale(log_phi_u: Scores, prior: float) -> float:
    """The scale that a prior implies, ``E_U[Phi] / prior``."""
    return float(np.exp(log_mean_exp(log_phi_u) - np.log(prior)))


def held_out_prior(log_phi_p: Scores, log_phi_u: Scores) -> float:
    """:func:`estimate_prior` on held-out rows, with a warning where it cannot be trusted."""
    if len(log_phi_p) == 0 or len(log_phi_u) == 0:
        raise PUInputError(
            'scale="prior" estimates the prior on held-out rows, but none are held out;'
            " give prior= or a validation_fraction above 0"
        )
    prior = max(estimate_prior(log_phi_p, log_phi_u), 1.0 / len(log_phi_u))
    if len(log_phi_p) < _FEW_POSITIVES:
        warnings.warn(
            f"the prior {prior:.3f} was estimated from {len(log_phi_p)} held-out positives, fewer"
            f" than {_FEW_POSITIVES}: give prior= if you know it",
            ScaleWarning,
            stacklevel=2,
        )
    return prior


def mean_probability(log_phi_u: Scores, scale: float) -> float:
    """The prior that a scale implies, ``E_U[min(1, Phi / scale)]``."""
    return float(np.exp(np.minimum(log_phi_u - np.log(scale), 0.0)).mean())
