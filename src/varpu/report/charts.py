"""Charts as inline SVG that takes its colours from the page, so that it follows light and dark.

Widths are in percent and heights in pixels, so that texts keep their size on a phone. Nothing of
the user's is drawn here, only numbers.
"""

from itertools import pairwise
from typing import Any

from markupsafe import Markup

_HEIGHT = 84
_TICKS = (0, 25, 50, 75, 100)


def histogram(counts: list[int], edges: list[float], side: str, threshold: float) -> Markup:
    """Bars of counts by probability; those above the threshold are in the stronger colour."""
    top, total = max(1, *counts), max(1, sum(counts))
    width = 100 / len(counts)
    parts = []
    for k, number in enumerate(counts):
        if not number:
            continue
        height = max(2.0, number / top * (_HEIGHT - 4))
        kind = "bar strong" if edges[k] >= threshold - 1e-9 else "bar"
        about = f"{edges[k]:.2f} to {edges[k + 1]:.2f}: {number:,} rows ({number / total:.1%})"
        parts.append(
            f'<rect class="{kind}" x="{k * width + 0.2:.2f}%" y="{_HEIGHT - height:.1f}"'
            f' width="{width - 0.4:.2f}%" height="{height:.1f}" rx="1.5"><title>{about}</title>'
            "</rect>"
        )
    parts.append(
        f'<line class="threshold" x1="{threshold:.0%}" x2="{threshold:.0%}" y1="0" y2="{_HEIGHT}"/>'
    )
    parts.append(f'<line class="axis" x1="0" x2="100%" y1="{_HEIGHT}" y2="{_HEIGHT}"/>')
    above = sum(n for n, low in zip(counts, edges[:-1], strict=True) if low >= threshold - 1e-9)
    label = (
        f"Histogram of {total:,} {side} rows by probability; {above:,} lie at {threshold} or above."
    )
    return _svg(parts, label, f"histogram {side}")


def axis(name: str) -> Markup:
    """The scale from 0 to 1 below a chart, with what it measures."""
    parts = []
    for tick in _TICKS:
        anchor = {0: "start", 100: "end"}.get(tick, "middle")
        parts.append(f'<text x="{tick}%" y="14" text-anchor="{anchor}">{tick / 100:g}</text>')
    parts.append(f'<text x="50%" y="34" text-anchor="middle" class="name">{name}</text>')
    return Markup(f'<svg class="chart scale" aria-hidden="true">{"".join(parts)}</svg>')


def interval(prior: dict[str, Any]) -> Markup:
    """The share of positives on the line from 0 to 1, with its interval."""
    value = prior["value"]
    low, high = prior["interval"] or (value, value)
    parts = [
        '<line class="track" x1="0" x2="100%" y1="12" y2="12"/>',
        f'<line class="range" x1="{100 * low:.2f}%" x2="{100 * high:.2f}%" y1="12" y2="12"/>',
        f'<circle class="dot" cx="{100 * value:.2f}%" cy="12" r="6"/>',
    ]
    return _svg(parts, f"Share of positives {value:.3f}, from {low:.3f} to {high:.3f}", "interval")


def calibration(lines: list[dict[str, Any]]) -> Markup:
    """Probability said against share found, a circle a bin; on the diagonal is best."""
    most = max([line["rows"] for line in lines], default=1)
    parts = ['<line class="diagonal" x1="0" x2="100%" y1="100%" y2="0"/>']
    spots = [(100 * line["said"], 100 - 100 * line["found"]) for line in lines]
    for (x1, y1), (x2, y2) in pairwise(spots):
        parts.append(
            f'<line class="path" x1="{x1:.2f}%" y1="{y1:.2f}%" x2="{x2:.2f}%" y2="{y2:.2f}%"/>'
        )
    for (x, y), line in zip(spots, lines, strict=True):
        radius = 3.5 + 6 * (line["rows"] / most) ** 0.5
        about = f"said {line['said']:.2f}, found {line['found']:.2f}, {line['rows']:,} rows"
        parts.append(
            f'<circle class="spot" cx="{x:.2f}%" cy="{y:.2f}%" r="{radius:.1f}">'
            f"<title>{about}</title></circle>"
        )
    parts.append('<rect class="frame" x="0" y="0" width="100%" height="100%"/>')
    return _svg(parts, "Probability said against share of positives found", "calibration")


def bar(share: float, spread: float = 0.0) -> Markup:
    """One bar of a list, as a share of the longest."""
    length = 100 * min(max(share, 0.0), 1.0)
    parts = [f'<rect class="bar strong" x="0" y="3" width="{length:.2f}%" height="8" rx="2"/>']
    if spread > 0:
        ends = [100 * min(max(end, 0.0), 1.0) for end in (share - spread, share + spread)]
        parts.append(
            f'<line class="spread" x1="{ends[0]:.2f}%" x2="{ends[1]:.2f}%" y1="7" y2="7"/>'
        )
    return Markup(f'<svg class="chart inline" aria-hidden="true">{"".join(parts)}</svg>')


def _svg(parts: list[str], label: str, kind: str) -> Markup:
    """Parts are made of numbers, so there is nothing to escape."""
    return Markup(
        f'<svg class="chart {kind}" role="img" aria-label="{label}">{"".join(parts)}</svg>'
    )
