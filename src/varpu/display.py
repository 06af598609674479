"""How a fitted classifier shows itself in a notebook: scikit-learn's diagram and what was found."""

from html import escape
from typing import Any

import numpy as np

_STYLE = "font-family:system-ui,sans-serif;font-size:0.9em;margin:0.5em 0;line-height:1.5"


class FittedDisplay:
    """Adds a line to the diagram of a fitted classifier: its prior and its held-out loss.

    It stands before scikit-learn's ``BaseEstimator`` among the bases of a class.
    """

    def _repr_html_inner(self) -> str:
        diagram: str = super()._repr_html_inner()  # type: ignore[misc]
        return diagram + fitted_summary(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle


def fitted_summary(model: Any) -> str:
    """What a fitted classifier found, as one paragraph of HTML; empty if it is not fitted."""
    prior = getattr(model, "prior_", None)
    if prior is None:
        return ""
    text = f"share of positives <b>{prior:.3f}</b>"
    low, high = getattr(model, "prior_interval_", (prior, prior))
    if low < high:
        text += f" (90% interval {low:.3f} to {high:.3f})"
    loss = getattr(model, "held_out_loss_", np.nan)
    if np.isfinite(loss):
        text += f" &middot; held-out loss <b>{loss:.4f}</b>"
    candidates = getattr(model, "candidates_", None)
    if candidates is not None:
        used = int((candidates["weight"] > 0).sum())
        text += f" &middot; a blend of {used} of {len(candidates)} candidates"
    name = escape(type(model).__name__)
    return f'<p style="{_STYLE}"><b>{name}</b>, fitted: {text}.</p>'
