"""A linear machine with the squared hinge, by Newton's method.

The loss is piecewise quadratic, so Newton's method arrives in a few steps, and in one or two from
the machine of slightly other labels. The intercept carries no penalty.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_MAX_STEPS = 100
_SMALLEST_STEP = 1e-8
# Of the gradient, for one unit of the rows' weight.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Machine:
    """``f(x) = coef x + intercept``."""

    coef: Floats
    intercept: float

    def __call__(self, features: Floats) -> Floats:
        """The decision value of each row."""
        return np.asarray(features @ self.coef + self.intercept)


def objective(features: Floats, labels: Flags, weight: Floats, machine: Machine) -> float:
    """``1/2 |coef|^2 + sum_i weight_i max(0, 1 - y_i f(x_i))^2``, where y is 1 or -1."""
    loss = np.maximum(0, 1 - _signs(labels) * machine(features)) ** 2
    return float(machine.coef @ machine.coef / 2 + weight @ loss)


def fit_machine(
    features: Floats, labels: Flags, weight: Floats, start: Machine | None = None
) -> Machine:
    """The machine of least :func:`objective`.

    Parameters
    ----------
    features : array of shape (n, m)
    labels : bool array of shape (n,)
    weight : array of shape (n,)
    start : Machine, optional
        One that is near.
    """
    rows = np.column_stack([features, np.ones(len(features))]) * _signs(labels)[:, None]
    penalty = np.append(np.ones(features.shape[1]), 0.0)
    w = np.zeros(len(penalty)) if start is None else np.append(start.coef, start.intercept)
    lack = 1 - rows @ w  # of each row, to the margin
    for _ in range(_MAX_STEPS):
        short = lack > 0
        pull = rows[short].T * (2 * weight[short])
        gradient = penalty * w - pull @ lack[short]
        if np.abs(gradient).max() <= _TOLERANCE * weight.sum():
            break
        hessian = np.diag(penalty) + pull @ rows[short]
        # Where no row falls short of the margin nothing holds the intercept.
        hessian[-1, -1] += _TOLERANCE * weight.sum()
        step = -scipy.linalg.solve(hessian, gradient, assume_a="pos")
        moved = rows @ step
        size = _step_size(w, step, lack, moved, weight, penalty, gradient @ step)
        w, lack = w + size * step, lack - size * moved
    return Machine(w[:-1], float(w[-1]))


def _step_size(
    w: Floats,
    step: Floats,
    lack: Floats,
    moved: Floats,
    weight: Floats,
    penalty: Floats,
    slope: float,
) -> float:
    """The first of 1, 1/2, 1/4... that lowers the objective as it should (Armijo's rule)."""

    def value(size: float) -> float:
        v = w + size * step
        return float((penalty * v) @ v / 2 + weight @ np.maximum(0, lack - size * moved) ** 2)

    here, size = value(0.0), 1.0
    while value(size) > here + 1e-4 * size * slope and size > _SMALLEST_STEP:
        size /= 2
    return size


def _signs(labels: Flags) -> Floats:
    return np.where(labels, 1.0, -1.0)
