"""Copies among the rows, and the order they stand in."""

from collections.abc import Iterator

import numpy as np
from scipy import stats

from varpu.diagnosis.chance import FALSE_ALARM
from varpu.diagnosis.codes import make
from varpu.diagnosis.finding import Finding
from varpu.diagnosis.table import Column, Table, shorten

_MANY_COPIES = 0.05
_BLOCK = 0.999
_DRIFT = 0.3
_FEWEST_ROWS = 20


def labelled_copies(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU002: a warning where more labelled rows have unlabelled copies than chance makes.

    Rows that agree because columns have few values agree within P and within U too. With the
    expected numbers ``l`` and ``u`` of labelled and unlabelled rows of one kind, pairs are
    ``l^2 / 2``, ``u^2 / 2`` and ``l u``, so summed over kinds, by Cauchy and Schwarz, mixed pairs
    are at most ``2 sqrt(pairs in P * pairs in U)``.
    """
    labelled, unlabelled = (
        np.bincount(table.groups[kind], minlength=table.groups.max() + 1).astype(np.float64)
        for kind in (table.positive, ~table.positive)
    )
    rows = np.flatnonzero(table.positive & (unlabelled[table.groups] > 0))
    if not len(rows):
        return
    in_p, in_u = ((n * (n - 1) / 2).sum() for n in (labelled, unlabelled))
    mixed = (labelled * unlabelled).sum()
    # Three deviations, and room for pairs that just did not come up.
    is_excess = mixed - 3 * np.sqrt(mixed) > 2 * np.sqrt((in_p + 4) * (in_u + 4))
    share = len(rows) / table.n_labelled
    seen = f"Labelled rows that have an identical unlabelled row: {len(rows):,} ({share:.1%})"
    seen += ", far more than chance explains." if is_excess else ", which may be chance."
    severity = "warning" if is_excess and share >= 0.01 else "note"
    yield make("PU002", severity, seen, rows=rows, value=share)


def copies(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU009: a warning where a column of many values shows that copies are no chance."""
    _, first = np.unique(table.groups, return_index=True)
    n_distinct = len(first)
    share = 1 - n_distinct / table.n_rows
    if share < _MANY_COPIES:
        return
    most_values = max(column.n_values for column in table.columns)
    is_chance = most_values < 0.5 * n_distinct or len(table.columns) == 1
    repeated = np.setdiff1d(np.arange(table.n_rows), first)
    seen = f"{len(repeated):,} of {table.n_rows:,} rows ({share:.0%}) repeat an earlier row."
    if is_chance:
        seen += " Columns have few values, so this may be chance."
    severity = "note" if is_chance else "warning"
    yield make("PU009", severity, seen, rows=repeated, value=share)


def order(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU010: a warning where columns drift along the file as well."""
    n_p, n_u = table.n_labelled, table.n_unlabelled
    if min(n_p, n_u) < 5:
        return
    positions = np.flatnonzero(table.positive)
    auc = (positions.sum() - n_p * (n_p - 1) / 2) / (n_p * n_u)
    if max(auc, 1 - auc) < _BLOCK:
        return
    drifting = [column.name for column in table.columns if _drifts(column, table)]
    seen = f"The {n_p:,} labelled rows stand {'last' if auc > 0.5 else 'first'} in the table"
    if drifting:
        names = ", ".join(repr(shorten(name)) for name in drifting[:5])
        seen += f", and within rows of one kind these columns change along it: {names}"
        seen += f" and {len(drifting) - 5} more." if len(drifting) > 5 else "."
    else:
        seen += "; no column changes along it."
    severity = "warning" if drifting else "note"
    yield make("PU010", severity, seen, columns=tuple(drifting), value=float(auc))


def _drifts(column: Column, table: Table) -> bool:
    """Whether a column of numbers goes with the row number among unlabelled rows."""
    if column.numbers is None or column.n_values < 3:
        return False
    known = np.flatnonzero(~column.missing & ~table.positive)
    values = column.numbers[known]
    if len(values) < _FEWEST_ROWS or values.min() == values.max():
        return False
    result = stats.spearmanr(known, values)
    return bool(
        abs(result.statistic) >= _DRIFT and result.pvalue * len(table.columns) < FALSE_ALARM
    )
