"""``varpu demo``: see it work."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    seed: Annotated[int, typer.Option(min=0, help="Decides everything that is random.")] = 0,
    out: Annotated[Path, typer.Option(help="Where the report goes; .html, .json or .md.")] = Path(
        "varpu-demo-report.html"
    ),
) -> None:
    """Learn from positives and unlabelled points, show what was found, and write a report.

    Example: varpu demo --out digits.html
    """
    from varpu._demo import run_demo

    run_demo(seed=seed, out=out)
