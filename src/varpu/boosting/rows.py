"""The rows trees are grown on: identical ones once, with the weights they stand for."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from varpu.base import BasePUClassifier
from varpu.crossfit import marginal_rows
from varpu.exceptions import PUInputError
from varpu.model_selection.rows import alike_by_chance, row_hashes

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WeightedRows:
    """Distinct rows with their weight among the labelled positives and in the marginal sample.

    A labelled row of the single-set scenario has both weights, and so has a labelled row with an
    unlabelled copy: one row with two gradients is the same objective at less cost, and a copy of a
    row that is trained on cannot be held out. A row of weight two is a row that came twice.
    """

    X: Any
    weight_p: Floats
    weight_u: Floats
    number: NDArray[np.int64]  # of each row that came, its number among the distinct ones


def weighted_rows(
    X: Any, positive: NDArray[np.bool_], weight: Floats, scenario: str
) -> WeightedRows:
    """Merge identical rows of a table (array, frame or sparse matrix); weight 0 leaves a row out.

    The distinct rows are in an order of their own, not in the order they came in, so that a fit
    does not depend on that. In a table of few kinds of rows, where rows are alike by chance, each
    stays a row of its own: merged, there would be too few to split.
    """
    hashes = row_hashes(X)
    if alike_by_chance(X, hashes, positive):
        first = np.lexsort((weight, positive, hashes))
        number = np.argsort(first)
    else:
        _, first, number = np.unique(hashes, return_index=True, return_inverse=True)
    marginal = marginal_rows(positive, scenario)
    size = len(first)
    weight_p = np.bincount(number, weight * positive, size).astype(np.float64)
    weight_u = np.bincount(number, weight * marginal, size).astype(np.float64)
    return WeightedRows(take_rows(X, first), weight_p, weight_u, number.astype(np.int64))


def rows_to_fit(
    model: BasePUClassifier, X: Any, y: Any, sample_weight: Any
) -> tuple[Any, WeightedRows, NDArray[np.bool_]]:
    """The table once it was checked, its distinct rows of some weight, and which rows have any.

    Parameters
    ----------
    model : classifier with a parameter ``scenario``
    X, y, sample_weight
        As its ``fit`` was given them.
    """
    model._check_params()
    table = model._check_rows(X, fitting=True)
    positive = model._check_y(y, table.shape[0])
    weight = _check_sample_weight(
        sample_weight, positive.astype(np.float64), ensure_non_negative=True
    )
    used = weight > 0
    if not (positive[used].any() and (~positive[used]).any()):
        raise PUInputError("after leaving out rows of weight 0, y has rows of one class only")
    scenario = model.get_params(deep=False)["scenario"]
    kept = take_rows(table, np.flatnonzero(used))
    return table, weighted_rows(kept, positive[used], weight[used], scenario), used


def take_rows(X: Any, rows: NDArray[np.int64]) -> Any:
    """Rows of an array, frame or sparse matrix."""
    return X.iloc[rows].reset_index(drop=True) if isinstance(X, pd.DataFrame) else X[rows]
