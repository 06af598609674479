"""A column that alone tells labelled from unlabelled rows, more than any honest column could."""

from collections.abc import Iterator

import numpy as np

from varpu.diagnosis.chance import FALSE_ALARM, FEWEST, Region, at_most, least_odds
from varpu.diagnosis.codes import make
from varpu.diagnosis.finding import Finding
from varpu.diagnosis.table import Bools, Column, Ints, Table, shorten, show_day

# Where a region of numbers begins and ends, as shares of the labelled rows below; None is no end.
_SPANS: list[tuple[float | None, float | None]] = [
    *((start, None) for start in (0.0, 0.1, 0.25, 0.5, 0.75)),
    *((None, end) for end in (0.25, 0.5, 0.75, 0.9, 1.0)),
    *((0.0, 1.0), (0.1, 0.9), (0.25, 0.75)),
]
_MOST_VALUES = 10
# A region with fewer of the labelled rows than this does no great harm, and there are many.
_LEAST_SHARE = 0.05


def separating(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU001: values that nearly labelled rows alone have.

    All regions of all columns share one chance of a false alarm.
    """
    random = np.random.default_rng(table.seed)
    regions = {i: list(_regions(c, table, random)) for i, c in enumerate(table.columns)}
    n_regions = max(1, sum(len(some) for some in regions.values()))
    odds = least_odds(table.n_labelled, table.n_unlabelled, table.scenario)
    for i, some in regions.items():
        impossible = [r for r in some if r.chance(odds) * n_regions < FALSE_ALARM]
        if impossible:
            largest = max(impossible, key=lambda r: (r.share, -r.unlabelled))
            yield _finding(largest, table.columns[i], table)


def _finding(region: Region, column: Column, table: Table) -> Finding:
    bound = at_most(region.labelled, region.unlabelled, table.n_labelled, table.n_unlabelled)
    seen = (
        f"Column {shorten(column.name)!r}, {region.words}: {region.labelled:,} labelled and"
        f" {region.unlabelled:,} unlabelled rows, which is {region.share:.0%} of the labelled rows."
        " If labels were a random subset of the positives, at most"
        f" {bound:.2%} of the unlabelled rows could be positive."
    )
    severity = "error" if region.share >= 0.5 else "warning"
    return make("PU001", severity, seen, columns=(column.name,), value=bound)


def _regions(column: Column, table: Table, random: np.random.Generator) -> Iterator[Region]:
    """Regions with enough labelled rows; which they are depends little or not on the labels."""
    least = max(FEWEST, _LEAST_SHARE * table.n_labelled)
    if column.n_values + bool(column.missing.any()) < 2:
        return
    for region in (*_gaps(column, table), *_values(column, table, least), *_spans(column, table)):
        if region.labelled >= least:
            yield region
    yield from _sets(column, table, random)


def _gaps(column: Column, table: Table) -> Iterator[Region]:
    for mask, words in ((column.missing, "where missing"), (~column.missing, "where not missing")):
        if 0 < mask.sum() < len(mask):
            n_p = int((mask & table.positive).sum())
            yield Region(words, n_p, int(mask.sum()) - n_p, n_p / table.n_labelled)


def _values(column: Column, table: Table, least: float) -> Iterator[Region]:
    """The commonest values of labelled rows, each by itself, or where there are few, together."""
    labelled, unlabelled = _counts(column, table)
    top = np.argsort(-labelled, kind="stable")[:_MOST_VALUES]
    for code in top[labelled[top] >= least].tolist():
        n_p, n_u = int(labelled[code]), int(unlabelled[code])
        yield Region(f"where it is {column.show(code)!r}", n_p, n_u, n_p / table.n_labelled)
    pure = np.flatnonzero(labelled > 9 * unlabelled)
    if len(pure) > 1 and column.n_values <= _MOST_VALUES:
        words = "where it is one of " + ", ".join(repr(column.show(code)) for code in pure.tolist())
        n_p, n_u = int(labelled[pure].sum()), int(unlabelled[pure].sum())
        yield Region(words, n_p, n_u, n_p / table.n_labelled, tries=2**column.n_values)


def _spans(column: Column, table: Table) -> Iterator[Region]:
    """Ranges of numbers that end at quantiles of the labelled rows."""
    if column.numbers is None:
        return
    known = ~column.missing
    p = np.sort(column.numbers[known & table.positive])
    u = np.sort(column.numbers[known & ~table.positive])
    if len(p) < FEWEST or p[0] == p[-1]:
        return

    for start, end in _SPANS:
        low = -np.inf if start is None else p[round(start * (len(p) - 1))]
        high = np.inf if end is None else p[round(end * (len(p) - 1))]
        n_p, n_u = (
            int(np.searchsorted(some, high, "right") - np.searchsorted(some, low, "left"))
            for some in (p, u)
        )
        if start is None:
            words = f"up to {_show(column, high)}"
        elif end is None:
            words = f"from {_show(column, low)} up"
        else:
            words = f"from {_show(column, low)} to {_show(column, high)}"
        ends = (start is not None) + (end is not None)
        yield Region(words, n_p, n_u, n_p / table.n_labelled, ends)


def _sets(column: Column, table: Table, random: np.random.Generator) -> Iterator[Region]:
    """Many values, each of which has rows of one kind: found on one half, counted on the other."""
    if not _MOST_VALUES < column.n_values < 0.5 * len(column.codes):
        return
    half = random.random(len(column.codes)) < 0.5
    for side in (half, ~half):
        labelled, unlabelled = _counts(column, table, side)
        pure = np.append((labelled > 0) & (unlabelled == 0), False)  # the last: missing
        among = pure[column.codes] & ~side
        n_p = int((among & table.positive).sum())
        if n_p >= FEWEST:
            words = (
                f"{pure.sum():,} values that in one half of the rows only labelled ones have, seen"
                " in the other half"
            )
            share = n_p / int((table.positive & ~side).sum())
            yield Region(words, n_p, int(among.sum()) - n_p, share)


def _counts(column: Column, table: Table, side: Bools | None = None) -> tuple[Ints, Ints]:
    """Labelled and unlabelled rows of each value."""
    known = ~column.missing if side is None else ~column.missing & side
    labelled, unlabelled = (
        np.bincount(column.codes[known & kind], minlength=column.n_values)
        for kind in (table.positive, ~table.positive)
    )
    return labelled, unlabelled


def _show(column: Column, number: float) -> str:
    return show_day(number) if column.kind == "date" else f"{number:.4g}"
