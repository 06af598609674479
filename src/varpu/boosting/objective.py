"""The variational loss as an objective for boosting: one function of the raw scores.

It knows no booster. LightGBM takes its output as it is, and so does XGBoost, on one machine or
many.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]
Weights = NDArray[np.floating] | NDArray[np.bool_]
Total = Callable[[Floats], Floats]

# The exact second derivative is negative in places, which no booster can use.
_SMALLEST_HESSIAN = 1e-6


def variational_derivatives(
    scores: Floats, weight_p: Floats, weight_u: Floats, *, total: Total | None = None
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
    total : callable, optional
        Where each of several workers has some of the rows: sums an array over the workers. The
        rows are coupled by these sums alone, so each worker gets the very derivatives that its
        rows have in the whole table; a worker may have no positive, or no row.
    """
    phi = expit(scores)
    sums = _sums(phi, weight_p, weight_u)
    return _derivatives(phi, weight_p, weight_u, sums if total is None else np.asarray(total(sums)))


def variational_sums(scores: NDArray[np.floating], weight_p: Weights, weight_u: Weights) -> Floats:
    """All that couples the rows; of parts of a table it is to be added up.

    Returns
    -------
    array of shape (5,)
        The sum of ``weight_u * Phi``, the sums of the weights over P and over the marginal, and
        the numbers of rows that have such weights.
    """
    return _sums(expit(scores), weight_p, weight_u)


def _sums(phi: NDArray[np.floating], weight_p: Weights, weight_u: Weights) -> Floats:
    return np.array(
        [
            (weight_u * phi).sum(dtype=np.float64),
            weight_p.sum(dtype=np.float64),
            weight_u.sum(dtype=np.float64),
            np.count_nonzero(weight_p),
            np.count_nonzero(weight_u),
        ]
    )


def log_mean_by_sums(sums: Floats) -> float:
    """``log E_U[Phi]`` by the sums of :func:`variational_sums` over all rows."""
    return float(np.log(sums[0] / sums[2]))


def derivatives_by_sums(
    scores: NDArray[np.floating], weight_p: Weights, weight_u: Weights, sums: Floats
) -> tuple[Floats, Floats]:
    """The derivatives of some rows by the sums of :func:`variational_sums` over all of them."""
    return _derivatives(expit(scores), weight_p, weight_u, sums)


def _derivatives(
    phi: NDArray[np.floating], weight_p: Weights, weight_u: Weights, sums: Floats
) -> tuple[Floats, Floats]:
    a = weight_p / sums[1]
    w = weight_u * phi
    w /= sums[0]
    size = (sums[3] + sums[4]) / 2
    gradient = (w - a) * (1 - phi)
    hessian = (w + a) * phi * (1 - phi)
    return size * gradient, np.maximum(size * hessian, _SMALLEST_HESSIAN)
