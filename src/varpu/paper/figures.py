"""Figures from results: lines with bands, and the images that a generator makes."""

import base64
import binascii
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from varpu.exceptions import PUInputError
from varpu.paper.comparing import entries
from varpu.paper.loading import experiment, names
from varpu.paper.results import FOLDER, ResultFileError, Run, Store
from varpu.paper.specs import Cell, Experiment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "draw_figures", "drawable"]

KINDS = {"lines": ".svg", "samples": ".png"}
# Told apart in black and white by markers and dashes, and in colour by colours that everyone sees.
STYLES = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#009E73", "^", "-."),
    ("#CC79A7", "D", ":"),
    ("#000000", "v", (0, (5, 1, 1, 1))),
    ("#E69F00", "P", (0, (1, 1))),
    ("#56B4E9", "X", (0, (3, 1))),
)
AXES = {"accuracy": "test accuracy (%)", "auc": "area under the ROC curve", "prior": "class prior"}


def draw_figures(
    wanted: Iterable[str] | None = None,
    results: str | Path = FOLDER,
    out: str | Path | None = None,
) -> list[Path]:
    """Draw figures from the results that are there.

    Parameters
    ----------
    wanted : iterable of str, optional
        Experiments, such as ``["figure2"]``; by default all that are figures.
    results : path, default "results/paper"
        The folder of results.
    out : path, optional
        The folder for the files, which is made; by default ``figures`` among the results.

    Returns
    -------
    list of Path
        The files; a figure of which nothing is measured has none.
    """
    found = [experiment(name) for name in (names() if wanted is None else wanted)]
    if wanted is None:
        found = [one for one in found if one.kind in KINDS]
    store = Store(results)
    folder = Path(results) / "figures" if out is None else Path(out)
    drawn = [draw(one, store, folder) for one in found]
    return [path for path in drawn if path is not None]


def drawable(experiment: Experiment, store: Store) -> bool:
    """Whether it is a figure and something of it is measured."""
    if experiment.kind == "samples":
        return any(_samples(store, cell) for cell in experiment.cells())
    return experiment.kind in KINDS and any(e.ours for e in entries(experiment, store))


def draw(experiment: Experiment, store: Store, out: Path) -> Path | None:
    """Draw one figure into a folder; None if nothing of it is measured."""
    if experiment.kind not in KINDS:
        raise PUInputError(f"{experiment.name} is no figure, but a {experiment.kind}")
    if not drawable(experiment, store):
        return None
    from matplotlib import rc_context

    # The same numbers give the same file.
    with rc_context({"svg.hashsalt": "varpu", "font.size": 9}):
        made = (_lines if experiment.kind == "lines" else _images)(experiment, store)
        out.mkdir(parents=True, exist_ok=True)
        path = out / f"{experiment.name}{KINDS[experiment.kind]}"
        metadata = {"Date": None} if path.suffix == ".svg" else {"Software": None}
        made.savefig(path, metadata=metadata, dpi=120)
    return path


def _lines(experiment: Experiment, store: Store) -> "Figure":
    """Mean by x, with a band of one deviation."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    places = {column.key: column.x for column in experiment.columns}
    found = entries(experiment, store)
    for i, row in enumerate(experiment.rows):
        points = [
            (places[e.column_key], e.ours.mean, e.ours.std or 0.0)
            for e in found
            if e.row_key == row.name and e.ours is not None
        ]
        if not points:
            continue
        x, mean, std = zip(*points, strict=True)
        colour, marker, dashes = STYLES[i % len(STYLES)]
        axes.plot(
            x, mean, color=colour, marker=marker, markersize=5, linestyle=dashes, label=row.label
        )
        low, high = zip(*((m - s, m + s) for m, s in zip(mean, std, strict=True)), strict=True)
        axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_xlabel(experiment.x_label)
    axes.set_ylabel(AXES.get(experiment.metric, experiment.metric))
    axes.set_xticks([column.x for column in experiment.columns if column.x is not None])
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure


def _images(experiment: Experiment, store: Store) -> "Figure":
    """The images of the two generators side by side, and the classes among them."""
    from matplotlib.figure import Figure

    cell = next(cell for cell in experiment.cells() if _samples(store, cell))
    samples = _samples(store, cell)
    figure = Figure(figsize=(8.0, 4.8), layout="constrained")
    shares: dict[str, Any] = samples.get("classes") or {}
    for axes, side in zip(figure.subplots(1, 2), ("positive", "negative"), strict=True):
        axes.imshow(_picture(samples[side], store, cell), cmap="gray")
        axes.set_title(f"made as {side}")
        axes.set_axis_off()
        if shares.get(side):
            parts = sorted(shares[side].items(), key=lambda part: -part[1])
            said = [f"{name} {100 * share:.0f}%" for name, share in parts if share >= 0.005]
            lines = [", ".join(said[i : i + 3]) for i in range(0, len(said), 3)]
            axes.text(0.5, -0.02, "\n".join(lines), transform=axes.transAxes, ha="center", va="top")
    return figure


def _samples(store: Store, cell: Cell) -> dict[str, Any]:
    """What the first run that kept images has: ``positive``, ``negative`` and ``classes``."""
    runs: list[Run] = store.read(cell)
    return next((run.extra["samples"] for run in runs if run.extra.get("samples")), {})


def _picture(image: str, store: Store, cell: Cell) -> Any:
    """A PNG, in base64 or as a file beside that of its cell."""
    from matplotlib.image import imread

    if image.endswith(".png"):
        return imread(store.path(cell).parent / image)
    try:
        return imread(io.BytesIO(base64.b64decode(image, validate=True)), format="png")
    except (binascii.Error, SyntaxError, OSError) as error:
        raise ResultFileError(
            f"{store.path(cell)} holds no PNG where one should be: {error}"
        ) from None
