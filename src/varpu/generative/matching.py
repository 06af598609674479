"""The intercept at which a classifier's mean probability is the prior."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit


def matched_intercept(logits: NDArray[np.float64], prior: float) -> float:
    """The ``b`` with ``mean sigmoid(logits + b) = prior``.

    Generators that miss a part of the data leave the classifier without a say there, and all such
    rows may fall on one side. A constant cannot mend their order, but it mends their share.

    Parameters
    ----------
    logits : array of shape (n,)
        Of the marginal sample.
    prior : float
        In (0, 1).
    """
    at_prior = np.log(prior) - np.log1p(-prior)
    # With the largest logit at that of the prior no row is above it, with the least none is below.
    low, high = at_prior - logits.max(), at_prior - logits.min()
    if low == high:
        return float(low)
    return float(brentq(lambda b: expit(logits + b).mean() - prior, low - 1, high + 1))
