"""``varpu predict``: score the rows of a table."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import pandas as pd


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
) -> None:
    """Write the probability and the label of every row, in memory that does not grow with them.

    Columns are found by name; further ones are ignored. The result has the id column (or the number
    of the row, from 0), probability, and label: 1 where the probability is above one half.

    Example: varpu predict churn new_customers.parquet --out scored.csv
    """
    from varpu.exceptions import PUInputError
    from varpu.tabular.formats import checked_source, format_of

    format_of(out)
    if out.exists() and not force:
        raise PUInputError(f"{out} exists; --force replaces it")
    checked_source(table)

    import time

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from varpu.tabular import TableModel, TableWriter, table_batches

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
        batches = table_batches(
            table,
            as_text=() if fitted.id is None else (fitted.id,),
            seen=lambda share: bar.update(task, completed=share),
        )
        for batch in _ahead(batches):
            notes = notes or fitted.check(batch)
            scored = fitted.predict(batch, first_row=writer.rows)
            positive += int(scored["label"].sum())
            writer.write(scored)
            bar.update(task, description=f"{writer.rows:,} rows")
        rows = writer.rows
    seconds = time.monotonic() - began
    for note in notes:
        typer.echo(f"note: {note}")
    typer.echo(
        f"{rows:,} rows, {positive:,} of them positive, in {seconds:.1f} s"
        f" ({rows / max(seconds, 1e-9):,.0f} rows/s): {out}"
    )


def _ahead(batches: "Iterator[pd.DataFrame]") -> "Iterator[pd.DataFrame]":
    """The next batch is read while one is scored, as reading has no use for a second core."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, batches, None)
            yield batch
