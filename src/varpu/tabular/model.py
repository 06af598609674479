"""A table in, scores out: the encoder and the classifier as one model."""

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from varpu import __version__
from varpu.auto import PUClassifier
from varpu.base import BasePUClassifier
from varpu.boosting import VPUBoostingClassifier
from varpu.exceptions import PUInputError
from varpu.tabular import folder
from varpu.tabular.encoder import TableEncoder
from varpu.tabular.labels import find_column, read_labels
from varpu.tabular.summary import LARGE, notes_on_labels, summarize

# Few large steps and two folds: made so that a million rows take minutes to fit and seconds to
# score. See benchmarks/cli.py.
_FOR_LARGE: dict[str, Any] = {
    "learning_rate": 0.25,
    "num_leaves": 31,
    "min_child_samples": 50,
    "max_rounds": 32,
    "early_stopping_rounds": 10,
    "n_folds": 2,
}
_RESULT = ("probability", "label")

Progress = Callable[[str], None]
_LABELLED = "fit.labelled"  # beside the arrays of the encoder


class TableModel:
    """A classifier of the rows of a table, fitted by :meth:`fit` or read by :meth:`load`.

    Attributes
    ----------
    classifier : PUClassifier or VPUBoostingClassifier
        The latter for more than 200,000 rows.
    encoder : TableEncoder
    label : str
        The label column.
    positive : str
        The value in it that marks positives.
    id : str or None
        The column that names the rows.
    summary : dict
        What was found, as plain values: ``rows``, ``positives``, ``scenario``, ``prior``,
        ``prior_interval``, ``held_out_loss``, ``method``, ``candidates``, ``columns`` (used and
        left out), ``warnings``, ``seconds`` and ``versions``.
    labelled : bool array
        Which rows of the table of fit were labelled.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from varpu.tabular import TableModel
    >>> random = np.random.RandomState(0)
    >>> frame = pd.DataFrame({"x": random.normal(size=200), "z": random.normal(size=200)})
    >>> frame["bought"] = np.where((frame["x"] > 0.5) & (np.arange(200) % 2 == 0), "yes", None)
    >>> model = TableModel.fit(frame, label="bought", time_budget=1)
    >>> list(model.predict(frame).columns)
    ['row', 'probability', 'label']
    """

    def __init__(
        self,
        classifier: BasePUClassifier,
        encoder: TableEncoder,
        *,
        label: str,
        positive: str,
        id: str | None,
        summary: dict[str, Any],
        labelled: NDArray[np.bool_],
    ) -> None:
        self.classifier, self.encoder = classifier, encoder
        self.label, self.positive, self.id = label, positive, id
        self.summary, self.labelled = summary, labelled

    @classmethod
    def fit(
        cls,
        frame: pd.DataFrame,
        *,
        label: str,
        positive: Any = None,
        id: str | None = None,
        drop: Sequence[str] = (),
        scenario: str = "single-set",
        prior: float | None = None,
        time_budget: float | None = None,
        random_state: int = 0,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from a table. What is warned of on the way is kept in ``summary["warnings"]``.

        Parameters
        ----------
        frame : DataFrame
        label : str
            The column that marks positives. Rows with a missing or empty value are unlabelled.
        positive : value, optional
            What marks positives; not needed where the column has one value, 0/1 or true/false.
        id : str, optional
            A column that names the rows; nothing is learned from it.
        drop : sequence of str
            Columns not to learn from.
        scenario, prior, time_budget, random_state
            As in :class:`varpu.PUClassifier`.
        progress : callable, optional
            Called with the name of each stage as it begins.
        """
        began = time.monotonic()
        stage = progress or (lambda name: None)
        names = [str(name) for name in frame.columns]
        frame = frame.set_axis(names, axis=1)
        find_column(label, names, "label")
        for name, what in [(id, "id"), *((name, "columns to drop") for name in drop)]:
            if name is not None:
                find_column(name, names, what)
        if id in _RESULT or id == label:
            raise PUInputError(f"the id column cannot be {id!r}: the result has one of that name")
        if len(frame) == 0:
            raise PUInputError("the table has no rows")
        positives, positive, others = read_labels(frame[label], positive)
        notes = notes_on_labels(label, others)
        stage("looking at columns")
        apart = {label, id, *drop}
        encoder = TableEncoder(random_state)
        features = frame[[name for name in names if name not in apart]]
        table = encoder.fit(features).transform(features)
        stage("fitting")
        classifier = _classifier(len(table), scenario, prior, time_budget, random_state)
        if len(table) > LARGE:
            notes.append(
                f"with more than {LARGE:,} rows boosted trees alone were fitted, with few large"
                " steps" + (", and the time budget was not used" if time_budget else "")
            )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            classifier.fit(table, positives)
        notes += dict.fromkeys(
            str(one.message) for one in caught if issubclass(one.category, UserWarning)
        )
        summary = summarize(classifier, encoder, positives, scenario, notes)
        summary["seconds"] = time.monotonic() - began
        about: dict[str, Any] = {"label": label, "positive": positive, "id": id}
        return cls(classifier, encoder, **about, summary=summary, labelled=positives)

    @property
    def out_of_fold(self) -> NDArray[np.float64]:
        """``log f_P/f`` of each training row by models that did not see it, recalibrated.

        The probability of such a row is ``min(1, prior * exp(out_of_fold))``.
        """
        fitted: Any = self.classifier
        scores: NDArray[np.float64] = fitted.out_of_fold_log_ratio_
        curve = fitted.recalibration_
        return scores if curve is None else curve(scores)

    def check(self, frame: pd.DataFrame) -> list[str]:
        """What differs harmlessly from the table of fit; see :meth:`TableEncoder.check`."""
        apart = {self.id, self.label}
        return self.encoder.check(frame[[name for name in frame.columns if name not in apart]])

    def predict(self, frame: pd.DataFrame, *, first_row: int = 0) -> pd.DataFrame:
        """Score the rows of a table.

        Parameters
        ----------
        frame : DataFrame
            With the columns of fit, in any order; others are ignored.
        first_row : int
            The number of the first row, where rows have no id.

        Returns
        -------
        DataFrame
            The id column, or ``row``; ``probability`` of being positive; ``label``, 1 where that
            is above one half, else 0.
        """
        if self.id is not None:
            names = [str(name) for name in frame.columns]
            find_column(self.id, names, "id")
            key, ids = self.id, frame.iloc[:, names.index(self.id)].array
        else:
            key, ids = "row", np.arange(first_row, first_row + len(frame))
        table = self.encoder.transform(frame)
        probability = np.zeros(0)
        if len(table):
            probability = self.classifier.predict_proba(table)[:, 1]
        label = (probability > 0.5).astype(np.int8)
        return pd.DataFrame({key: ids, "probability": probability, "label": label})

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the model to a folder, whole or not at all; nothing in it is ever executed.

        ``force`` replaces a model that is there, but never a folder that holds anything else.
        """
        fields, arrays = self.encoder.to_state()
        about = {"label": self.label, "positive": self.positive, "id": self.id}
        body = {**about, "varpu": __version__, "summary": self.summary, "encoder": fields}
        arrays = {**arrays, _LABELLED: self.labelled.astype(np.uint8)}
        folder.write(Path(path), self.classifier, body, arrays, force)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote; :class:`ModelFileError` if one byte of it was changed."""
        classifier, body, arrays = folder.read(Path(path))
        labelled = arrays.pop(_LABELLED).astype(bool)
        encoder = TableEncoder.from_state(body["encoder"], arrays)
        about = {name: body[name] for name in ("label", "positive", "id", "summary")}
        return cls(classifier, encoder, **about, labelled=labelled)


def _classifier(
    rows: int, scenario: str, prior: float | None, time_budget: float | None, random_state: int
) -> BasePUClassifier:
    if rows > LARGE:
        return VPUBoostingClassifier(
            **_FOR_LARGE, scenario=scenario, prior=prior, random_state=random_state
        )
    return PUClassifier(
        scenario=scenario,
        prior=prior,
        time_budget=time_budget,
        random_state=random_state,
        progress=False,
    )
