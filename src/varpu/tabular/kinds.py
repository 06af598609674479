"""What a column of a table is taken for, and why some are left out."""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from varpu.tabular.text import TextColumn
from varpu.tabular.values import (
    TRUE_WORDS,
    as_numbers,
    as_text,
    as_times,
    date_format_of,
    is_text,
    plain,
)

KINDS = ("number", "boolean", "category", "date", "text", "left out")
_MOST_LEVELS = 500
# Whole numbers of so few values, under such a name, are codes.
_MOST_CODES = 50
_CODE_NAME = re.compile(r"(^|[_\s])(code|type|class|category|cat|group|zip|kind|id)$", re.I)
_ID_NAME = re.compile(r"^(id|uuid|guid|index|row|row_?id|row_?number|unnamed: 0|)$", re.I)
_ID_ENDING = re.compile(r"([_\s.-](id|uuid|guid)|[a-z](Id|ID|UUID))$")
# In fewer rows it is no wonder that all values differ.
_FEWEST_FOR_ID = 20
# Where values come less than twice on average, they name rows and do not group them.
_MANY_DISTINCT = 0.5
_WORDS_OF_TEXT, _LENGTH_OF_TEXT = 3.0, 15.0
_MOST_STRAY = 0.05
# What a date becomes besides its number of days, and the name pandas has for it.
DATE_PARTS = {"year": "year", "month": "month", "weekday": "day_of_week", "hour": "hour"}


@dataclass
class Column:
    """A column of the table that was fitted.

    Attributes
    ----------
    name : str
    kind : str
        One of ``KINDS``.
    note : str
        Why it was left out, or what is worth knowing.
    levels : list of str
        Of a category; any other value is missing.
    date_format : str
    parts : list of str
        What a date is given as besides its number of days.
    text : TextColumn or None
    """

    name: str
    kind: str
    note: str = ""
    levels: list[str] = field(default_factory=list)
    date_format: str = ""
    parts: list[str] = field(default_factory=list)
    text: TextColumn | None = None

    @property
    def size(self) -> int:
        """The number of columns that it becomes."""
        if self.kind == "left out":
            return 0
        if self.text is not None:
            return len(self.text.components)
        return 1 + len(self.parts)


def learn_column(name: str, column: pd.Series, random_state: int) -> Column:
    """Decide what a column is."""
    column = plain(column)
    known = column[column.notna()]
    if len(known) and is_text(known):
        if not known.head(1000).map(lambda value: isinstance(value, str)).any():
            return _odd_column(name, known)
        known = as_text(known).dropna()
    if not len(known):
        return Column(name, "left out", "no values")
    n_distinct = int(known.nunique())
    if n_distinct == 1 and len(known) == len(column):
        return Column(name, "left out", f"constant: {_shown(known.iloc[0])}")
    if is_text(known):
        return _text_column(name, known, n_distinct, random_state)
    if pd.api.types.is_bool_dtype(known.dtype):
        return Column(name, "boolean")
    if pd.api.types.is_datetime64_any_dtype(known.dtype):
        return _date_column(name, known, "ISO8601")
    if pd.api.types.is_numeric_dtype(known.dtype):
        return _number_column(name, known, n_distinct)
    return Column(name, "left out", f"cannot be used: its type is {known.dtype}")


def _odd_column(name: str, known: pd.Series) -> Column:
    """Python objects that are no strings: times of day are told apart, all else is left out."""
    kind = type(known.iloc[0]).__name__
    if kind == "time":
        return _text_column(name, as_text(known), int(known.nunique()), 0)
    return Column(name, "left out", f"cannot be used: it holds values of type {kind}")


def _number_column(name: str, known: pd.Series, n_distinct: int) -> Column:
    values = known.to_numpy(np.float64)
    share = n_distinct / len(known)
    whole = bool(np.isfinite(values).all() and (values == np.floor(values)).all())
    if whole and len(known) >= _FEWEST_FOR_ID:
        steps = np.diff(values)
        if (steps == 1).mean() > 1 - _MOST_STRAY or (share == 1 and (steps > 0).all()):
            return Column(name, "left out", "like an id: it counts the rows")
        if _is_id(name, share):
            return Column(name, "left out", "like an id, by its name and its many values")
    if whole and n_distinct <= _MOST_CODES and _CODE_NAME.search(name):
        note = "whole numbers of few values whose name says that they are codes"
        return Column(name, "category", note, levels=_levels(as_text(known)))
    return Column(name, "number")


def _text_column(name: str, known: pd.Series, n_distinct: int, random_state: int) -> Column:
    lower = known.head(1000).str.lower()
    if lower.isin(TRUE_WORDS).all() and known.str.lower().isin(TRUE_WORDS).all():
        return Column(name, "boolean")
    if _holds_numbers(known):
        found = _number_column(name, pd.Series(as_numbers(known)).dropna(), n_distinct)
        found.note = found.note or "numbers that were stored as text"
        return found
    date_format = date_format_of(known)
    if date_format:
        return _date_column(name, known, date_format)
    share = n_distinct / len(known)
    if _is_prose(known, n_distinct):
        learned = TextColumn.learn(known, random_state)
        if learned is not None:
            note = f"{len(learned.words):,} words, reduced to {len(learned.components)} columns"
            return Column(name, "text", note, text=learned)
    if len(known) >= _FEWEST_FOR_ID and (share >= _MANY_DISTINCT or _is_id(name, share)):
        return Column(name, "left out", "like an id: too many different values")
    levels = _levels(known)
    note = ""
    if len(levels) < n_distinct:
        note = f"the {len(levels)} most common of {n_distinct:,} values; others count as missing"
    return Column(name, "category", note, levels=levels)


def _date_column(name: str, known: pd.Series, date_format: str) -> Column:
    times = as_times(known, date_format)
    parts = [part for part in DATE_PARTS if getattr(times.dt, DATE_PARTS[part]).nunique() > 1]
    return Column(name, "date", date_format=date_format, parts=parts)


def _holds_numbers(known: pd.Series) -> bool:
    sample = known.head(1000)
    # 007 is not 7: leading zeros are of codes.
    if sample.str.match(r"0\d").any() or pd.to_numeric(sample, errors="coerce").isna().any():
        return False
    return bool(pd.to_numeric(known, errors="coerce").notna().all())


def _is_prose(known: pd.Series, n_distinct: int) -> bool:
    sample = known.drop_duplicates().head(1000)
    words = (sample.str.slice(0, 2000).str.count(r"\s+") + 1).mean()
    long = sample.str.len().mean() >= _LENGTH_OF_TEXT
    return bool(words >= _WORDS_OF_TEXT and long and n_distinct > max(20, 0.05 * len(known)))


def _is_id(name: str, share: float) -> bool:
    named = _ID_NAME.match(name) or _ID_ENDING.search(name)
    return named is not None and share >= _MANY_DISTINCT


def _levels(text: pd.Series) -> list[str]:
    """The most common values, in an order that does not depend on that of the rows."""
    counts = text.value_counts()
    if len(counts) > _MOST_LEVELS:
        counts = counts.sort_index().sort_values(ascending=False, kind="stable")
        counts = counts.head(_MOST_LEVELS)
    return sorted(map(str, counts.index))


def _shown(value: Any) -> str:
    text = str(value)
    return repr(text if len(text) <= 40 else text[:40] + "...")
