"""The figures of a report by matplotlib, each on axes of the caller's or on new ones."""

from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from varpu.exceptions import PUInputError

# Told apart by everyone, and in grey.
LABELLED, UNLABELLED, PLAIN = "#B45309", "#0F766E", "#64748B"
_LONGEST_NAME = 40


def _axes(ax: Axes | None, height: float = 3.2) -> Axes:
    if ax is not None:
        return ax
    return plt.subplots(figsize=(6.4, height), layout="constrained")[1]


def _text(text: str) -> str:
    """A user's text on a figure: short, and a dollar sign is no formula."""
    short = text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
    return short.replace("$", r"\$")


def _wanted(contents: dict[str, Any], key: str, what: str) -> Any:
    found = contents[key]
    if found is None:
        raise PUInputError(f"this report has no {what} to draw")
    return found


def scores(contents: dict[str, Any], ax: Axes | None) -> Axes:
    """Draw shares of labelled and of unlabelled rows by probability."""
    ax, found = _axes(ax), contents["scores"]
    for side, colour in (("unlabelled", UNLABELLED), ("labelled", LABELLED)):
        total = max(1, sum(found[side]))
        shares = [number / total for number in found[side]]
        ax.stairs(shares, found["edges"], fill=True, color=colour, alpha=0.25)
        ax.stairs(shares, found["edges"], color=colour, linewidth=1.5, label=side)
    ax.axvline(contents["estimate"]["threshold"], color=PLAIN, linestyle=":", linewidth=1)
    ax.set(xlabel="probability of being positive", ylabel="share of rows", xlim=(0, 1))
    ax.legend(frameon=False)
    return ax


def calibration(contents: dict[str, Any], ax: Axes | None) -> Axes:
    """Draw the share of positives that Bayes' rule finds against the probability said."""
    ax, lines = _axes(ax, 4.0), contents["diagnostics"]["calibration"]
    ax.plot([0, 1], [0, 1], color=PLAIN, linestyle=":", linewidth=1)
    said, found = ([line[key] for line in lines] for key in ("said", "found"))
    ax.plot(said, found, color=UNLABELLED, marker="o", linewidth=1.5)
    ax.set(xlabel="probability said", ylabel="share of positives found")
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    return ax


def importance(contents: dict[str, Any], ax: Axes | None, n_columns: int) -> Axes:
    """Draw the rise of the loss by column."""
    lines = _wanted(contents, "importance", "importance of columns")["columns"][:n_columns][::-1]
    ax = _axes(ax, 1.0 + 0.25 * len(lines))
    ax.barh(
        range(len(lines)),
        [line["rise"] for line in lines],
        xerr=[line["spread"] for line in lines],
        color=UNLABELLED,
        ecolor=PLAIN,
    )
    ax.set_yticks(range(len(lines)), [_text(line["column"]) for line in lines])
    ax.set(xlabel="rise of the loss when shuffled")
    return ax


def candidates(contents: dict[str, Any], ax: Axes | None) -> Axes:
    """Draw the loss of each candidate; those of the blend are filled."""
    table = _wanted(contents, "candidates", "candidates")["table"]
    lines = [line for line in table if line["held_out_loss"] is not None][::-1]
    ax = _axes(ax, 1.0 + 0.25 * len(lines))
    for i, line in enumerate(lines):
        colour = UNLABELLED if line["weight"] else "none"
        ax.plot(line["held_out_loss"], i, "o", color=UNLABELLED, markerfacecolor=colour)
    ax.set_yticks(range(len(lines)), [_text(line["candidate"]) for line in lines])
    ax.set(xlabel="held-out loss (lower is better; filled: part of the blend)")
    return ax


def prior(contents: dict[str, Any], ax: Axes | None) -> Axes:
    """Draw the share of positives, with its interval if it has one."""
    ax, found = _axes(ax, 1.4), contents["prior"]
    low, high = found["interval"] or (found["value"], found["value"])
    ax.hlines(0, low, high, color=UNLABELLED, linewidth=6, alpha=0.35)
    ax.plot(found["value"], 0, "o", color=UNLABELLED)
    ax.set(xlim=(0, 1), yticks=[], xlabel="share of positives")
    return ax
