"""``varpu report``: a page about a fitted model."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

    from varpu.report import PUReport


def report(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="The folder that fit wrote, or a .varpu file."),
    ],
    out: Annotated[
        Path, typer.Option(metavar="REPORT", help="The file to write: .html, .json or .md.")
    ],
    table: Annotated[
        Path | None,
        typer.Argument(
            metavar="TABLE",
            help="The table of the fit, or another with labels. Without it no row is ranked.",
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Marks the positives; a folder knows its own."),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(metavar="VALUE", help="Its value for positives.")
    ] = None,
    id: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Names the rows.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title of the report.")] = None,
    max_rows: Annotated[int, typer.Option(min=1, help="How many rows to rank.")] = 10_000,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Write a report: how many unlabelled rows are positive, which, and whether to believe it.

    The page is one file that fetches nothing. If TABLE is the one of the fit, every row is scored
    by models that did not see it.

    Example: varpu report churn customers.csv --out churn.html
    """
    from varpu.exceptions import PUInputError
    from varpu.report.report import check_place

    check_place(out)
    if out.exists() and not force:
        raise PUInputError(f"{out} exists; --force replaces it")
    if model.is_file():
        if table is None or label is None:
            raise PUInputError(
                f"{model} is a file, and says nothing of rows: give TABLE and --label"
            )
        made = _of_file(model, table, label, positive, id, title, max_rows)
    else:
        made = _of_folder(model, table, label, positive, id, title, max_rows)
    made.save(out)
    typer.echo(made.to_dict()["answer"])
    typer.echo(f"The report: {out}")


def _of_folder(
    model: Path,
    table: Path | None,
    label: str | None,
    positive: str | None,
    id: str | None,
    title: str | None,
    max_rows: int,
) -> "PUReport":
    from varpu.report import PUReport
    from varpu.tabular import TableModel

    fitted = TableModel.load(model)
    notes = [str(note) for note in fitted.summary.get("warnings", [])]
    command = f"varpu report {shlex.quote(model.name)}"
    if table is None:
        return PUReport(
            fitted.classifier,
            None,
            fitted.classifier.classes_[fitted.labelled.astype(int)],
            title=title,
            max_rows=max_rows,
            notes=notes,
            command=f"{command} --out report.html",
        )
    frame, labels, ids = _rows(
        table, label or fitted.label, positive or fitted.positive, id or fitted.id
    )
    X = fitted.encoder.transform(frame)
    return PUReport(
        fitted.classifier,
        X,
        fitted.classifier.classes_[labels.astype(int)],
        ids=ids,
        findings=_findings(frame, labels, fitted.classifier),
        title=title,
        max_rows=max_rows,
        notes=notes,
        show=frame,
        command=f"{command} {shlex.quote(table.name)} --out report.html",
    )


def _of_file(
    model: Path,
    table: Path,
    label: str,
    positive: str | None,
    id: str | None,
    title: str | None,
    max_rows: int,
) -> "PUReport":
    from varpu import load
    from varpu.exceptions import PUInputError
    from varpu.report import PUReport

    classifier = load(model)
    frame, labels, ids = _rows(table, label, positive, id)
    wanted = getattr(classifier, "feature_names_in_", None)
    if wanted is None:
        if frame.shape[1] != classifier.n_features_in_:
            raise PUInputError(
                f"{model} wants {classifier.n_features_in_} columns, {table} has {frame.shape[1]}"
                " beside the label and the id"
            )
        X: Any = frame.to_numpy()
    else:
        missing = [str(name) for name in wanted if name not in frame.columns]
        if missing:
            raise PUInputError(f"{table} has no column {missing[0]!r}, which {model} wants")
        X = frame[list(wanted)]
    return PUReport(
        classifier,
        X,
        classifier.classes_[labels.astype(int)],
        ids=ids,
        title=title,
        max_rows=max_rows,
        command=shlex.join(
            ["varpu", "report", model.name, table.name, "--label", label, "--out", "report.html"]
        ),
    )


def _rows(
    table: Path, label: str, positive: str | None, id: str | None
) -> tuple["pd.DataFrame", Any, Any]:
    """The columns to learn from, which rows are labelled, and ids if there are any."""
    from varpu.tabular import read_table
    from varpu.tabular.labels import find_column, read_labels

    frame = read_table(table, as_text=() if id is None else (id,))
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    names = list(frame.columns)
    labels, _, _ = read_labels(frame[find_column(label, names, "label")], positive)
    ids = None if id is None else frame[find_column(id, names, "id")].to_numpy()
    return frame.drop(columns=[label] if id is None else [label, id]), labels, ids


def _findings(frame: "pd.DataFrame", labels: Any, classifier: Any) -> list[Any] | None:
    """What the check says of the table as it is, before columns are made into numbers."""
    from varpu.diagnosis import check_pu
    from varpu.exceptions import VarpuError

    try:
        return list(check_pu(frame, labels, scenario=classifier.scenario))
    except VarpuError:  # the model could take it, so a report can be made
        return None
