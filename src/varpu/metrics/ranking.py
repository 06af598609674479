"""Metrics of the order in which a score puts the rows: area under the ROC curve, precision."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from varpu import checks
from varpu.metrics.checks import Values, check_scores, positives_and_marginal


def pu_roc_auc(
    y_pu: ArrayLike,
    score: ArrayLike,
    prior: float | None = None,
    *,
    scenario: str = "single-set",
) -> float:
    """Area under the ROC curve, of positives against the marginal or, given a prior, negatives.

    ``AUC_PU = P(score of a positive > score of a marginal row)``, ties counting one half. A
    marginal row is a positive with probability ``pi`` and then loses half of the time, so
    ``AUC_PU = pi / 2 + (1 - pi) AUC`` and ``AUC = (AUC_PU - pi / 2) / (1 - pi)``. The first grows
    with the second: to compare classifiers on the same rows no prior is needed.

    Parameters
    ----------
    y_pu : array of shape (n,)
        Two values; the larger marks labelled positives.
    score : array of shape (n,)
        Any number that grows with the odds of being positive.
    prior : float, optional
        The share of positives in the marginal. With it, the estimate of the AUC against negatives
        is returned, without bias and so not clipped; without it, ``AUC_PU``.
    scenario : "single-set" or "case-control"
    """
    of_p, of_m = positives_and_marginal(y_pu, check_scores(score), scenario)
    below = (_count_below(of_m, of_p, "left") + _count_below(of_m, of_p, "right")) / 2
    auc_pu = float(below.mean() / len(of_m))
    if prior is None:
        return auc_pu
    pi = checks.share("prior", prior)  # a prior of 1 leaves no negatives to compare with
    return (auc_pu - pi / 2) / (1 - pi)


def pu_average_precision(
    y_pu: ArrayLike, score: ArrayLike, prior: float, *, scenario: str = "single-set"
) -> float:
    """Average precision against the classes nobody knows, in [0, 1].

    At a threshold ``t`` recall is ``TPR(t) = P_P(score >= t)``, and precision is
    ``pi TPR(t) / P_M(score >= t)``, held to at most 1. Average precision sums precision over the
    steps of recall, and recall steps at labelled positives: it is the mean precision at their
    scores. With every positive labelled it is exactly scikit-learn's ``average_precision_score``;
    otherwise it tends to it as labels grow, with some bias where they are few (a few hundredths at
    20 positives), as precision is then a ratio of small counts.

    Parameters
    ----------
    y_pu : array of shape (n,)
        Two values; the larger marks labelled positives.
    score : array of shape (n,)
        Any number that grows with the odds of being positive.
    prior : float
        The share of positives in the marginal.
    scenario : "single-set" or "case-control"
    """
    pi = checks.share("prior", prior, one_allowed=True)
    of_p, of_m = positives_and_marginal(y_pu, check_scores(score), scenario)
    recall = 1 - _count_below(of_p, of_p, "left") / len(of_p)
    # A positive above every marginal row (case-control) takes one row's share: precision is 1 if
    # the prior holds at least that many positives.
    share = np.maximum(1 - _count_below(of_m, of_p, "left") / len(of_m), 1 / len(of_m))
    return float(np.minimum(pi * recall / share, 1.0).mean())


def _count_below(sample: Values, thresholds: Values, side: Literal["left", "right"]) -> Values:
    """How many of the sample lie below each threshold (``"right"``: or at it)."""
    return np.searchsorted(np.sort(sample), thresholds, side=side).astype(np.float64)
