"""Whether probabilities are what they say, told from positives and unlabelled rows."""

import numpy as np
from numpy.typing import ArrayLike

from varpu.checks import share, whole
from varpu.exceptions import PUInputError
from varpu.metrics.checks import (
    check_scores,
    positives_and_marginal,
)


def pu_calibration_error(
    y_pu: ArrayLike,
    proba: ArrayLike,
    prior: float,
    *,
    n_bins: int = 10,
    scenario: str = "single-set",
) -> float:
    """Expected calibration error of ``P(y=1|x)``; 0 is best.

    Rows are put in bins of equal width by their probability. In a bin the share of positives is
    ``pi P_P(bin) / P_M(bin)`` by Bayes' rule, so the usual
    ``sum_bins P_M(bin) |share of positives - mean probability|`` is
    ``sum_bins |pi P_P(bin) - mean_M(probability; in the bin)|``, where nothing is divided.

    Like any binned error it cannot fall to zero on a sample: true probabilities give about
    ``0.8 pi sqrt(n_bins / n_P)`` at worst, so 0.08 for 100 labelled positives, 10 bins and a prior
    of 0.3. Compare values on the same rows, or take fewer bins where positives are few.

    Parameters
    ----------
    y_pu : array of shape (n,)
        Two values; the larger marks labelled positives.
    proba : array of shape (n,)
        ``P(y=1|x)`` as a PU classifier gives it. The probability of being *labelled*, which an
        ordinary classifier learns from these labels, is rightly found too low.
    prior : float
        The share of positives in the marginal.
    n_bins : int
    scenario : "single-set" or "case-control"
    """
    pi = share("prior", prior, one_allowed=True)
    whole("n_bins", n_bins, 1)
    values = check_scores(proba, "proba", low=0.0)
    if len(values) and values.max() > 1:
        raise PUInputError(f"proba must be at most 1; the largest is {values.max()}")
    of_p, of_m = positives_and_marginal(y_pu, values, scenario)
    positives, _ = np.histogram(of_p, bins=n_bins, range=(0, 1))
    expected, _ = np.histogram(of_m, bins=n_bins, range=(0, 1), weights=of_m)
    return float(np.abs(pi * positives / len(of_p) - expected / len(of_m)).sum())
