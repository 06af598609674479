"""How many rows are labelled."""

from collections.abc import Iterator

from varpu.diagnosis.codes import make
from varpu.diagnosis.finding import Finding
from varpu.diagnosis.table import Table

_TOO_FEW = 20
_FEW = 100


def few_positives(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU003."""
    if (n := table.n_labelled) < _FEW:
        severity = "error" if n < _TOO_FEW else "warning"
        seen = f"{n} of {table.n_rows:,} rows are labelled."
        yield make("PU003", severity, seen, value=float(n))


def few_unlabelled(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU012."""
    if table.n_labelled > table.n_unlabelled:
        share = table.n_labelled / table.n_rows
        seen = (
            f"{table.n_labelled:,} rows are labelled, {table.n_unlabelled:,} are not:"
            f" {share:.0%} of all."
        )
        yield make("PU012", "note", seen, value=share)
