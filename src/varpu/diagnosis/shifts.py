"""Gaps and dates that differ between labelled and unlabelled rows."""

from collections.abc import Iterator

import numpy as np
from scipy import stats

from varpu.diagnosis.chance import FALSE_ALARM, FEWEST
from varpu.diagnosis.codes import make
from varpu.diagnosis.finding import Finding
from varpu.diagnosis.table import Floats, Table, shorten, show_day

# Smaller differences do little harm, and with many rows would all be significant.
_LEAST_DIFFERENCE = 0.05
_LEAST_DISTANCE = 0.3


def gaps(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU008, by Fisher's exact test; all columns with gaps share one chance of a false alarm."""
    columns = [c for c in table.columns if 0 < c.missing.sum() < table.n_rows]
    for column in columns:
        in_p = int((column.missing & table.positive).sum())
        in_u = int((column.missing & ~table.positive).sum())
        share_p, share_u = in_p / table.n_labelled, in_u / table.n_unlabelled
        if abs(share_p - share_u) < _LEAST_DIFFERENCE:
            continue
        cells = [[in_p, table.n_labelled - in_p], [in_u, table.n_unlabelled - in_u]]
        if stats.fisher_exact(cells).pvalue * len(columns) < FALSE_ALARM:
            seen = (
                f"Column {shorten(column.name)!r} is missing in {share_p:.1%} of the labelled and"
                f" {share_u:.1%} of the unlabelled rows."
            )
            value = share_p - share_u
            yield make("PU008", "warning", seen, columns=(column.name,), value=value)


def periods(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU015, by the test of Kolmogorov and Smirnov."""
    columns = [column for column in table.columns if column.kind == "date"]
    for column in columns:
        assert column.numbers is not None
        days = [
            column.numbers[~column.missing & kind] for kind in (table.positive, ~table.positive)
        ]
        if min(map(len, days)) < FEWEST:
            continue
        result = stats.ks_2samp(*days, method="asymp")
        if result.statistic < _LEAST_DISTANCE or result.pvalue * len(columns) >= FALSE_ALARM:
            continue
        spans = [_span(kind) for kind in days]
        seen = (
            f"Column {shorten(column.name)!r}: nine in ten labelled rows are from {spans[0]}, and"
            f" nine in ten unlabelled ones from {spans[1]}."
        )
        value = float(result.statistic)
        yield make("PU015", "warning", seen, columns=(column.name,), value=value)


def _span(days: Floats) -> str:
    low, high = np.quantile(days, [0.05, 0.95])
    return f"{show_day(low)} to {show_day(high)}"
