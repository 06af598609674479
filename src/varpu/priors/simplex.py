"""The distance of a signed measure from the nearest distribution on the same points.

With a kernel matrix ``K`` and weights ``u`` that sum to 1 but may be negative,
``d(u)^2 = min_v (u - v)' K (u - v)`` over ``v >= 0, sum v = 1``.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

# Pairs between two looks at the gap; fewer where a Newton step has to clear up after them.
_MOST_PAIRS, _FEWEST_PAIRS = 100, 10
_MOST_ROUNDS, _PATIENCE = 5000, 20
# With no more points than these, a system of equations is cheaper than many pairs.
_FEW_POINTS = 300
_MOST_NEWTON_STEPS = 30
_PROXIMAL = 1e-9
_TINY = 1e-12

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Nearest:
    """The nearest distribution found, and between what bounds its distance lies.

    Attributes
    ----------
    weights : array of shape (n,)
        Not negative, and 1 in sum.
    low, high : float
        ``high`` is the distance of ``weights``; no distribution is nearer than ``low``, which is
        below 0 where the point may be a distribution itself.
    normal : array of shape (n,)
        ``K (u - v) / |u - v|``. The distance of any other ``u'`` is at least
        ``low + normal @ (u' - u)``.
    """

    weights: Floats
    low: float
    high: float
    normal: Floats


def nearest_distribution(
    kernel: Floats, u: Floats, kernel_u: Floats, start: Floats, gap: float
) -> Nearest:
    """Solve the quadratic program by pairwise Frank-Wolfe steps, and Newton steps where few.

    A pairwise step moves weight from one point to another: to the point where the objective falls
    fastest, from the point with weight whose pairing with it gains most (a second-order choice,
    as in sequential minimal optimisation). It costs two rows of the kernel, so a start near the
    solution, such as that of a neighbouring ``u``, makes it cheap. A smooth kernel makes pairs
    slow, but then few points have weight in the end, and a Newton step on these does the rest.

    With ``r = u - v``, every distribution ``x`` has
    ``|u - x| >= <r, u - x> / |r|``, whose least value over the simplex is taken at a corner: the
    lower bound.

    Parameters
    ----------
    kernel : array of shape (n, n)
        Symmetric, positive semi-definite, and 1 on the diagonal.
    u, kernel_u : arrays of shape (n,)
        ``u``, 1 in sum, and its product with the kernel.
    start : array of shape (n,)
        A distribution.
    gap : float
        Stop where the distance is known to within this, or where it no longer falls by a twentieth
        of this in 20 rounds: then bounds are what is slow, and not the distance.
    """
    v = start / start.sum()
    slope = kernel @ v - kernel_u  # half the gradient
    norm = float(u @ kernel_u)
    highs: list[float] = []
    for _ in range(_MOST_ROUNDS):
        held = np.flatnonzero(v)
        few = len(held) <= _FEW_POINTS
        if few:
            v = _newton(kernel, kernel_u, v, held)
            held = np.flatnonzero(v)
            slope = v[held] @ kernel[held] - kernel_u
        high = float(np.sqrt(max(v @ (slope - kernel_u) + norm, 0.0)))
        low = high - float(slope @ v - slope.min()) / max(high, _TINY)
        highs.append(high)
        stalled = len(highs) > _PATIENCE and highs[-_PATIENCE] - high < gap / 20
        if high - max(low, 0.0) <= gap or stalled:
            break
        n_pairs = max(_FEWEST_PAIRS, len(held) // 2) if few else _MOST_PAIRS
        _exchange(kernel, v, slope, n_pairs)
    return Nearest(v, low, high, -slope / max(high, _TINY))


def _exchange(kernel: Floats, v: Floats, slope: Floats, n_pairs: int) -> None:
    """Pairwise steps; changes the weights and the slope."""
    has_weight = (v > 0).astype(np.float64)
    excess, gain = np.empty_like(v), np.empty_like(v)
    for _ in range(n_pairs):
        to = slope.argmin()
        row = kernel[to]
        np.subtract(slope, slope[to], out=excess)
        np.multiply(excess, has_weight, out=excess)
        # The squared length of a unit move is K_ii + K_jj - 2 K_ij = 2 - 2 K_ij, and a best step
        # gains excess^2 over it.
        np.subtract(1.0 + _TINY, row, out=gain)
        np.divide(excess, gain, out=gain)
        gain *= excess
        source = gain.argmax()
        if excess[source] <= 0:
            break
        step = excess[source] / max(2.0 - 2.0 * row[source], _TINY)
        if step >= v[source]:
            step = v[source]
            has_weight[source] = 0.0
        v[source] -= step
        v[to] += step
        has_weight[to] = 1.0
        np.subtract(row, kernel[source], out=excess)
        excess *= step
        slope += excess


def _newton(kernel: Floats, kernel_u: Floats, v: Floats, held: NDArray[np.int64]) -> Floats:
    """Towards the best weights of the points that have some, dropping those that fall to 0."""
    x = v[held]
    for _ in range(_MOST_NEWTON_STEPS):
        # A little of the distance from x keeps the system regular, and the step a descent.
        system = kernel[np.ix_(held, held)]
        system[np.diag_indices(len(held))] += _PROXIMAL
        wanted = np.column_stack([kernel_u[held] + _PROXIMAL * x, np.ones(len(held))])
        free, unit = cho_solve(cho_factor(system, overwrite_a=True), wanted).T
        best = free + (1 - free.sum()) / unit.sum() * unit
        falling = best < 0
        if not falling.any():
            x = best
            break
        x = x + (x[falling] / (x - best)[falling]).min() * (best - x)
        kept = x > 1e-15
        held, x = held[kept], x[kept]
    found = np.zeros_like(v)
    found[held] = x / x.sum()
    return found
