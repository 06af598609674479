"""The variational loss as an objective for boosting: one function of the raw scores.

It knows no booster. LightGBM takes its output as it is, and so would another.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

# The exact second derivative is negative in places, which no booster can use.
_SMALLEST_HESSIAN = 1e-6


def variational_derivatives(
    scores: Floats, weight_p: Floats, weight_u: Floats
) -> tuple[Floats, Floats]:
    """First derivative and a positive stand-in for the second of ``L_var`` in each row's score.

    With ``Phi = sigmoid(score)`` the loss is ``log sum_j b_j Phi_j - sum_i a_i log Phi_i`` for
    weights ``a`` over P and ``b`` over the marginal, each summing to one. A labelled row of the
    single-set scenario has both. Its gradient is ``(w_j - a_j)(1 - Phi_j)`` with
    ``w_j = b_j Phi_j / sum b Phi``; the stand-in is ``(w_j + a_j) Phi_j (1 - Phi_j)``.

    Both are multiplied by half the number of rows, so that regularisation counted in rows (the
    smallest leaf, the L2 penalty) means what it usually does.

    Parameters
    ----------
    scores : array of shape (n,)
    weight_p, weight_u : arrays of shape (n,)
        Weights over P and over the marginal sample, zero for rows that are not in it.
    """
    phi = expit(scores)
    a = weight_p / weight_p.sum()
    w = weight_u * phi
    w /= w.sum()
    size = (np.count_nonzero(weight_p) + np.count_nonzero(weight_u)) / 2
    gradient = (w - a) * (1 - phi)
    hessian = (w + a) * phi * (1 - phi)
    return size * gradient, np.maximum(size * hessian, _SMALLEST_HESSIAN)
