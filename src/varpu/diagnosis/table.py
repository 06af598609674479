"""A table as the checks see it: columns of any type as numbers, codes and gaps."""

import re
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray

from varpu.exceptions import PUInputError

_ISO_DATE = re.compile(r"\d{4}-\d\d?-\d\d?([T ].*)?$")
# Enough cells to tell what a column of text holds.
_LOOK_AT = 1000
_MOSTLY = 0.9

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "category"}
        A column of text counts as categories.
    codes : int array of shape (n,)
        The same number for the same value, as they first appear; -1 where it is missing.
    levels : array
        The value of each code.
    numbers : float array of shape (n,) or None
        Of a number or date; NaN where it is missing.
    text : tuple of str
        What a few cells hold, where these are text and not said to be categories.
    """

    name: str
    kind: str
    codes: Ints
    levels: Any
    numbers: Floats | None = None
    text: tuple[str, ...] = ()

    @property
    def missing(self) -> Bools:
        """Which rows have no value."""
        return self.codes < 0

    @property
    def n_values(self) -> int:
        """How many different values there are."""
        return len(self.levels)

    def show(self, code: int) -> str:
        """A value, short enough to be read."""
        value = self.levels[code]
        if isinstance(value, np.floating | float):
            value = f"{value:.10g}"
        return shorten(value)


class _Read(NamedTuple):
    columns: tuple[Column, ...]
    groups: Ints
    n_rows: int


@dataclass(frozen=True)
class Table:
    """What a check gets: columns, labels and how they came about.

    Attributes
    ----------
    names : tuple of str
    columns : tuple of Column
    positive : bool array of shape (n,)
        Which rows are labelled.
    groups : int array of shape (n,)
        The same number for identical rows.
    scenario : {"single-set", "case-control"}
    seed : int
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    positive: Bools
    groups: Ints
    scenario: str
    seed: int

    @cached_property
    def n_labelled(self) -> int:
        """How many rows are labelled."""
        return int(self.positive.sum())

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.positive)

    @property
    def n_unlabelled(self) -> int:
        """How many rows are not labelled."""
        return self.n_rows - self.n_labelled


def shorten(value: Any, longest: int = 40) -> str:
    """A value or name as one short line."""
    text = " ".join(str(value).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def show_day(day: float) -> str:
    """A day, counted from 1970, as a date."""
    return str((pd.Timestamp(0) + pd.Timedelta(days=day)).date())


def read_columns(X: Any) -> tuple[tuple[str, ...], _Read]:
    """The columns of a frame or array."""
    if scipy.sparse.issparse(X):
        X = X.toarray()
    if not isinstance(X, pd.DataFrame):
        cells = np.asarray(X)
        if cells.ndim != 2:
            raise PUInputError(f"X must have rows and columns; got shape {cells.shape}")
        X = pd.DataFrame(cells)
    if 0 in X.shape:
        raise PUInputError(f"X must have rows and columns; got shape {X.shape}")
    names = tuple(str(name) for name in X.columns)
    # By position, for names may be shared.
    read = tuple(_read(X.iloc[:, i], name) for i, name in enumerate(names))
    codes = pd.DataFrame({i: column.codes for i, column in enumerate(read)})
    hashes = pd.factorize(np.asarray(pd.util.hash_pandas_object(codes, index=False)))[0]
    return names, _Read(read, hashes.astype(np.int64), len(X))


def _read(column: pd.Series, name: str) -> Column:
    if column.dtype == object:
        column = column.infer_objects()
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _categories(column.astype(object), name)
    if isinstance(dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if pd.api.types.is_bool_dtype(column) or pd.api.types.is_complex_dtype(column):
        return _categories(column.astype(object), name)
    if pd.api.types.is_numeric_dtype(column):
        return _numbers(column.to_numpy(np.float64, na_value=np.nan), name)
    if pd.api.types.is_datetime64_any_dtype(column):
        return _dates(column, name)
    if pd.api.types.is_timedelta64_dtype(column):
        return _numbers((column / pd.Timedelta(seconds=1)).to_numpy(np.float64), name)
    return _text(column.astype(object), name)


def _numbers(numbers: Floats, name: str) -> Column:
    codes, levels = pd.factorize(numbers)
    return Column(name, "number", codes.astype(np.int64), levels, numbers)


def _dates(column: pd.Series, name: str) -> Column:
    if column.dt.tz is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    codes, levels = pd.factorize(column)
    days = (column - pd.Timestamp(0)) / pd.Timedelta(days=1)
    numbers = days.to_numpy(np.float64, na_value=np.nan)
    return Column(name, "date", codes.astype(np.int64), levels, numbers)


def _text(column: pd.Series, name: str) -> Column:
    known = column[column.notna()]
    if len(known) and known.map(lambda value: isinstance(value, date)).all():
        return _dates(pd.to_datetime(column, errors="coerce"), name)
    cells = list(dict.fromkeys(v for v in known.head(_LOOK_AT) if isinstance(v, str)))
    if len(cells) >= 5 and sum(map(bool, map(_ISO_DATE.match, cells))) >= _MOSTLY * len(cells):
        try:
            dates = pd.to_datetime(column.astype(str), errors="coerce", format="ISO8601", utc=True)
        except (ValueError, OverflowError):
            return _categories(column, name)
        return _dates(dates.where(column.notna()), name)
    return _categories(column, name, tuple(cells))


def _categories(column: pd.Series, name: str, text: tuple[str, ...] = ()) -> Column:
    try:
        codes, levels = pd.factorize(column)
    except TypeError:  # lists and other things that cannot be hashed
        codes, levels = pd.factorize(column.map(repr, na_action="ignore"))
    return Column(
        name, "category", codes.astype(np.int64), np.asarray(levels, dtype=object), None, text
    )
