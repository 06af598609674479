"""``varpu paper``: every table and figure of the paper."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from varpu.cli.engine import Address, Engine, Workers, check_engine

if TYPE_CHECKING:
    from varpu.paper import Outcome

FOLDER = Path("results") / "paper"

app = typer.Typer(
    no_args_is_help=True,
    help="Run the paper's experiments, and show our numbers beside the paper's.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Name = Annotated[str, typer.Argument(help="A table or figure, or all; see varpu paper list.")]
Names = Annotated[
    list[str], typer.Argument(help="Tables or figures, or all; see varpu paper list.")
]
Results = Annotated[Path, typer.Option(help="The folder of results.")]


@app.callback()
def _options(
    plugin: Annotated[
        list[Path] | None,
        typer.Option(help="A Python file that registers methods, tasks or experiments of yours."),
    ] = None,
) -> None:
    if plugin:
        from varpu.paper import load_plugin

        for file in plugin:
            load_plugin(file)


@app.command(name="list")
def list_() -> None:
    """List the tables and figures.

    Example: varpu paper list
    """
    from varpu.paper import experiment, names

    found = [experiment(name) for name in names()]
    width = max(len(one.name) for one in found)
    for one in found:
        typer.echo(f"{one.name:<{width}}  {one.caption}")


@app.command()
def run(
    names: Names,
    methods: Annotated[
        list[str] | None, typer.Option(help="Only these methods, such as vpu,nnpu.")
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(help="Only these data sets (avila) or tasks (avila_1)."),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0 to this less one.")] = 10,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda...")] = "auto",
    jobs: Annotated[int, typer.Option(min=1, help="Fits side by side, where a method can.")] = 1,
    quick: Annotated[
        bool, typer.Option("--quick", help="A short training, to see it work; kept apart.")
    ] = False,
    results: Results = FOLDER,
    engine: Engine = "local",
    address: Address = None,
    workers: Workers = None,
) -> None:
    """Run what is missing of tables or figures; stopped, it goes on where it was.

    With --engine ray cells run side by side on a Ray cluster, to the same numbers. Data sets and
    plugins must be readable under the same path by all its machines; results are written here.

    Example: varpu paper run table2 --data avila --methods vpu --seeds 1 --quick
    """
    check_engine(engine, address, workers)
    from varpu.paper import run as run_experiment
    from varpu.paper.naming import split

    start = time.monotonic()
    try:
        outcome = run_experiment(
            names,
            split(methods),
            split(data),
            seeds,
            device=device,
            jobs=jobs,
            quick=quick,
            results=results,
            engine=engine,
            address=address,
            workers=workers,
        )
    except KeyboardInterrupt:
        typer.echo("Stopped. What was done is kept; the same command goes on from there.", err=True)
        raise typer.Exit(130) from None
    _tell(outcome, names[0], time.monotonic() - start)


def _tell(outcome: "Outcome", name: str, seconds: float) -> None:
    for cell, why in outcome.failed.items():
        typer.echo(f"\n{cell.method} on {cell.task} failed:\n{why}", err=True)
    for task, why in outcome.skipped.items():
        typer.echo(f"{task} was skipped: {' '.join(why.split())}", err=True)
    rest = f", {len(outcome.failed)} cells failed" if outcome.failed else ""
    typer.echo(
        f"{outcome.done} seeds run in {seconds:.0f} s{rest}. To see the table:"
        f" varpu paper show {name}"
    )
    if outcome.failed:
        raise typer.Exit(1)


@app.command()
def show(
    name: Name,
    format: Annotated[
        str | None, typer.Option(help="markdown or csv; by default a table on a terminal.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Show the results of --quick.")] = False,
    results: Results = FOLDER,
) -> None:
    """Show the paper's values, ours, the difference, and whether they agree.

    Example: varpu paper show table2 --format csv
    """
    from varpu.paper import experiment, names
    from varpu.paper import show as show_experiment
    from varpu.paper.running import store_for

    store = store_for(results, quick)
    for i, one in enumerate(names() if name == "all" else [name]):
        if format is None and sys.stdout.isatty():
            from rich.console import Console

            from varpu.paper.terminal import print_table

            print_table(experiment(one), store, Console())
            continue
        text = show_experiment(one, format or "markdown", store.folder)
        if i:  # one heading for a table of many experiments, one empty line between texts
            text = text.split("\n", 1)[1] if format == "csv" else f"\n{text}"
        typer.echo(text, nl=False)


@app.command()
def figures(
    names: Annotated[
        list[str] | None, typer.Argument(help="Figures; by default all of them.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder for the files; by default among the results.")
    ] = None,
    results: Results = FOLDER,
) -> None:
    """Draw the figures from the results.

    Example: varpu paper figures figure2 figure3 --out figures
    """
    from varpu.paper import draw_figures

    drawn = draw_figures(names or None, results, out)
    for path in drawn:
        typer.echo(path)
    if not drawn:
        typer.echo("Nothing to draw: run varpu paper run figure2 first.", err=True)


@app.command()
def page(
    out: Annotated[Path, typer.Option(help="The file for the page.")] = (
        Path("docs") / "reproduction.md"
    ),
    results: Results = FOLDER,
) -> None:
    """Write the page with all tables and figures.

    Example: varpu paper page --out reproduction.md
    """
    from varpu.paper import write_page

    for path in write_page(out, results):
        typer.echo(path)
