"""The unlabelled rows in the order of their scores, with a few of their values."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from varpu.exceptions import PUInputError
from varpu.report.importance import column_names, is_table
from varpu.report.scoring import Bools, Scored

# What a page shows of one text; a cell can hold megabytes.
_LONGEST_TEXT = 120
_MOST_VALUES = 5


def check_ids(ids: ArrayLike | None, X: Any, n_rows: int) -> list[Any]:
    """One id a row: those given, the names of a frame's rows, or numbers from 0."""
    if ids is None:
        named = isinstance(X, pd.DataFrame) and not isinstance(X.index, pd.RangeIndex)
        return list(X.index) if named else list(range(n_rows))
    found = list(np.asarray(ids, dtype=object).ravel())
    if len(found) != n_rows:
        raise PUInputError(f"ids must have one entry a row: {n_rows}, got {len(found)}")
    return found


def ranked_rows(
    model: Any,
    X: Any,
    positive: Bools,
    scored: Scored,
    ids: list[Any],
    importance: dict[str, Any] | None,
    max_rows: int,
) -> dict[str, Any]:
    """The best unlabelled rows: ``columns`` with name and kind, and ``data`` line by line.

    ``X`` is the table whose values are shown.
    """
    unlabelled = np.flatnonzero(~positive)
    best = unlabelled[np.argsort(-scored.order[unlabelled], kind="stable")][:max_rows]
    names = column_names(model, X) if is_table(X) else []
    shown = _columns_to_show(names, importance)
    data: list[list[Any]] = [list(range(1, len(best) + 1)), [plain(ids[i]) for i in best]]
    data.append([round(float(value), 4) for value in scored.probability[best]])
    data.append([round(float(value), 3) for value in scored.order[best]])
    for j in shown:
        values = X.iloc[best, j] if isinstance(X, pd.DataFrame) else np.asarray(X)[best, j]
        data.append([plain(value) for value in values])
    heads = ["rank", "id", "probability", "score", *(names[j] for j in shown)]
    kinds = [_kind(values) for values in data]
    # A column is of numbers or of texts, so that it can be sorted.
    texts = [
        values if kind == "number" else [None if value is None else str(value) for value in values]
        for values, kind in zip(data, kinds, strict=True)
    ]
    return {
        "total": len(unlabelled),
        "columns": [{"name": plain(n), "kind": k} for n, k in zip(heads, kinds, strict=True)],
        "data": [list(line) for line in zip(*texts, strict=True)],
    }


def plain(value: Any) -> Any:
    """A number, a short text, or None for what is missing: nothing that JSON does not know."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if isinstance(value, float):
        return float(f"{value:.6g}") if np.isfinite(value) else None
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    text = str(value)
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _kind(values: list[Any]) -> str:
    known = (value for value in values if value is not None)
    return "number" if all(isinstance(value, int | float) for value in known) else "text"


def _columns_to_show(names: list[str], importance: dict[str, Any] | None) -> list[int]:
    """The columns that matter most, then the first ones.

    The model may have learned from parts of a column, such as ``date.month`` of ``date``.
    """
    place = {name: j for j, name in reversed(list(enumerate(names)))}
    found: list[int] = []
    for line in importance["columns"] if importance else []:
        name = line["column"]
        while name and name not in place:
            name = name.rpartition(".")[0]
        if name in place and place[name] not in found:
            found.append(place[name])
    return (found + [j for j in range(len(names)) if j not in found])[:_MOST_VALUES]
