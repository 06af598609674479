"""Scores of the rows that a report is about, out of fold where the model kept such."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray

from varpu.crossfit import marginal_rows, pooled_loss
from varpu.exceptions import PUInputError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Scored:
    """What the model says of each row.

    Attributes
    ----------
    log_ratio : array of shape (n,)
        ``log f_P/f``.
    probability : array of shape (n,)
    order : array of shape (n,)
        The score that rows are ranked by. Out of fold it is the one before recalibration, which
        tells rows apart where the curve is level.
    out_of_fold : bool
        Whether the scores are by models that did not see the row.
    """

    log_ratio: Floats
    probability: Floats
    order: Floats
    out_of_fold: bool

    @property
    def marked(self) -> Bools:
        """Which rows are said to be positive."""
        return self.probability > 0.5


def scenario_of(model: Any) -> str:
    """The scenario that the model was told of, or the usual one."""
    return str(getattr(model, "scenario", "single-set"))


def take(X: Any, rows: NDArray[np.int64]) -> Any:
    """Some rows of a frame, a dense array or a sparse matrix."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows].reset_index(drop=True)
    return X[rows] if scipy.sparse.issparse(X) else np.asarray(X)[rows]


def pool_weights(positive: Bools, scenario: str) -> tuple[Floats, Floats]:
    """Weight of each row among the labelled ones and in the sample of the marginal."""
    return positive.astype(np.float64), marginal_rows(positive, scenario).astype(np.float64)


def score_rows(model: Any, X: Any, positive: Bools) -> Scored:
    """Score rows: out of fold if they are those of the fit, else by the model as it predicts.

    Rows without a table, ``X=None``, must be those of the fit.
    """
    held_out = out_of_fold(model, positive)
    if held_out is not None:
        return _scored_out_of_fold(model, held_out)
    if X is None:
        raise PUInputError(
            "a report without a table wants the labels that the model was fitted on, in their"
            " order, and a model that keeps out-of-fold scores; give X"
        )
    probability = np.asarray(model.predict_proba(X))[:, 1]
    log_ratio = np.asarray(model.log_ratio(X))
    return Scored(log_ratio, probability, log_ratio, False)


def _scored_out_of_fold(model: Any, scores: Floats) -> Scored:
    """What the model says of rows by the scores that it kept from the fit."""
    curve = model.recalibration_
    log_ratio = scores if curve is None else curve(scores)
    log_phi = log_ratio + model.log_mean_phi_
    probability = np.exp(np.minimum(log_phi - np.log(model.scale_), 0.0))
    return Scored(log_ratio, probability, scores, True)


def out_of_fold(model: Any, positive: Bools) -> Floats | None:
    """The scores kept from the fit, if these labels are the fit's.

    The held-out loss tells: other labels, or these in another order, have another one.
    """
    scores = getattr(model, "out_of_fold_log_ratio_", None)
    loss = getattr(model, "held_out_loss_", None)
    if scores is None or loss is None or len(scores) != len(positive):
        return None
    if not np.isfinite(scores).all() or not np.isfinite(loss):
        return None
    found = pooled_loss(scores, *pool_weights(positive, scenario_of(model)))
    return np.asarray(scores) if np.isclose(found, loss, rtol=1e-6, atol=1e-9) else None
