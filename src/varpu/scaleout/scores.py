"""Statistics of scores that come block by block: the loss, the scale and the prior, in flat memory.

``log E_U[Phi]`` is not the mean of its values over blocks, and a prior needs the ranks of all rows.
So what is kept is a log-sum-exp (its maximum, and the sum below it) and a fine histogram.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from varpu.exceptions import PUInputError
from varpu.scale import PriorReading, estimate_prior, read_prior

Floats = NDArray[np.float64]

# Bins are floats of 13 binary digits: 0.012% wide, and finer the nearer to 0, where the logarithms
# of probabilities crowd that a saturated model gives.
_DROPPED_BITS = 10
_QUANTILE = 0.95


class RunningScores:
    """Scores of positives and of the marginal sample, counted rather than kept.

    Scores are ``log Phi`` or a log-ratio, up to one constant for all. What is kept does not depend
    on how rows are cut into blocks, or on the order of blocks, except for rounding of sums.

    Examples
    --------
    >>> import numpy as np
    >>> from varpu.scaleout.scores import RunningScores
    >>> running = RunningScores()
    >>> for scores in (np.array([-1.0, -2.0]), np.array([-3.0, 0.0])):
    ...     running.add(scores, weight_p=np.array([1.0, 0.0]), weight_u=np.ones(2))
    >>> round(running.loss(), 4)
    1.0539
    """

    def __init__(self) -> None:
        self._keys = np.empty(0, dtype=np.uint32)
        self._counts = np.empty((2, 0))  # P, then U
        self._totals = np.zeros(2)
        self._sum_p = 0.0
        self._top, self._sum_u = -np.inf, 0.0  # E_U[Phi] = exp(top) sum / total
        self._max = -np.inf
        self._waiting: list[tuple[NDArray[np.uint32], Floats]] = []

    def add(self, scores: NDArray[np.floating], weight_p: Floats, weight_u: Floats) -> None:
        """Count a block of rows.

        Parameters
        ----------
        scores : array of shape (n,)
            ``-inf`` is allowed, as ``log 0``.
        weight_p, weight_u : arrays of shape (n,)
            How many labelled rows, and how many rows of the marginal sample, each row stands for.
        """
        values = np.asarray(scores, dtype=np.float64)
        weights = np.stack([weight_p, weight_u]).astype(np.float64)
        counted = weights.any(axis=0)
        values, weights = values[counted], weights[:, counted]
        if np.isnan(values).any() or (values == np.inf).any():
            raise PUInputError("scores must be finite, or -inf; some are NaN or infinite")
        if not len(values):
            return
        is_p = weights[0] > 0
        self._totals += weights.sum(axis=1)
        self._sum_p += float(weights[0, is_p] @ values[is_p])
        self._max = max(self._max, float(values.max()))
        is_u = weights[1] > 0
        if is_u.any():
            top = float(values[is_u].max())
            if top > -np.inf:
                self._add_sum(top, float(weights[1, is_u] @ np.exp(values[is_u] - top)))
        keys, where = np.unique(_keys(values), return_inverse=True)
        self._hold(keys, np.stack([np.bincount(where, w, len(keys)) for w in weights]))

    def merge(self, other: "RunningScores") -> Self:
        """Count what another has counted, and give this one back."""
        self._totals = self._totals + other._totals
        self._sum_p += other._sum_p
        self._max = max(self._max, other._max)
        if other._top > -np.inf:
            self._add_sum(other._top, other._sum_u)
        other._settle()
        self._hold(other._keys, other._counts)
        return self

    @property
    def n_p(self) -> float:
        """The weight of the positives."""
        return float(self._totals[0])

    @property
    def n_u(self) -> float:
        """The weight of the marginal sample."""
        return float(self._totals[1])

    def log_mean(self) -> float:
        """``log E_U[Phi]``."""
        self._check()
        if not self._sum_u:
            return -np.inf
        return float(self._top + np.log(self._sum_u) - np.log(self.n_u))

    def loss(self) -> float:
        """``L_var = log E_U[Phi] - E_P[log Phi]``."""
        return self.log_mean() - self._sum_p / self.n_p

    def max_scale(self) -> float:
        """The largest ``Phi``, as :func:`varpu.scale.max_scale`."""
        self._check()
        return float(np.exp(self._max))

    def quantile_scale(self) -> float:
        """A high quantile of ``Phi`` on positives, as :func:`varpu.scale.quantile_scale`."""
        self._check()
        scores, weight_p, _ = self.histogram()
        reached = np.cumsum(weight_p) >= _QUANTILE * (self.n_p - 1) + 1 - 1e-9
        return float(np.exp(scores[np.argmax(reached)]))

    def histogram(self) -> tuple[Floats, Floats, Floats]:
        """Scores in rising order, and the weights of P and of U that have them, nearly."""
        self._settle()
        return _values(self._keys), self._counts[0].copy(), self._counts[1].copy()

    def prior(self) -> float:
        """The share of positives in the marginal, as :func:`varpu.scale.estimate_prior`."""
        self._check()
        return estimate_prior(*self._sides())

    def read_prior(self) -> PriorReading:
        """The prior with its interval and its warnings, as :func:`varpu.scale.read_prior`."""
        self._check()
        log_mean = self.log_mean()
        scores_p, scores_u, weight_p, weight_u = self._sides()
        return read_prior(scores_p - log_mean, scores_u - log_mean, weight_p, weight_u)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All of it, to be sent or stored."""
        self._settle()
        sums = [self._sum_p, self._top, self._sum_u, self._max]
        return {
            "keys": self._keys,
            "counts": self._counts,
            "totals": self._totals.copy(),
            "sums": np.array(sums),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """What :meth:`to_arrays` gave."""
        made = cls()
        made._keys, made._counts = arrays["keys"], arrays["counts"]
        made._totals = arrays["totals"].copy()
        made._sum_p, made._top, made._sum_u, made._max = arrays["sums"].tolist()
        return made

    def _add_sum(self, top: float, total: float) -> None:
        new_top = max(self._top, top)
        self._sum_u = self._sum_u * np.exp(self._top - new_top) + total * np.exp(top - new_top)
        self._top = new_top

    def _hold(self, keys: NDArray[np.uint32], counts: Floats) -> None:
        """Keep a histogram until there is so much of it that joining is worth while."""
        self._waiting.append((keys, counts))
        if sum(len(some) for some, _ in self._waiting) > 4 * len(self._keys) + 100_000:
            self._settle()

    def _settle(self) -> None:
        if not self._waiting:
            return
        all_keys = np.concatenate([self._keys, *(keys for keys, _ in self._waiting)])
        counts = np.concatenate([self._counts, *(some for _, some in self._waiting)], axis=1)
        self._keys, where = np.unique(all_keys, return_inverse=True)
        self._counts = np.stack([np.bincount(where, side, len(self._keys)) for side in counts])
        self._waiting = []

    def _sides(self) -> tuple[Floats, Floats, Floats, Floats]:
        scores, weight_p, weight_u = self.histogram()
        p, u = weight_p > 0, weight_u > 0
        return scores[p], scores[u], weight_p[p], weight_u[u]

    def _check(self) -> None:
        if not self._totals.all():
            raise PUInputError(
                "scores of positives and of the marginal sample are needed;"
                f" {self.n_p:g} and {self.n_u:g} have been counted"
            )


def _keys(values: Floats) -> NDArray[np.uint32]:
    """Whole numbers in the order of the values: the leading bits of floats, sign turned."""
    low, high = np.finfo(np.float32).min, np.finfo(np.float32).max
    bits = np.clip(values, low, high).astype(np.float32).view(np.uint32)
    ordered = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    return ordered >> np.uint32(_DROPPED_BITS)


def _values(keys: NDArray[np.uint32]) -> Floats:
    """The middle of each bin."""
    ordered = (keys << np.uint32(_DROPPED_BITS)) | np.uint32(1 << (_DROPPED_BITS - 1))
    bits = np.where(ordered >> 31, ordered ^ np.uint32(1 << 31), ~ordered)
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)
