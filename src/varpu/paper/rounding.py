"""Values as JSON can hold them, with no more digits than mean something."""

import math
from typing import Any

__all__ = ["plain"]

SIGNIFICANT = 6  # accuracies in percent keep four decimals


def plain(value: Any) -> Any:
    """The value of JSON's own types: floats rounded, those that are no number None.

    Arrays become lists, tensors and scalars of one value numbers, and what JSON cannot say its
    name or its text.
    """
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT}g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return str(getattr(value, "__qualname__", value))
