"""Names that a person types: found, or refused with the nearest ones there are."""

from collections.abc import Iterable
from difflib import get_close_matches

from varpu.exceptions import PUInputError

__all__ = ["known", "split"]


def known(name: str, choices: Iterable[str], what: str) -> str:
    """The name, if it is among the choices.

    Raises
    ------
    PUInputError
        Otherwise; it names the nearest, or all.
    """
    choices = list(choices)
    if name in choices:
        return name
    near = get_close_matches(name, choices, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(choices)}"
    raise PUInputError(f"there is no {what} {name!r}; {hint}")


def split(values: Iterable[str] | None) -> list[str] | None:
    """Names from values that are repeated or separated by commas; None if there are none."""
    found = [name.strip() for value in values or () for name in value.split(",")]
    return [name for name in dict.fromkeys(found) if name] or None
