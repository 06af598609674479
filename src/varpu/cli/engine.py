"""Where a command does its work: the options that several commands share."""

from typing import Annotated

import typer

ENGINES = ("local", "ray")

Engine = Annotated[str, typer.Option(help="local, or ray: this machine's cores, or a cluster.")]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="A Ray cluster to join, or auto; by default RAY_ADDRESS, or this machine.",
    ),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Ray tasks side by side; by default one a core.")
]


def check_engine(engine: str, address: str | None, workers: int | None) -> None:
    """Refuse an unknown engine, one that is not installed, and options that it would not use."""
    from varpu.checks import one_of
    from varpu.exceptions import PUInputError, require_extra

    one_of("--engine", engine, ENGINES)
    if engine == "ray":
        require_extra("ray")
    elif address is not None or workers is not None:
        raise PUInputError("--address and --workers are for --engine ray")
