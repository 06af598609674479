"""All that a report says, as one plain dict of numbers, texts, lists and dicts."""

from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

import numpy as np

from varpu.exceptions import VarpuError
from varpu.report import words
from varpu.report.diagnostics import agreement, diagnostics, score_histogram
from varpu.report.importance import column_names, importance, is_table
from varpu.report.rows import plain, ranked_rows
from varpu.report.scoring import Bools, scenario_of, score_rows
from varpu.versions import versions

SCHEMA = 1
_FINDING = ("code", "severity", "title", "seen", "why", "todo")
_MOST_NAMES = 200
_LONGEST_SETTING = 200


def contents(
    model: Any,
    X: Any,
    positive: Bools,
    ids: list[Any],
    *,
    findings: Iterable[Any] | None,
    title: str | None,
    command: str | None,
    notes: list[str],
    show: Any,
    max_rows: int,
    random_state: int,
) -> dict[str, Any]:
    """Gather it; what the model does not have is None."""
    scored = score_rows(model, X, positive)
    columns = None
    if is_table(X):
        columns = importance(model, X, positive, scored.log_ratio, random_state)
        columns["about"] = words.about_importance(columns, scored.out_of_fold)
    data = _data(model, X, len(positive), int(positive.sum()))
    return {
        **_opening(model, data, title, notes, int(scored.marked[~positive].sum())),
        "scores": {
            **score_histogram(positive, scored),
            "about": words.about_scores(scored.out_of_fold),
        },
        "rows": ranked_rows(
            model, X if show is None else show, positive, scored, ids, columns, max_rows
        ),
        "diagnostics": diagnostics(model, positive, scored),
        "candidates": _candidates(model),
        "importance": columns,
        "agreement": agreement(model, X, random_state),
        "findings": _findings(findings, X, positive, data["scenario"]),
        "card": _card(model),
        "reproduce": command or _python(model),
    }


def _opening(
    model: Any, data: dict[str, Any], title: str | None, notes: list[str], marked: int
) -> dict[str, Any]:
    prior = _prior(model)
    estimate = _estimate(data, prior, marked)
    # A fit that warned of its prior has said it better.
    told = any("prior" in note for note in notes)
    return {
        "schema": SCHEMA,
        "title": plain(title) or "Which unlabelled rows are positive?",
        "created": datetime.now(UTC).date().isoformat(),
        "answer": words.answer(data, estimate, prior),
        "doubts": [*map(str, notes), *([] if told else words.doubts(data, prior))],
        "data": data,
        "prior": prior,
        "estimate": estimate,
    }


def _data(model: Any, X: Any, n_rows: int, n_labelled: int) -> dict[str, Any]:
    if X is None:
        names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    else:
        names = column_names(model, X) if is_table(X) else []
    return {
        "rows": n_rows,
        "labelled": n_labelled,
        "unlabelled": n_rows - n_labelled,
        "n_columns": int(model.n_features_in_),
        "columns": [plain(name) for name in names[:_MOST_NAMES]],
        "scenario": scenario_of(model),
    }


def _prior(model: Any) -> dict[str, Any]:
    value = float(model.prior_)
    low, high = getattr(model, "prior_interval_", (value, value))
    given = isinstance(getattr(model, "prior", None), int | float)
    return {
        "value": value,
        "interval": [float(low), float(high)] if low < high else None,
        "given": given,
    }


def _estimate(data: dict[str, Any], prior: dict[str, Any], marked: int) -> dict[str, Any]:
    """From the share of positives in the marginal to their number among the unlabelled rows."""

    def hidden(share: float) -> int:
        if data["scenario"] == "single-set":  # labelled rows are part of the marginal
            found = share * data["rows"] - data["labelled"]
        else:
            found = share * data["unlabelled"]
        return round(min(max(found, 0), data["unlabelled"]))

    interval = prior["interval"] and [hidden(end) for end in prior["interval"]]
    return {
        "positives": hidden(prior["value"]),
        "interval": interval,
        "marked": marked,
        "threshold": 0.5,
    }


def _candidates(model: Any) -> dict[str, Any] | None:
    table = getattr(model, "candidates_", None)
    if table is None:
        return None
    lines = [
        {str(name): plain(value) for name, value in line.items()}
        for line in table.to_dict("records")
    ]
    lines.sort(key=lambda line: (line["held_out_loss"] is None, line["held_out_loss"] or 0.0))
    loss = float(getattr(model, "held_out_loss_", np.nan))
    return {"table": lines, "about": words.why_this_won(lines, loss if loss == loss else None)}


def _findings(
    given: Iterable[Any] | None, X: Any, positive: Bools, scenario: str
) -> list[dict[str, Any]] | None:
    """Findings as dicts; where none are given, those of the check if there is one."""
    if given is None:
        if not is_table(X) or find_spec("varpu.diagnosis") is None:
            return None
        from varpu.diagnosis import check_pu

        try:
            given = check_pu(X, positive, scenario=scenario)
        except VarpuError:  # data that cannot be checked can still be reported on
            return None
    dicts = [one if isinstance(one, dict) else one.to_dict() for one in given]
    return [{key: str(one.get(key) or "") for key in _FINDING} for one in dicts]


def _card(model: Any) -> dict[str, Any]:
    tags = getattr(model, "pu_tags", None)
    params = model.get_params(deep=False)
    return {
        "class": type(model).__name__,
        "method": getattr(tags, "method", type(model).__name__),
        "reference": getattr(tags, "reference", ""),
        "learner": getattr(tags, "learner", ""),
        "settings": {name: repr(value)[:_LONGEST_SETTING] for name, value in params.items()},
        "versions": versions(),
        "limits": list(words.LIMITS),
    }


def _python(model: Any) -> str:
    name = type(model).__name__
    made = " ".join(repr(model).split())
    return (
        f"from varpu import {name}, PUReport\n\nmodel = {made}.fit(X, y)\n"
        'PUReport(model, X, y).save("report.html")'
    )
