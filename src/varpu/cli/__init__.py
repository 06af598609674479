"""The ``varpu`` command: one file a command, and nothing heavy imported before it is needed."""

import sys
from typing import Annotated

import typer

from varpu import __version__
from varpu.cli import check, data, demo, fit, paper, predict, report
from varpu.exceptions import VarpuError

__all__ = ["app", "main"]

app = typer.Typer(
    name="varpu",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.command()(fit.fit)
app.command()(predict.predict)
app.command()(check.check)
app.command()(report.report)
app.add_typer(data.app, name="data")
app.add_typer(paper.app, name="paper")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"varpu {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Learn a classifier from positives and unlabelled data, without knowing the class prior."""


def main() -> None:
    """Run the command; an error of ours is one line on stderr and exit code 2."""
    try:
        app(prog_name="varpu")
    except VarpuError as error:
        print("varpu:", " ".join(str(error).split()), file=sys.stderr)
        sys.exit(2)
