"""Which rows of a table are labelled positives."""

import difflib
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from varpu.exceptions import PUInputError
from varpu.tabular.values import as_text, is_text, plain

_YES, _NO = {"1", "true"}, {"0", "false"}


def find_column(name: str, names: list[str], what: str) -> str:
    """The column of that name, or an error that suggests the nearest."""
    if name in names:
        return name
    lower = {other.lower(): other for other in names}
    near = difflib.get_close_matches(name.lower(), lower, 1)
    if near:
        hint = f"did you mean {lower[near[0]]!r}?"
    else:
        shown = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
        hint = f"there are {shown}" if names else "it has no columns"
    raise PUInputError(f"the table has no column {name!r} for the {what}; {hint}")


def read_labels(
    column: pd.Series, positive: Any = None
) -> tuple[NDArray[np.bool_], str, dict[str, int]]:
    """Read a label column; missing and empty cells are unlabelled.

    Parameters
    ----------
    column : Series
    positive : value, optional
        Marks the positives. It can be left out where there is one value, or 0/1, or true/false.

    Returns
    -------
    labelled : bool array of shape (n,)
    positive : str
        The value that marks them.
    others : dict
        How often each other value occurs; these rows are taken as unlabelled.
    """
    text = as_text(column)
    text = text.mask(text.notna() & (text.str.strip() == ""))
    counts = text.value_counts()
    values = [str(value) for value in counts.index]
    wanted = _marker(column, values) if positive is None else _given(column, positive, values)
    labelled = (text == wanted).fillna(False).to_numpy(bool)
    if not labelled.any():
        raise PUInputError(
            f"no row is labelled positive: column {column.name!r} has no {wanted!r}"
            f" ({_listed(values) or 'it is empty'})"
        )
    if labelled.all():
        raise PUInputError(
            f"every row is labelled positive in column {column.name!r}: unlabelled rows, with an"
            " empty label, are needed too (or a table of them, by --unlabeled)"
        )
    others = {str(value): int(n) for value, n in counts.items() if str(value) != wanted}
    return labelled, wanted, others


def joined_tables(
    positives: pd.DataFrame, unlabeled: pd.DataFrame
) -> tuple[pd.DataFrame, str, list[str]]:
    """One table of two: the rows of both, with a column that marks the positives.

    Returns
    -------
    frame : DataFrame
        Of the columns that both have: one that only one of them has would give the label away.
    label : str
        The name of the column that marks positives by 1.
    left_out : list of str
        Columns that only one table has.
    """
    for what, frame in (("positives", positives), ("unlabeled", unlabeled)):
        if len(frame) == 0:
            raise PUInputError(f"the table of {what} has no rows")
    common = [name for name in positives.columns if name in set(unlabeled.columns)]
    if not common:
        raise PUInputError("the two tables have no column in common")
    parts = [positives[common].copy(deep=False), unlabeled[common].copy(deep=False)]
    for name in common:
        texts = [is_text(plain(part[name])) and bool(part[name].notna().any()) for part in parts]
        if texts[0] != texts[1]:  # numbers in one, words in the other
            for part in parts:
                part[name] = as_text(part[name])
    label = "labelled"
    while label in common:
        label += "_"
    frame = pd.concat([part.astype({}) for part in parts], ignore_index=True)
    frame[label] = np.repeat([1, 0], [len(positives), len(unlabeled)])
    both = set(common)
    apart = [*positives.columns, *unlabeled.columns]
    return frame, label, [str(name) for name in apart if name not in both]


def _marker(column: pd.Series, values: list[str]) -> str:
    lower = {value.lower(): value for value in values}
    if set(lower) <= _YES | _NO and len(set(lower) & _YES) < 2:
        return next((lower[value] for value in _YES if value in lower), "1")
    if len(values) == 1:
        return values[0]
    raise PUInputError(
        f"column {column.name!r} has several labels ({_listed(values)}): say which one marks the"
        " positives by --positive VALUE (positive= in Python)"
    )


def _given(column: pd.Series, positive: Any, values: list[str]) -> str:
    wanted = str(as_text(pd.Series([positive])).iloc[0])
    if wanted in values:
        return wanted
    for value in values:  # True, true and 1.0, 1 are the same label
        if value.lower() == wanted.lower() or _number(value) == _number(wanted) is not None:
            return value
    near = difflib.get_close_matches(wanted, values, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise PUInputError(
        f"no row is labelled {wanted!r} in column {column.name!r}"
        f" ({_listed(values) or 'it is empty'}){hint}"
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _listed(values: list[str]) -> str:
    shown = [repr(value if len(value) <= 40 else value[:40] + "...") for value in values[:10]]
    more = f" and {len(values) - 10:,} more" if len(values) > 10 else ""
    return f"it has {', '.join(shown)}{more}" if shown else ""
