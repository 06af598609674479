"""The report of a fitted classifier."""

import json
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted, column_or_1d

from varpu.base import BasePUClassifier
from varpu.checks import whole
from varpu.exceptions import PUInputError
from varpu.report.contents import contents
from varpu.report.rows import check_ids

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SUFFIXES = {".html": "html", ".htm": "html", ".json": "json", ".md": "markdown"}


class PUReport:
    """What a classifier found in positives and unlabelled rows, for people to read.

    Parameters
    ----------
    model : fitted classifier of this package
        What it does not have, such as candidates, is left out.
    X : array, frame or sparse matrix of n rows, images, or None
        Without a table the report is made from the out-of-fold scores that the model kept.
    y : array of shape (n,)
        The labels: of the two values that the model knows, the larger marks labelled rows.
        If these are the labels of the fit, in their order, scores are out of fold.
    ids : array of shape (n,), optional
        What to call the rows; by default the names of a frame's rows, or numbers from 0.
    findings : list, optional
        What a check of the data found: dicts with ``code``, ``severity``, ``title``, ``seen``,
        ``why`` and ``todo``, or objects with ``to_dict``. None: the data is checked here.
    title : str, optional
    max_rows : int, default=10_000
        How many unlabelled rows to rank on the page, the likeliest first.
    random_state : int, default=0
        Decides which rows are sampled, and how they are shuffled, for the importance of columns.
    command : str, optional
        How the model was made, shown under "reproduce"; by default lines of Python.
    notes : sequence of str
        Sentences to show below the answer, such as warnings of the fit.
    show : frame of n rows, optional
        Its columns are shown beside the ranked rows instead of those of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from varpu import PUReport, VPUBoostingClassifier
    >>> X, truth = make_blobs(600, centers=2, random_state=0)
    >>> y = (truth == 1) & (np.arange(600) % 4 == 0)
    >>> report = PUReport(VPUBoostingClassifier(random_state=0).fit(X, y), X, y)
    >>> sorted(report.to_dict()["prior"])
    ['given', 'interval', 'value']
    """

    def __init__(
        self,
        model: BasePUClassifier,
        X: Any,
        y: ArrayLike,
        *,
        ids: ArrayLike | None = None,
        findings: Iterable[Any] | None = None,
        title: str | None = None,
        max_rows: int = 10_000,
        random_state: int = 0,
        command: str | None = None,
        notes: Sequence[str] = (),
        show: pd.DataFrame | None = None,
    ) -> None:
        _check_model(model)
        self.model, self.X = model, X
        self._positive = _labelled(model, X, y)
        self._ids = check_ids(ids, X, len(self._positive))
        self._settings: dict[str, Any] = {
            "findings": findings,
            "title": title,
            "command": command,
            "notes": list(notes),
            "show": show,
            "max_rows": whole("max_rows", max_rows, 1),
            "random_state": whole("random_state", random_state, 0),
        }

    @cached_property
    def _contents(self) -> dict[str, Any]:
        return contents(self.model, self.X, self._positive, self._ids, **self._settings)

    def to_dict(self) -> dict[str, Any]:
        """All that the report says: numbers, texts, lists and dicts, as JSON knows them."""
        # A copy, so that what a caller changes is not what the page says.
        return dict(json.loads(self.json()))

    def json(self) -> str:
        """The report as JSON."""
        return json.dumps(self._contents, ensure_ascii=False, allow_nan=False, indent=1)

    def html(self) -> str:
        """The report as one page that needs nothing else, nor a network."""
        from varpu.report.page import page

        return page(self._contents)

    def markdown(self) -> str:
        """The report as Markdown, with the first of the ranked rows."""
        from varpu.report.markdown import markdown

        return markdown(self._contents)

    def _repr_html_(self) -> str:
        from varpu.report.page import summary

        return summary(self._contents)

    def save(self, path: str | Path) -> Path:
        """Write the report to a file, whole or not at all; an existing one is replaced.

        Parameters
        ----------
        path : path
            Ends in ``.html``, ``.json`` or ``.md``, which says what is written.

        Returns
        -------
        Path
        """
        path = Path(path)
        text = getattr(self, check_place(path))()
        partial = path.with_name(path.name + ".partial")
        try:
            # A lone surrogate in a text of the user's cannot be written; it is shown as "?".
            partial.write_text(text, encoding="utf-8", errors="replace", newline="\n")
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
        return path

    def plot_scores(self, ax: "Axes | None" = None) -> "Axes":
        """Draw how probabilities of labelled and of unlabelled rows are spread."""
        from varpu.report import plots

        return plots.scores(self._contents, ax)

    def plot_calibration(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the share of positives by the probability that was said."""
        from varpu.report import plots

        return plots.calibration(self._contents, ax)

    def plot_importance(self, ax: "Axes | None" = None, *, n_columns: int = 15) -> "Axes":
        """Draw the columns that matter most."""
        from varpu.report import plots

        return plots.importance(self._contents, ax, whole("n_columns", n_columns, 1))

    def plot_candidates(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the held-out loss of what was compared."""
        from varpu.report import plots

        return plots.candidates(self._contents, ax)

    def plot_prior(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the share of positives and its interval."""
        from varpu.report import plots

        return plots.prior(self._contents, ax)


def check_place(path: Path) -> str:
    """Raise :class:`PUInputError` unless a report can go there; say in which form."""
    form = _SUFFIXES.get(path.suffix.lower())
    if form is None:
        raise PUInputError(f"a report is written as .html, .json or .md; got {path.name!r}")
    if not path.parent.is_dir():
        raise PUInputError(f"{path.parent} is not a folder, so {path.name} cannot go there")
    if path.is_dir():
        raise PUInputError(f"{path} is a folder; a report is a file")
    return form


def _check_model(model: Any) -> None:
    if not isinstance(model, BasePUClassifier):
        raise PUInputError(
            f"a report wants a fitted classifier of varpu, got {type(model).__name__}"
        )
    check_is_fitted(model)


def _labelled(model: BasePUClassifier, X: Any, y: ArrayLike) -> Any:
    labels = column_or_1d(y)
    if X is not None and np.shape(X)[0] != len(labels):
        raise PUInputError(f"X has {np.shape(X)[0]} rows but y has {len(labels)}")
    known = np.isin(labels, model.classes_)
    if not known.all():
        raise PUInputError(
            f"y must hold {model.classes_[0]!r} and {model.classes_[1]!r}, which the model was"
            f" fitted on; got {labels[~known][0]!r}"
        )
    positive = labels == model.classes_[1]
    if positive.all() or not positive.any():
        kind = "unlabelled" if positive.all() else "labelled"
        raise PUInputError(f"a report wants labelled and unlabelled rows; no row is {kind}")
    return positive
