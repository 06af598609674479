"""``varpu predict``: score the rows of a table."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from varpu.cli.engine import Address, Engine, Workers, check_engine

if TYPE_CHECKING:
    import pandas as pd

    from varpu.tabular import TableModel
    from varpu.tabular.reading import Seen


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder that fit wrote.")],
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="CSV, TSV or JSON lines (also .gz, .bz2, .xz, .zst), Parquet, Arrow or Feather.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="SCORED", help="The table to write, in any of these formats.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    engine: Engine = "local",
    address: Address = None,
    workers: Workers = None,
) -> None:
    """Write the probability and the label of every row, in memory that does not grow with them.

    Columns are found by name; further ones are ignored. The result has the id column (or the number
    of the row, from 0), probability, and label: 1 where the probability is above one half.

    With --engine ray the rows are scored by a Ray cluster, with the same result. All its machines
    must be able to read MODEL and TABLE under the same path; SCORED is written by this one.

    Example: varpu predict churn new_customers.parquet --out scored.csv
    """
    from varpu.exceptions import PUInputError
    from varpu.tabular.formats import checked_source, format_of

    check_engine(engine, address, workers)
    format_of(out)
    if out.exists() and not force:
        raise PUInputError(f"{out} exists; --force replaces it")
    checked_source(table)

    import time

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from varpu.tabular import TableModel, TableWriter

    fitted = TableModel.load(model)
    console = Console(stderr=True)
    bar = Progress(
        TextColumn("{task.completed:.0%}"),
        BarColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    began = time.monotonic()
    positive = 0
    notes: list[str] = []
    with TableWriter(out) as writer, bar:
        task = bar.add_task("", total=1.0)

        def seen(share: float) -> None:
            bar.update(task, completed=share)

        if engine == "ray":
            scored = _on_ray(fitted, model, table, notes, seen, address, workers)
        else:
            scored = _here(fitted, table, notes, seen)
        for batch in scored:
            positive += int(batch["label"].sum())
            writer.write(batch)
            bar.update(task, description=f"{writer.rows:,} rows")
        rows = writer.rows
    seconds = time.monotonic() - began
    for note in notes:
        typer.echo(f"note: {note}")
    typer.echo(
        f"{rows:,} rows, {positive:,} of them positive, in {seconds:.1f} s"
        f" ({rows / max(seconds, 1e-9):,.0f} rows/s): {out}"
    )


def _here(
    fitted: "TableModel", table: Path, notes: list[str], seen: "Seen"
) -> "Iterator[pd.DataFrame]":
    from varpu.scaleout.ahead import ahead
    from varpu.tabular import table_batches

    rows = 0
    as_text = () if fitted.id is None else (fitted.id,)
    # Reading has no use for a second core, so it goes on while rows are scored.
    for batch in ahead(table_batches(table, as_text=as_text, seen=seen)):
        if not rows:
            notes[:] = fitted.check(batch)
        yield fitted.predict(batch, first_row=rows)
        rows += len(batch)


def _on_ray(
    fitted: "TableModel",
    model: Path,
    table: Path,
    notes: list[str],
    seen: "Seen",
    address: str | None,
    workers: int | None,
) -> "Iterator[pd.DataFrame]":
    from contextlib import closing

    from varpu.scaleout.ray_joining import ray_cluster
    from varpu.scaleout.ray_predict import scored_batches
    from varpu.tabular import table_batches

    as_text = () if fitted.id is None else (fitted.id,)
    # One row of it here: a table that the model cannot score is refused before Ray is started.
    batches: Any = table_batches(table, 1, as_text=as_text)
    with closing(batches):
        first = next(batches)
    notes[:] = fitted.check(first)
    scored = fitted.predict(first)
    if not len(first):
        yield scored
        return
    with ray_cluster(address, workers) as side_by_side:
        yield from scored_batches(model, table, as_text=as_text, workers=side_by_side, seen=seen)
