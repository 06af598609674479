"""Checks of parameters and labels that every part shares: what was wanted, what came."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varpu.exceptions import PUInputError

# What people write of a row whose class nobody knows: "P" and "U", "positive" and "unlabelled".
_NOT_KNOWN, _NOT_KNOWN_BEGINS = ("u", "unk", "unl"), ("unknown", "unlabel")


def one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """``value`` must be one of ``allowed``."""
    if value not in allowed:
        choices = ", ".join(repr(choice) for choice in allowed)
        raise PUInputError(f"{name} must be one of {choices}; got {value!r}")


def whole(name: str, value: Any, low: int) -> int:
    """``value`` must be a whole number of at least ``low``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < low:
        raise PUInputError(f"{name} must be a whole number of at least {low}; got {value!r}")
    return int(value)


def real(
    name: str,
    value: Any,
    low: float,
    high: float = np.inf,
    *,
    open_low: bool = False,
    open_high: bool = False,
) -> float:
    """``value`` must be a finite number between ``low`` and ``high``."""
    number = np.nan if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    above_low = number > low if open_low else number >= low
    below_high = number < high if open_high else number <= high
    if not (np.isfinite(number) and above_low and below_high):
        above = f"above {low}" if open_low else f"of at least {low}"
        below = "" if high == np.inf else f" and {'below' if open_high else 'at most'} {high}"
        raise PUInputError(f"{name} must be a finite number {above}{below}; got {value!r}")
    return number


def share(name: str, value: Any, *, one_allowed: bool = False) -> float:
    """``value`` must be above 0 and below (or at most) 1."""
    return real(name, value, 0, 1, open_low=True, open_high=not one_allowed)


def positive_last(classes: NDArray[Any]) -> None:
    """The larger of two labels marks positives: it must not be a word for rows not known."""
    lower, larger = classes.tolist()
    word = larger.strip().lower() if isinstance(larger, str) else ""
    if word in _NOT_KNOWN or word.startswith(_NOT_KNOWN_BEGINS):
        raise PUInputError(
            "the larger of the two labels marks the known positives, and of"
            f" {lower!r} and {larger!r} that is {larger!r}, which hardly means them;"
            f" give y == {lower!r} in place of y"
        )
