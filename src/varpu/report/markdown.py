"""The report as Markdown, for a commit, a ticket or a mail."""

import re
from collections.abc import Iterable
from typing import Any

_FIRST_ROWS = 20
_MOST_COLUMNS = 15
# All that Markdown or the HTML in it could take for more than text.
_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~<>&!$]|:(?=//))")


def text(value: Any) -> str:
    """A user's text on one line, with nothing in it that Markdown would read."""
    if value is None:
        return "–"
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    return _SPECIAL.sub(r"\\\1", " ".join(str(value).split()))


def markdown(contents: dict[str, Any]) -> str:
    """The whole report; of the ranked rows the first."""
    parts = [f"# {text(contents['title'])}", f"**{contents['answer']}**"]
    parts += [f"> {doubt}" for doubt in contents["doubts"]]
    parts += [_key_numbers(contents), *_rows(contents["rows"]), *_diagnostics(contents)]
    parts += [*_candidates(contents), *_importance(contents), *_findings(contents)]
    parts += _card(contents)
    return "\n\n".join(parts) + "\n"


def _table(head: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    rows = [f"| {' | '.join(line)} |" for line in (head, *lines)]
    rows.insert(1, "|" + " --- |" * (rows[0].count("|") - 1 - rows[0].count("\\|")))
    return "\n".join(rows)


def _key_numbers(contents: dict[str, Any]) -> str:
    data, prior = contents["data"], contents["prior"]
    share = f"{prior['value']:.3f}"
    if prior["interval"]:
        share += " (90% interval {:.3f} to {:.3f})".format(*prior["interval"])
    lines = [
        ("rows", f"{data['rows']:,}"),
        ("labelled", f"{data['labelled']:,}"),
        ("unlabelled", f"{data['unlabelled']:,}"),
        ("share of positives", share),
        ("marked", f"{contents['estimate']['marked']:,}"),
    ]
    return _table(("", ""), lines)


def _rows(rows: dict[str, Any]) -> list[str]:
    shown = rows["data"][:_FIRST_ROWS]
    head = [text(column["name"]) for column in rows["columns"]]
    intro = f"The first {len(shown)} of {rows['total']:,} unlabelled rows."
    return [
        "## Ranked rows",
        intro,
        _table(head, ([text(value) for value in line] for line in shown)),
    ]


def _diagnostics(contents: dict[str, Any]) -> list[str]:
    found = contents["diagnostics"]
    lines = [
        ("loss" if not found["out_of_fold"] else "held-out loss", _number(found["loss"], 4)),
        ("labelled rows that are marked", _number(found["recall"], 3)),
        ("area under the ROC curve, estimated", _number(found["auc"], 3)),
        ("calibration error", _number(found["calibration_error"], 3)),
    ]
    return ["## Diagnostics", contents["scores"]["about"], _table(("", ""), lines)]


def _candidates(contents: dict[str, Any]) -> list[str]:
    found = contents["candidates"]
    if found is None:
        return []
    lines = (
        (
            text(line["candidate"]),
            _number(line["held_out_loss"], 4),
            _number(line["weight"], 2),
            _number(line["seconds"], 1),
            text(line["note"] or ""),
        )
        for line in found["table"]
    )
    head = ("candidate", "held-out loss", "weight", "seconds", "note")
    return ["## What was compared", found["about"], _table(head, lines)]


def _importance(contents: dict[str, Any]) -> list[str]:
    found = contents["importance"]
    if found is None:
        return []
    lines = (
        (text(line["column"]), _number(line["rise"], 4), _number(line["spread"], 4))
        for line in found["columns"][:_MOST_COLUMNS]
    )
    return [
        "## Columns that matter",
        found["about"],
        _table(("column", "rise of the loss", "spread"), lines),
    ]


def _findings(contents: dict[str, Any]) -> list[str]:
    if contents["findings"] is None:
        return []
    parts = ["## Findings of the check"]
    for one in contents["findings"]:
        head = f"- **{text(one['code'])}** ({text(one['severity'])}) {text(one['title'])}"
        said = (text(one[key]) for key in ("seen", "why", "todo") if one[key])
        parts.append(f"{head}: {' '.join(said)}")
    return parts if len(parts) > 1 else [*parts, "Nothing was found."]


def _card(contents: dict[str, Any]) -> list[str]:
    card = contents["card"]
    settings = ", ".join(f"{text(name)} = {text(v)}" for name, v in card["settings"].items())
    code = "\n".join(f"    {line}".rstrip() for line in contents["reproduce"].splitlines())
    return [
        "## Model card",
        f"{text(card['class'])} ({text(card['method'])}; {text(card['reference'])}). Settings:"
        f" {settings}.",
        "\n".join(f"- {limit}" for limit in card["limits"]),
        "Versions: " + ", ".join(f"{name} {text(v)}" for name, v in card["versions"].items()) + ".",
        "## Reproduce",
        code,
    ]


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
