"""Trees grown by XGBoost on the variational loss, on one worker or on several that share the rows.

XGBoost sums the histograms of the workers by itself. The loss couples all rows, so its sums go the
same way; then every worker has the exact derivatives of its own rows, and grows the same trees.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import log_expit

from varpu.boosting.objective import (
    Weights,
    derivatives_by_sums,
    log_mean_by_sums,
    variational_sums,
)
from varpu.exceptions import missing_extra
from varpu.tables import is_category

# Derivatives are made so many rows at a time: their temporaries are of double precision.
_ROWS_AT_ONCE = 1 << 18
_LARGEST = float(np.finfo(np.float32).max)

Floats = NDArray[np.float64]
Total = Callable[[Floats], Floats]
Levels = dict[str, list[Any]]


def import_xgboost() -> Any:
    """XGBoost, or the error that says how to install it."""
    try:
        import xgboost
    except ModuleNotFoundError as error:
        if error.name != "xgboost":
            raise
        raise missing_extra("xgboost") from None
    return xgboost


@dataclass
class HeldOutLoss:
    """``L_var`` of rows that are not trained on; of several workers, each has some of them.

    Attributes
    ----------
    data : DMatrix
    weight_p, weight_u : arrays
    total : callable
        Sums an array over the workers.
    """

    data: Any
    weight_p: Floats
    weight_u: Floats
    total: Total

    def __call__(self, booster: Any) -> float:
        """The loss over the rows of all workers."""
        log_phi = log_expit(booster.predict(self.data, output_margin=True).astype(np.float64))
        sums = self.total(
            np.array(
                [
                    self.weight_u @ np.exp(log_phi),
                    self.weight_u.sum(),
                    self.weight_p @ log_phi,
                    self.weight_p.sum(),
                ]
            )
        )
        return float(np.log(sums[0] / sums[1]) - sums[2] / sums[3])


@dataclass
class GrownBooster:
    """A booster cut to its best round.

    Attributes
    ----------
    booster : xgboost.Booster
    log_mean : float
        ``log E_U[Phi]`` over its training rows, which makes its score a density ratio.
    loss : float
        Held-out ``L_var``.
    history : list of float
        The same after each round.
    """

    booster: Any
    log_mean: float
    loss: float = np.inf
    history: list[float] = field(default_factory=list)

    def predict(self, X: NDArray[np.float32]) -> Floats:
        """``log f_P/f`` of rows as :func:`as_matrix` gives them."""
        margin = self.booster.inplace_predict(X, predict_type="margin", validate_features=False)
        return log_expit(margin.astype(np.float64)) - self.log_mean


def grow(
    params: dict[str, Any],
    data: Any,
    weight_p: Weights,
    weight_u: Weights,
    held_out: HeldOutLoss,
    max_rounds: int,
    patience: int,
) -> GrownBooster:
    """Grow until the held-out loss has not improved for ``patience`` rounds.

    Parameters
    ----------
    params : dict
        XGBoost's.
    data : DMatrix
        The rows of this worker.
    weight_p, weight_u : arrays
        Their weights over P and over the marginal sample; truth values are enough.
    held_out : HeldOutLoss
        Its ``total`` serves the sums of the training rows as well.
    max_rounds, patience : int
    """
    xgboost = import_xgboost()
    log_means: list[float] = []

    def objective(scores: NDArray[np.float32], _: Any) -> Any:
        sums = _sums(scores, weight_p, weight_u, held_out.total)
        log_means.append(log_mean_by_sums(sums))
        return _derivatives(scores, weight_p, weight_u, sums)

    booster = xgboost.Booster({**params, "base_score": 0.0}, [data, held_out.data])
    best = GrownBooster(booster, 0.0)
    best_round = 0
    for number in range(max_rounds):
        booster.update(data, number, fobj=objective)
        loss = held_out(booster)
        best.history.append(loss)
        if loss < best.loss:
            best.loss, best_round = loss, number + 1
        if number + 1 - best_round >= patience:
            break
    # The objective saw the scores before each round, so all but the last are known.
    scores = booster.predict(data, output_margin=True)
    log_means.append(log_mean_by_sums(_sums(scores, weight_p, weight_u, held_out.total)))
    best.booster, best.log_mean = booster[:best_round], log_means[best_round]
    return best


def _sums(scores: Any, weight_p: Weights, weight_u: Weights, total: Total) -> Floats:
    sums = np.zeros(5)
    for first in range(0, len(scores), _ROWS_AT_ONCE):
        part = slice(first, first + _ROWS_AT_ONCE)
        sums += variational_sums(scores[part].astype(np.float64), weight_p[part], weight_u[part])
    return np.asarray(total(sums))


def _derivatives(
    scores: NDArray[np.float32], weight_p: Weights, weight_u: Weights, sums: Floats
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    both = np.empty((2, len(scores)), dtype=np.float32)
    for first in range(0, len(scores), _ROWS_AT_ONCE):
        part = slice(first, first + _ROWS_AT_ONCE)
        both[:, part] = derivatives_by_sums(
            scores[part].astype(np.float64), weight_p[part], weight_u[part], sums
        )
    return both[0], both[1]


def levels_of(X: Any) -> Levels:
    """The levels of each column of categories, by the number of the column (as JSON has it)."""
    if not isinstance(X, pd.DataFrame):
        return {}
    return {
        str(i): [v.item() if isinstance(v, np.generic) else v for v in column.cat.categories]
        for i, (_, column) in enumerate(X.items())
        if is_category(column)
    }


def feature_types(n_columns: int, levels: Levels) -> list[str]:
    """XGBoost's words for columns of numbers and of categories."""
    return ["c" if str(i) in levels else "q" for i in range(n_columns)]


def as_matrix(X: Any, levels: Levels) -> NDArray[np.float32]:
    """A table as XGBoost's numbers: categories by their places among the levels, others missing."""
    if not isinstance(X, pd.DataFrame):
        return _single(np.asarray(X))
    matrix = np.empty(X.shape, dtype=np.float32)
    for i, (_, column) in enumerate(X.items()):
        if str(i) in levels:
            matrix[:, i] = _places(column, levels[str(i)])
        else:
            matrix[:, i] = _single(column.to_numpy(np.float64, na_value=np.nan))
    return matrix


def _places(column: pd.Series, levels: list[Any]) -> Floats:
    if not is_category(column):
        column = column.astype("category")
    known = pd.Index(levels, dtype=object)
    place = known.get_indexer(column.cat.categories.astype(object)).astype(np.float64)
    place = np.append(np.where(place < 0, np.nan, place), np.nan)  # the last for missing ones
    return place[column.cat.codes]


def _single(numbers: NDArray[Any]) -> NDArray[np.float32]:
    """Single precision, in which a very large number is still a number."""
    return np.clip(numbers, -_LARGEST, _LARGEST).astype(np.float32)
