"""The curve on which KM1 and KM2 look for a bend.

Embed the marginal ``U`` and the positives ``P`` by the mean of a kernel. ``lam U + (1 - lam) P``
is a distribution up to ``lam* = 1 / (1 - prior)``, where it is that of the negatives, and none
beyond: its distance ``d(lam)`` from the nearest distribution is near 0 and then rises.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from varpu.exceptions import PUInputError
from varpu.priors.simplex import nearest_distribution

# No prior above 1 - 1/8 can come out.
FIRST, LAST = 1.0, 8.0
_STEP = 0.02
# Bisection of [1, 8] until a cell is no wider than 0.04.
_N_CELLS = 256
_CELL = (LAST - FIRST) / _N_CELLS
_WIDTHS = np.logspace(-1, 1, 5)
# How exactly distances are solved, in units of the distance between the samples. A slope is settled
# by bounds where it can be; nearer to a threshold than these allow, it passes that threshold within
# the resolution anyway. Solutions are far better than their bounds tell.
_ROUGH, _FINE = 3e-3, 1e-3
# Distances are square roots of what rounding leaves.
_ROUNDING = 1e-7
# Rows at once whose similarities stay in the cache.
_BLOCK = 64

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """A point of the curve: bounds of the distance, and the slope of a line that stays below."""

    low: float
    high: float
    slope: float


class Curve:
    """``d(lam)`` of one sample or of one bootstrap draw of it.

    Parameters
    ----------
    kernel : array of shape (n_u + n_p, n_u + n_p)
        1 on the diagonal.
    share_u, share_p : arrays of shape (n_u,) and (n_p,)
        What each row counts in its sample, 1 in sum.
    n_fewest : int
        The rows of the smaller sample, copies counted.

    Attributes
    ----------
    mmd : float
        The distance between the two samples.
    """

    def __init__(self, kernel: Floats, share_u: Floats, share_p: Floats, n_fewest: int) -> None:
        self._kernel, self.n_fewest = kernel, n_fewest
        self._share_u, self._share_p = share_u, share_p
        u = np.concatenate([share_u, np.zeros_like(share_p)])
        p = np.concatenate([np.zeros_like(share_u), share_p])
        # From one lam to the next, lam U + (1 - lam) P moves along this.
        self._direction = u - p
        self._kernel_u, self._kernel_p = np.array([u, p]) @ kernel
        square = self._direction @ (self._kernel_u - self._kernel_p)
        self.mmd = float(np.sqrt(max(square, 0.0)))
        corner = np.zeros_like(u)
        corner[(LAST * self._kernel_u + (1 - LAST) * self._kernel_p).argmax()] = 1.0
        self._u, self._solved = u, {LAST: corner}

    def at(self, lam: float, gap: float = _FINE) -> Point:
        """``d(lam)``, started from the nearest solution.

        Near 1 that is ``U`` itself, with all its points. Elsewhere few points may do, and it is
        cheaper to add some than to clear up.
        """
        near_u = lam <= FIRST + 0.05
        nearest = min(self._solved, key=lambda known: abs(known - lam))
        start = self._u if near_u else self._solved[nearest]
        u = np.concatenate([lam * self._share_u, (1 - lam) * self._share_p])
        kernel_u = lam * self._kernel_u + (1 - lam) * self._kernel_p
        found = nearest_distribution(self._kernel, u, kernel_u, start, gap * self.mmd)
        if not near_u:
            self._solved[lam] = found.weights
        return Point(found.low, found.high, float(found.normal @ self._direction))

    def first_slope(self) -> float:
        """``(d(1.05) - d(1)) / 0.05``, where ``d(1)`` is 0 as ``U`` is a distribution."""
        return self.at(FIRST + 0.05).high / 0.05

    def rises_faster(self, threshold: float, lam: float) -> bool:
        """Whether ``(d(lam + 0.02) - d(lam)) / 0.02`` is above a threshold.

        The line at either end may settle it alone, as the curve lies above both.
        """
        wanted = threshold * _STEP
        for gap in (_ROUGH, _FINE):
            here = self.at(lam, gap)
            if here.slope * _STEP - (here.high - here.low) > wanted:
                return True
            there = self.at(lam + _STEP, gap)
            if there.low - here.high > wanted:
                return True
            over_line = there.slope * _STEP + (there.high - there.low)
            if min(over_line, there.high - max(here.low, 0.0)) <= wanted:
                return False
        return there.high - here.high > wanted

    def lambda_at(self, threshold: float, guess: float | None = None) -> float:
        """Where the slope passes a threshold: the middle of a cell of bisected [1, 8].

        Slopes never fall, so a search that begins at a guess ends in the same cell.
        """
        if self.mmd < _ROUNDING:  # the samples are the same, and so is any lam U + (1 - lam) P
            return LAST - _CELL / 2
        left, right = 0, _N_CELLS
        step = 1 if guess is not None else _N_CELLS
        k = _N_CELLS // 2 if guess is None else round((guess - FIRST) / _CELL)
        while right - left > 1:
            k = min(max(k, left + 1), right - 1)
            if self.rises_faster(threshold, FIRST + k * _CELL):
                right, k = k, k - step
            else:
                left, k = k, k + step
            step *= 2
            if (left > 0 and right < _N_CELLS) or step > _N_CELLS:
                k = (left + right) // 2
        return FIRST + (left + right) / 2 * _CELL

    def drawn(self, random: np.random.RandomState, most: int) -> "Curve":
        """Rows of both samples drawn anew with replacement, no more than ``most`` of each."""
        count_u, count_p = (
            random.multinomial(min(len(share), most), share)
            for share in (self._share_u, self._share_p)
        )
        u, p = np.flatnonzero(count_u), np.flatnonzero(count_p)
        rows = np.concatenate([u, p + len(count_u)])
        n_u, n_p = int(count_u.sum()), int(count_p.sum())
        return Curve(
            self._kernel[np.ix_(rows, rows)], count_u[u] / n_u, count_p[p] / n_p, min(n_u, n_p)
        )


def best_kernel(points: Floats, n_u: int) -> tuple[Floats, float]:
    """The Gaussian kernel of the width that tells the two samples best apart.

    Widths are the root of the median squared distance times 0.1 to 10. Where more than half of the
    pairs are copies of each other, the median is taken over the other pairs.

    Parameters
    ----------
    points : array of shape (n_u + n_p, d)
        The marginal sample first.
    n_u : int

    Returns
    -------
    kernel : array of shape (n, n)
    width : float
    """
    squares = euclidean_distances(points, squared=True)
    median = float(np.median(squares))
    if median == 0 and squares.any():
        median = float(np.median(squares[squares > 0]))
    if median == 0:
        raise PUInputError(
            "a kernel compares rows by their distance, but all rows are identical (or differ in"
            " nothing but rounding)"
        )
    n_p = len(points) - n_u
    difference = np.repeat([1 / n_u, -1 / n_p], [n_u, n_p])
    mmd = np.zeros(len(_WIDTHS))
    for first in range(0, len(points), _BLOCK):
        block = slice(first, first + _BLOCK)
        similar = np.exp(squares[block] * (-0.5 / (median * _WIDTHS[-1] ** 2)))
        for k in reversed(range(len(_WIDTHS))):
            mmd[k] += difference[block] @ (similar @ difference)
            # The next width is smaller by the root of 10: the tenth power, cheaper than exp.
            fifth = np.square(similar)
            fifth *= fifth
            similar *= fifth
            similar *= similar
    best = int(mmd.argmax())
    squares *= -0.5 / (median * _WIDTHS[best] ** 2)
    return np.exp(squares, out=squares), float(np.sqrt(median) * _WIDTHS[best])
