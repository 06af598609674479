"""``varpu demo``: see it work."""

from typing import Annotated

import typer


def demo(
    seed: Annotated[int, typer.Option(min=0, help="Decides everything that is random.")] = 0,
) -> None:
    """Learn from positives and unlabelled points, and show what was found."""
    from varpu._demo import run_demo

    run_demo(seed=seed)
