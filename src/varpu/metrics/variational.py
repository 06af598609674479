"""The variational loss as a metric: how well a score tells ``f_P / f``, up to a constant."""

import numpy as np
from numpy.typing import ArrayLike

from varpu.checks import share
from varpu.metrics.checks import Values, check_scores, positives_and_marginal
from varpu.scale import log_mean_exp


def variational_loss(
    y_pu: ArrayLike,
    score: ArrayLike,
    *,
    log: bool = False,
    scenario: str = "single-set",
    floor: float = 1e-6,
) -> float:
    """``L_var = log mean_M(Phi) - mean_P(log Phi)`` of a score ``Phi``; less is better.

    In expectation it is ``KL(f_P || f_Phi) - KL(f_P || f)``, where ``f_Phi`` is the distribution of
    positives that the score implies: least for ``Phi`` proportional to ``f_P / f``, and zero for a
    constant. It does not change with the scale of ``Phi``, so it needs no prior and compares
    classifiers of any kind, on rows that none of them was trained on.

    Parameters
    ----------
    y_pu : array of shape (n,)
        Two values; the larger marks labelled positives.
    score : array of shape (n,)
        Anything proportional to ``f_P / f``. That holds for ``P(y=1|x)`` in both scenarios and, in
        ``"single-set"``, for ``P(labelled|x)``, which an ordinary classifier learns from these
        labels. In ``"case-control"`` it is the *odds* ``p / (1 - p)`` of such a classifier.
    log : bool
        Whether ``score`` is ``log Phi``; ``-inf`` then stands for zero.
    scenario : "single-set" or "case-control"
        Whether the marginal is all rows, or the unlabelled rows alone.
    floor : float
        Scores below ``floor`` times the mean score count as that much. One labelled positive scored
        zero (common with forests) would else make the loss infinite and every such classifier
        alike; so it costs about ``log(1 / floor)`` (13.8) divided by the number of positives: a
        clear penalty, and finite. It is relative to the mean over all rows, so that the scale
        still does not matter, and small enough to leave ``mean_M`` as it is.

    Returns
    -------
    float
    """
    log_floor = np.log(share("floor", floor))
    log_phi = check_scores(score, log=True) if log else _log(check_scores(score, low=0.0))
    if len(log_phi) and log_phi.max() == -np.inf:
        log_phi = np.zeros_like(log_phi)  # zero everywhere is a constant like any other
    of_p, of_m = positives_and_marginal(y_pu, log_phi, scenario)
    least = log_mean_exp(log_phi) + log_floor
    return float(log_mean_exp(np.maximum(of_m, least)) - np.maximum(of_p, least).mean())


def _log(values: Values) -> Values:
    with np.errstate(divide="ignore"):
        return np.log(values)
