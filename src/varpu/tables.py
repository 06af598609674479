"""Tables as users have them: arrays, sparse matrices, and frames with categories and gaps."""

import re
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from varpu.exceptions import PUInputError

_NOT_IN_NAMES = re.compile(r'[\[\]{},:"]')
_PLAIN = (str, bool, int, float, np.generic)


def check_table(estimator: BaseEstimator, X: Any, fitting: bool) -> Any:
    """A pandas frame as such, so that its categories live; anything else as numbers.

    LightGBM stores names and levels as JSON: names that it would refuse get other characters, and
    levels such as intervals become strings. Missing values are NaN and stay. A sparse matrix comes
    back as one of rows (CSR).
    """
    if isinstance(X, pd.DataFrame):
        return _check_frame(estimator, X, fitting)
    table = validate_data(
        estimator,
        X,
        reset=fitting,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
    )
    return scipy.sparse.csr_matrix(table) if scipy.sparse.issparse(table) else table


def _check_frame(estimator: BaseEstimator, X: pd.DataFrame, fitting: bool) -> pd.DataFrame:
    validate_data(estimator, X, reset=fitting, skip_check_array=True)
    if 0 in X.shape:
        raise PUInputError(f"Found array with 0 sample(s) or 0 feature(s), shape {X.shape}")
    unusable = [str(name) for name, column in X.items() if not _is_usable(column)]
    if unusable:
        raise PUInputError(
            f"columns must be numbers or categories; {', '.join(unusable[:5])} hold neither:"
            f" turn strings into categories by X.astype({{{unusable[0]!r}: 'category'}})"
        )
    numbers = X.select_dtypes("number").to_numpy(np.float64)
    if np.isinf(numbers).any():
        raise PUInputError("Input X contains infinity; missing values are NaN")
    return _for_json(X)


def _for_json(X: pd.DataFrame) -> pd.DataFrame:
    if any(_NOT_IN_NAMES.search(str(name)) for name in X.columns):
        # Numbered, as two names may have become one.
        names = [f"{_NOT_IN_NAMES.sub('_', str(name))}_{i}" for i, name in enumerate(X.columns)]
        X = X.set_axis(names, axis=1)
    X = X.copy(deep=False)
    for name, column in X.items():
        if is_category(column) and not all(isinstance(v, _PLAIN) for v in column.cat.categories):
            X[name] = column.cat.rename_categories(str)
    return X


def is_category(column: pd.Series) -> bool:
    """Whether a column of a frame holds categories rather than numbers."""
    return isinstance(column.dtype, pd.CategoricalDtype)


def _is_usable(column: pd.Series) -> bool:
    is_complex = pd.api.types.is_complex_dtype(column)
    return is_category(column) or (pd.api.types.is_numeric_dtype(column) and not is_complex)


def column_scales(X: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of each column."""
    mean = X.mean(axis=0, dtype=np.float64)
    deviation = X.std(axis=0, dtype=np.float64)
    # A constant column says nothing; dividing by its rounding error would make it shout.
    tiny = deviation <= 1e-12 * np.maximum(np.abs(mean), 1.0)
    return mean, np.where(tiny, 1.0, deviation)
