"""The rows trees are grown on: identical ones once, with the weights they stand for."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from varpu.crossfit import marginal_rows
from varpu.model_selection.rows import row_hashes

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
    does not depend on that.
    """
    _, first, number = np.unique(row_hashes(X), return_index=True, return_inverse=True)
    marginal = marginal_rows(positive, scenario)
    size = len(first)
    weight_p = np.bincount(number, weight * positive, size).astype(np.float64)
    weight_u = np.bincount(number, weight * marginal, size).astype(np.float64)
    return WeightedRows(take_rows(X, first), weight_p, weight_u, number.astype(np.int64))


def take_rows(X: Any, rows: NDArray[np.int64]) -> Any:
    """Rows of an array, frame or sparse matrix."""
    return X.iloc[rows].reset_index(drop=True) if isinstance(X, pd.DataFrame) else X[rows]
