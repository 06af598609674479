"""Columns that should not be learned from as they are."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from varpu.diagnosis.codes import make
from varpu.diagnosis.finding import Finding
from varpu.diagnosis.table import Column, Table, shorten

_ALMOST_ALL = 0.95
_FEWEST_IDS = 30
_MOST_WORDS = 3
_LONGEST_ID = 64
_FEWEST_NUMBERS = 10
_MOSTLY = 0.9
_LOOK_AT = 1000


def shared_names(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU016."""
    for name, same in groupby(sorted(table.names)):
        if (n := len(list(same))) > 1:
            seen = f"{n} columns have the name {shorten(name)!r}."
            yield make("PU016", "error", seen, columns=(name,), value=float(n))


def constant(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU006; a column with gaps is not constant, for these may tell something."""
    for column in table.columns:
        if column.n_values == 1 and not column.missing.any():
            seen = f"Column {shorten(column.name)!r} is {column.show(0)!r} in every row."
            yield make("PU006", "note", seen, columns=(column.name,))


def mostly_missing(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU011."""
    for column in table.columns:
        n_known = int((~column.missing).sum())
        share = 1 - n_known / table.n_rows
        if share >= _ALMOST_ALL:
            seen = (
                f"Column {shorten(column.name)!r} has {n_known:,} values in {table.n_rows:,} rows."
            )
            yield make("PU011", "note", seen, columns=(column.name,), value=share)


def infinite(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU013."""
    for column in table.columns:
        if column.numbers is not None and (at := np.flatnonzero(np.isinf(column.numbers))).size:
            where = f"in {len(at):,} of {table.n_rows:,} rows"
            seen = f"Column {shorten(column.name)!r} is infinite {where}."
            value = float(len(at))
            yield make("PU013", "error", seen, columns=(column.name,), rows=at, value=value)


def numbers_as_text(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU014."""
    for column in table.columns:
        if len(column.text) < _FEWEST_NUMBERS:
            continue
        is_number = _is_number(column.text)
        if (share := float(is_number.mean())) < _MOSTLY:
            continue
        others = [shorten(column.text[i], 20) for i in np.flatnonzero(~is_number)]
        seen = f"Column {shorten(column.name)!r} is text, but {share:.0%} of its values are numbers"
        seen += f"; others are {', '.join(map(repr, others[:3]))}." if others else "."
        yield make("PU014", "warning", seen, columns=(column.name,), value=share)


def ids(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU007."""
    for column in table.columns:
        n_known = int((~column.missing).sum())
        if n_known < max(_FEWEST_IDS, 0.5 * table.n_rows):
            continue
        if _counts_rows(column, n_known) or _names_rows(column, n_known):
            seen = (
                f"Column {shorten(column.name)!r} has {column.n_values:,} different values in"
                f" {n_known:,} rows, such as {column.show(0)!r} and {column.show(1)!r}."
            )
            value = column.n_values / n_known
            yield make("PU007", "warning", seen, columns=(column.name,), value=value)


def _counts_rows(column: Column, n_known: int) -> bool:
    """Whole numbers, hardly any twice, and dense: a measurement would have ties."""
    if column.kind != "number" or column.n_values < 0.999 * n_known:
        return False
    numbers = np.asarray(column.levels, dtype=np.float64)
    if not np.isfinite(numbers).all() or (numbers != np.round(numbers)).any():
        return False
    return bool(numbers.max() - numbers.min() < 2 * n_known)


def _names_rows(column: Column, n_known: int) -> bool:
    """Short text, hardly any twice."""
    if column.kind != "category" or column.n_values < _ALMOST_ALL * n_known:
        return False
    cells = [str(level) for level in column.levels[:_LOOK_AT]]
    is_short = np.mean([len(c.split()) for c in cells]) <= _MOST_WORDS
    return bool(
        is_short
        and np.mean([len(c) for c in cells]) <= _LONGEST_ID
        and _is_number(cells).mean() < _MOSTLY
    )


def _is_number(cells: Sequence[str]) -> NDArray[np.bool_]:
    # Marks of thousands, a decimal comma, a percent sign: people mean numbers by all of these.
    plain = pd.Series(cells, dtype=object).str.strip().str.rstrip("%").str.replace(",", "")
    return np.asarray(pd.to_numeric(plain, errors="coerce").notna())
