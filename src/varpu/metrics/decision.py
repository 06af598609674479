"""Metrics of predicted classes: accuracy for a known prior, and the score of Lee and Liu."""

from numpy.typing import ArrayLike

from varpu.checks import share
from varpu.metrics.checks import check_predictions, positives_and_marginal


def pu_accuracy(
    y_pu: ArrayLike, y_pred: ArrayLike, prior: float, *, scenario: str = "single-set"
) -> float:
    """Accuracy against the classes nobody knows, ``2 pi TPR + P_M(predicted negative) - pi``.

    ``TPR`` is the share of labelled positives that are predicted positive. With ``TNR`` of the
    negatives, ``P_M(predicted negative) = pi (1 - TPR) + (1 - pi) TNR``, so the above is
    ``pi TPR + (1 - pi) TNR``: without bias, whatever the number of labels. For that it is not
    clipped: noise or a wrong prior can take it past 0 or 1.

    Parameters
    ----------
    y_pu : array of shape (n,)
        Two values; the larger marks labelled positives.
    y_pred : array of shape (n,)
        The predicted classes, in the same two values.
    prior : float
        The share of positives in the marginal: of all rows in the single-set scenario, of the
        unlabelled ones in case-control.
    scenario : "single-set" or "case-control"
    """
    pi = share("prior", prior, one_allowed=True)
    of_p, of_m = positives_and_marginal(y_pu, check_predictions(y_pu, y_pred), scenario)
    return float(2 * pi * of_p.mean() + (1 - of_m.mean()) - pi)


def lee_liu_score(y_pu: ArrayLike, y_pred: ArrayLike, *, scenario: str = "single-set") -> float:
    """``recall^2 / P_M(predicted positive)``; more is better, no prior is needed.

    As ``P(predicted positive) = pi recall / precision``, it estimates ``precision recall / pi``
    (Lee and Liu, 2003): in the order of ``precision x recall``, large only if both are. It is 1 for
    a classifier that calls everything positive, at most ``1 / pi``, and 0 where no labelled
    positive is found.

    Parameters
    ----------
    y_pu : array of shape (n,)
        Two values; the larger marks labelled positives.
    y_pred : array of shape (n,)
        The predicted classes, in the same two values.
    scenario : "single-set" or "case-control"
    """
    of_p, of_m = positives_and_marginal(y_pu, check_predictions(y_pu, y_pred), scenario)
    # In case-control, labelled rows may be found and no other: one row is the least we can tell.
    return float(of_p.mean() ** 2 / max(of_m.mean(), 1 / len(of_m)))
