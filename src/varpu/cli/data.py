"""``varpu data``: the data sets of the paper."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from varpu.datasets.registry import Entry

app = typer.Typer(no_args_is_help=True, help="List, get and check the data sets of the paper.")

_NAMES = "Names of data sets, as in the list."


@app.command("list")
def list_() -> None:
    """List the data sets and the folder in which each was found.

    Example: varpu data list
    """
    from rich.console import Console
    from rich.filesize import decimal
    from rich.table import Table

    from varpu.datasets.registry import DATASETS

    table = Table("name", box=None, pad_edge=False)
    table.add_column("rows", justify="right")
    table.add_column("size", justify="right")
    table.add_column("found in", overflow="fold")
    for entry in DATASETS.values():
        table.add_row(entry.name, f"{entry.rows:,}", decimal(entry.size), _where(entry))
    console = Console()
    if not console.is_terminal:
        console.width = 1000  # a path is not broken in a pipe
    console.print(table)


@app.command()
def get(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help=_NAMES)] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Get all that can be downloaded: 3 GB to transfer.")
    ] = False,
) -> None:
    """Download data sets to the cache, unless they are found, and check them.

    Example: varpu data get page_blocks avila
    """
    from varpu.datasets.files import fetch
    from varpu.datasets.registry import DATASETS, lookup
    from varpu.exceptions import DatasetError, PUInputError

    if everything == bool(names):
        raise PUInputError("name the data sets to get, or say --all; varpu data list shows them")
    entries = [lookup(name) for name in names or ()]
    if everything:
        entries = [entry for entry in DATASETS.values() if all(file.url for file in entry.files)]
    failures = []
    for entry in entries:
        try:
            fetch(entry)
        except DatasetError as error:
            failures.append(str(error))
        else:
            typer.echo(f"{entry.name}: in {_where(entry)}")
    if failures:
        raise DatasetError("; ".join(failures))


@app.command()
def verify(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help=_NAMES)] = None,
) -> None:
    """Check the files of all or of some data sets; the exit code is 1 if one is damaged.

    Example: varpu data verify avila
    """
    from varpu.datasets.folders import find
    from varpu.datasets.registry import DATASETS, lookup
    from varpu.datasets.verify import damage

    damaged = False
    for entry in map(lookup, names or DATASETS):
        for file in entry.files:
            path = find(file)
            wrong = damage(path, file) if path else None
            damaged = damaged or wrong is not None
            state = "missing" if path is None else f"damaged: {wrong}" if wrong else "ok"
            typer.echo(f"{path or file.path}: {state}")
    if damaged:
        raise typer.Exit(1)


def _where(entry: "Entry") -> str:
    """The folders that hold its files, or how many of them are there."""
    from varpu.datasets.folders import find

    found = [(file, path) for file in entry.files if (path := find(file)) is not None]
    if not found:
        return "absent"
    # Below the data folder a file is as deep as its relative path says.
    folders = dict.fromkeys(str(path.parents[file.path.count("/")]) for file, path in found)
    part = f" ({len(found)} of {len(entry.files)} files)" if len(found) < len(entry.files) else ""
    return ", ".join(folders) + part
