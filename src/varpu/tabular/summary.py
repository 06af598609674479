"""What is told of a fit: how long it may take, and what was found."""

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varpu.auto import PUClassifier
from varpu.tabular.encoder import TableEncoder
from varpu.versions import versions

# Above, comparing several kinds of model takes too long and gains little.
LARGE = 200_000
_VERSIONS = ("numpy", "pandas", "scikit-learn", "lightgbm", "pyarrow")


def expected_seconds(rows: int, columns: int, time_budget: float | None = None) -> float:
    """About how long fitting takes on two cores; a guess to show, not to rely on."""
    if rows > LARGE:
        return 20.0 + 3e-6 * rows * (columns + 5)
    # Kernels and networks take about the same for every table, trees as long as it is large.
    seconds = 20.0 + 1e-4 * rows * (columns + 5)
    if find_spec("torch") is not None:
        seconds += 100.0
    # The budget says when the last model begins, and that one takes its time.
    return seconds if time_budget is None else min(seconds, 1.3 * time_budget)


def notes_on_labels(label: str, others: dict[str, int]) -> list[str]:
    """Say so where rows have labels other than the positive one."""
    # 0 and false say "not labelled" in most tables; other words are most likely known negatives.
    known = {value: n for value, n in others.items() if value.lower() not in ("0", "false")}
    if not known:
        return []
    shown = ", ".join(f"{value!r} ({n:,})" for value, n in list(known.items())[:5])
    more = ", ..." if len(known) > 5 else ""
    return [f"rows with another {label!r} are taken as unlabelled: {shown}{more}"]


def summarize(
    classifier: Any,
    encoder: TableEncoder,
    positives: NDArray[np.bool_],
    scenario: str,
    notes: list[str],
) -> dict[str, Any]:
    """What was found, as plain values."""
    if isinstance(classifier, PUClassifier):
        lines = classifier.candidates_.astype(object).replace({np.nan: None})
        candidates = lines.to_dict("records")
    else:
        one = {"candidate": "boosted trees", "family": "trees", "weight": 1.0, "note": ""}
        candidates = [{**one, "held_out_loss": float(classifier.held_out_loss_), "seconds": None}]
    used = encoder.columns_["kind"] != "left out"
    return {
        "rows": len(positives),
        "positives": int(positives.sum()),
        "scenario": scenario,
        "prior": float(classifier.prior_),
        "prior_interval": [float(end) for end in classifier.prior_interval_],
        "held_out_loss": float(classifier.held_out_loss_),
        "method": type(classifier).__name__,
        "candidates": candidates,
        "columns": {
            "used": encoder.columns_[used].to_dict("records"),
            "left_out": encoder.columns_[~used].to_dict("records"),
        },
        "warnings": notes,
        "versions": versions(_VERSIONS),
    }
