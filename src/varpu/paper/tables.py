"""An experiment's table as Markdown for people and as CSV for programs."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from varpu.exceptions import PUInputError
from varpu.paper.comparing import Entry, Measured, entries, fault_entries
from varpu.paper.loading import experiment
from varpu.paper.results import FOLDER, Store
from varpu.paper.specs import Experiment, Fault, Unmeasured

__all__ = [
    "FORMATS",
    "cell_text",
    "gaps",
    "grid",
    "markdown",
    "markdown_table",
    "ours_text",
    "remarks_of",
    "show",
]

FORMATS = ("markdown", "csv")
SEEDS = 10  # the paper's; another number is said
HEADER = (
    *("experiment", "row_key", "row", "column_key", "column", "metric", "paper", "paper_std"),
    *("ours", "ours_std", "seeds", "difference", "verdict"),
)
UNTRAINED = ("properties", "weights")
MISSING = "not measured yet"
LEGEND = (
    "Each cell: the paper / ours (the difference; *agree*: our mean is within the paper's ±;"
    " *overlap*: only the intervals mean ± standard deviation overlap)."
)
PLAIN_LEGEND = "Each cell: the paper / ours (whether they agree)."


def show(name: str, format: str = "markdown", results: str | Path = FOLDER) -> str:
    """An experiment's table: the paper's values, ours, the difference and a verdict.

    Parameters
    ----------
    name : str
        An experiment, such as ``"table2"``.
    format : {"markdown", "csv"}, default "markdown"
        CSV has one line a cell.
    results : path, default "results/paper"
        The folder of results.

    Returns
    -------
    str
        It ends in a line break.
    """
    if format not in FORMATS:
        raise PUInputError(f"format is {' or '.join(FORMATS)}; got {format!r}")
    found, store = experiment(name), Store(results)
    if format == "csv":
        return _csv(found, entries(found, store))
    return f"# {found.title}: {found.caption}\n\n{markdown(found, store)}"


def markdown(experiment: Experiment, store: Store) -> str:
    """The table and what is to be said about it, without a heading."""
    if experiment.kind == "faults":
        parts = [part for fault in experiment.faults for part in _fault_parts(fault, store)]
    else:
        found = entries(experiment, store)
        parts = [markdown_table(*grid(experiment, found))]
        if any(entry.paper for entry in found):
            parts.append(PLAIN_LEGEND if experiment.kind in UNTRAINED else LEGEND)
        for gap in gaps(experiment, found):
            commands = "\n".join(gap.commands)
            parts.append(f"{gap.reason} To fill its cells:\n\n```sh\n{commands}\n```")
    if experiment.notes:
        parts.append(experiment.notes)
    return "\n\n".join(parts) + "\n"


def gaps(experiment: Experiment, found: Iterable[Entry]) -> list[Unmeasured]:
    """The tasks that cannot be had, unless they were measured after all."""
    lacking = {entry.column_key for entry in found if entry.ours is None}
    return [gap for gap in experiment.unmeasured if lacking & set(gap.tasks)]


def grid(
    experiment: Experiment,
    found: Sequence[Entry],
    text: Callable[[Experiment, Entry], str] | None = None,
) -> tuple[list[str], list[list[str]]]:
    """Header and lines of the table; the longer of its two sides runs down."""
    cells = {(e.row_key, e.column_key): (text or cell_text)(experiment, e) for e in found}
    down, across = experiment.rows, experiment.columns
    if len(across) > len(down):
        lines = [
            [column.label, *(cells[row.name, column.key] for row in down)] for column in across
        ]
        return ["", *(row.label for row in down)], lines
    lines = [[row.label, *(cells[row.name, column.key] for column in across)] for row in down]
    return ["", *(column.label for column in across)], lines


def cell_text(experiment: Experiment, entry: Entry) -> str:
    """``93.6 ± 0.4 / 93.8 ± 0.5 (+0.2, agree)``, or as much of it as there is."""
    ours = ours_text(experiment, entry)
    remarks = ", ".join(remarks_of(experiment, entry))
    if remarks:
        ours += f" ({remarks})"
    return f"{entry.paper.text} / {ours}" if entry.paper else ours


def ours_text(experiment: Experiment, entry: Entry) -> str:
    """Our part of a cell, without remarks."""
    if entry.ours is None:
        return "–" if entry.awaited else MISSING
    if experiment.kind == "properties":
        return "yes" if entry.ours.mean else "no"
    if experiment.kind == "weights":
        return f"{entry.ours.mean:g}"
    return _value(entry.ours, experiment.digits)


def _value(ours: Measured, digits: int) -> str:
    return f"{ours.mean:.{digits}f} ± {ours.std or 0.0:.{digits}f}"


def remarks_of(experiment: Experiment, entry: Entry) -> list[str]:
    """Difference, verdict, and the seeds if they are not the paper's ten."""
    remarks = []
    if entry.paper and entry.ours:
        if experiment.kind not in UNTRAINED:
            # Of the numbers as they are shown, so that a reader's own sum comes out.
            shown = round(entry.ours.mean, experiment.digits) - entry.paper.mean
            remarks.append(_signed(shown, experiment.digits))
        remarks.append(entry.verdict)
    if entry.ours and entry.ours.seeds not in (None, SEEDS):
        remarks.append(_seeds(entry.ours))
    return remarks


def _signed(value: float, digits: int) -> str:
    return f"{round(value, digits) + 0.0:+.{digits}f}"  # adding nought takes its sign away


def _seeds(ours: Measured) -> str:
    return "1 seed" if ours.seeds == 1 else f"{ours.seeds} seeds"


def _fault_parts(fault: Fault, store: Store) -> list[str]:
    found = list(fault_entries(fault, store))
    lines = []
    for case, published, mended in zip(fault.cases, found[::2], found[1::2], strict=True):
        line = [f"{case.label}, λ = {case.lam:g}" if case.lam else case.label]
        for entry in (published, mended):
            if entry.ours is None:
                line.append(MISSING)
                continue
            seeds = "" if entry.ours.seeds == SEEDS else f" ({_seeds(entry.ours)})"
            line.append(_value(entry.ours, 1) + seeds)
        difference = MISSING
        if published.ours and mended.ours:
            difference = _signed(round(published.ours.mean, 1) - round(mended.ours.mean, 1), 1)
        lines.append([*line, difference])
    table = markdown_table(["", *fault.columns, "difference"], lines)
    return [f"### {fault.title}", fault.text, table]


def markdown_table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _csv(experiment: Experiment, found: Iterable[Entry]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(HEADER)
    for entry in found:
        paper, ours = entry.paper, entry.ours
        writer.writerow(
            [
                *(experiment.name, entry.row_key, entry.row, entry.column_key, entry.column),
                "" if experiment.kind in UNTRAINED else experiment.metric,
                *((paper.mean, paper.std) if paper else (None, None)),
                *_numbers(ours),
                _rounded(entry.difference),
                entry.verdict,
            ]
        )
    return buffer.getvalue()


def _numbers(ours: Measured | None) -> list[float | None]:
    return [_rounded(ours.mean), _rounded(ours.std), ours.seeds] if ours else [None] * 3


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
