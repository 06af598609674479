"""The report as one page: nothing is fetched, and what came from the user is text and stays it."""

import base64
import hashlib
import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from varpu.report import charts

_FOLDER = Path(__file__).parent / "templates"
_FIRST_ROWS = 25
_MOST_BARS = 15
# Characters that could end the script element, or that old scripts take for ends of lines.
_UNSAFE = {c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def page(contents: dict[str, Any]) -> str:
    """The page as HTML."""
    style, script = (
        (_FOLDER / name).read_text(encoding="utf-8") for name in ("page.css", "page.js")
    )
    rows = contents["rows"]
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        _environment()
        .get_template("page.html.jinja")
        .render(
            report=contents,
            policy=policy,
            style=Markup(style),
            script=Markup(script),
            rows=json_for_script(rows),
            first_rows=rows["data"][:_FIRST_ROWS],
            most_bars=_MOST_BARS,
            findings=_together(contents["findings"] or []),
            charts=charts,
        )
    )


def summary(contents: dict[str, Any]) -> str:
    """What a notebook shows: the title and the answer."""
    return f"<p><b>{escape(contents['title'])}</b><br>{escape(contents['answer'])}</p>"


def _together(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Findings of one kind as one, with all that was seen; many columns can have one trouble."""
    kinds: dict[tuple[str, ...], dict[str, Any]] = {}
    for one in findings:
        about = tuple(one[key] for key in ("code", "severity", "title", "why", "todo"))
        kind = kinds.setdefault(about, {**one, "seen": []})
        if one["seen"]:
            kind["seen"].append(one["seen"])
    return list(kinds.values())


def json_for_script(value: Any) -> Markup:
    """JSON that can stand inside a script element, whatever its texts say."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, written in _UNSAFE.items():
        text = text.replace(character, written)
    return Markup(text)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"count": _count, "fixed": _fixed, "percent": _percent, "cell": _cell}
    return environment


def _digest(text: str) -> str:
    """What a policy calls this text by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _count(number: float) -> str:
    return f"{round(number):,}"


def _fixed(number: float | None, digits: int = 3) -> str:
    # A true minus sign is as wide as a plus, so columns stay in line.
    return "–" if number is None else f"{number:.{digits}f}".replace("-", "−")


def _percent(number: float | None, digits: int = 1) -> str:
    return "–" if number is None else f"{number:.{digits}%}"


def _cell(value: Any, column: int) -> str:
    """A cell of the ranked rows as the page's script writes it."""
    if value is None:
        return "–"
    if column == 2:
        return f"{value:.3f}"
    return f"{value:.2f}" if column == 3 else str(value)
