"""Random choices about rows as a function of (seed, purpose, row number), not of a generator.

So a row is held out, or not, whoever reads it, in whichever order and in how many pieces.
"""

import numpy as np
from numpy.typing import NDArray

# Purposes, kept apart from one another.
HELD_OUT, POSITIVES, SHARDS, ORDER, BUFFER = range(5)

Bits = NDArray[np.uint64]

# The increment and multipliers of SplitMix64 (Steele, Lea and Flood, 2014).
_INCREMENT = 0x9E3779B97F4A7C15
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def hashed(seed: int, purpose: int, numbers: NDArray[np.integer] | Bits) -> Bits:
    """64 well mixed bits for each number, shape as that of ``numbers``."""
    state = _scramble(np.array([seed % 2**64], dtype=np.uint64))
    state = _scramble(state + np.uint64((purpose + 1) * _INCREMENT % 2**64))
    steps = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(_INCREMENT)  # wraps
    return _scramble(state + steps)


def uniform(seed: int, purpose: int, numbers: NDArray[np.integer] | Bits) -> NDArray[np.float64]:
    """A draw from [0, 1) for each number."""
    return (hashed(seed, purpose, numbers) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _scramble(z: Bits) -> Bits:
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))
