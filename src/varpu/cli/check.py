"""``varpu check``: is this PU data in trouble?"""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from varpu.diagnosis import Finding

_COLOURS = {"error": "bold red", "warning": "bold yellow", "note": "bold blue"}


class Scenario(StrEnum):
    """Where labelled rows come from."""

    single_set = "single-set"
    case_control = "case-control"


class Format(StrEnum):
    """How findings are shown."""

    text = "text"
    json = "json"


def check(
    table: Annotated[
        Path,
        typer.Argument(
            help="CSV, TSV (compressed too), Parquet, Arrow or JSON lines.", show_default=False
        ),
    ],
    label: Annotated[
        str, typer.Option(help="The column that marks labelled rows; empty is unlabelled.")
    ],
    positive: Annotated[
        str | None, typer.Option(help="The value that marks labelled rows, if there are others.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="A column to leave out; may be given again.")
    ] = None,
    scenario: Annotated[
        Scenario, typer.Option(help="Whether labelled rows are part of the sample, or separate.")
    ] = Scenario.single_set,
    format_: Annotated[
        Format, typer.Option("--format", help="Text for people, or JSON for programs.")
    ] = Format.text,
    seed: Annotated[int, typer.Option(min=0, help="Decides everything that is random.")] = 0,
) -> None:
    """Look for trouble in a table of labelled positives and unlabelled rows.

    Exit code: 0 if there is no error, 1 if there is one, 2 if the table could not be read.

    Example: varpu check patients.csv --label diagnosed --drop patient_id
    """
    from varpu.diagnosis import check_pu
    from varpu.exceptions import PUInputError
    from varpu.tabular.labels import find_column, read_labels
    from varpu.tabular.reading import read_table

    frame = read_table(table)
    names = [str(name) for name in frame.columns]
    at = names.index(find_column(label, names, "label"))
    labels, _, _ = read_labels(frame.iloc[:, at], positive)
    barred = {find_column(name, names, "option --drop") for name in drop or []}
    kept = frame.loc[:, [i != at and name not in barred for i, name in enumerate(names)]]
    if kept.shape[1] == 0:
        raise PUInputError("no column is left to look at beside the label")
    findings = check_pu(kept, labels, scenario=scenario.value, random_state=seed)
    if format_ is Format.json:
        found = [finding.to_dict() for finding in findings]
        summary = {"rows": len(kept), "columns": kept.shape[1], "labelled": int(labels.sum())}
        # ASCII only, so that any terminal or pipe can take it.
        typer.echo(json.dumps({"table": str(table), **summary, "findings": found}, indent=2))
    else:
        counts = f"{len(kept):,} rows, {kept.shape[1]:,} columns, {int(labels.sum()):,} labelled"
        _show(findings, f"{table.name}: {counts}")
    if any(finding.severity == "error" for finding in findings):
        raise typer.Exit(1)


def _show(findings: list["Finding"], heading: str) -> None:
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(_plain(heading)))
    for finding in findings:
        console.print()
        title = Text.assemble(
            (finding.severity, _COLOURS[finding.severity]),
            (f" {finding.code} ", "bold"),
            finding.title,
        )
        console.print(title)
        for word, text in (
            ("seen", finding.seen + _rows(finding)),
            ("why", finding.why),
            ("do", finding.todo),
        ):
            line = Text.assemble((f"{word}: ", "dim"), _plain(text))
            console.print(Padding(line, (0, 0, 0, 2), expand=False))
    console.print()
    console.print(Text(_count(findings)))


def _rows(finding: "Finding") -> str:
    rows = ", ".join(f"{row:,}" for row in finding.rows)
    return f" Rows, counted from 0: {rows}." if rows else ""


def _count(findings: list["Finding"]) -> str:
    if not findings:
        return "Nothing was found."
    parts = []
    for severity in _COLOURS:
        n = sum(finding.severity == severity for finding in findings)
        parts += [f"{n} {severity}{'s' if n > 1 else ''}"] if n else []
    return ", ".join(parts) + "."


def _plain(text: str) -> str:
    """Without the characters that steer a terminal: names and values come from the table."""
    return "".join(c if c.isprintable() else "�" for c in text)
