"""Rows as points between which distances mean something."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

Floats = NDArray[np.float64]


def coordinates(rows: NDArray[Any], standardize: bool, n_components: int | None) -> Floats:
    """Columns of a table in units of their deviation; wide rows by their principal components.

    The unit of a column of a table is an accident, so it is taken away. Pixels have one unit, and
    a pixel that hardly varies says little, so images should not be standardised.

    Parameters
    ----------
    rows : array of shape (n, d)
    standardize : bool
    n_components : int or None
        Rows with more columns are projected on that many principal components; None: never.
    """
    points = np.asarray(rows, dtype=np.float64)
    points = points - points.mean(axis=0)
    if standardize:
        size = np.abs(rows).max(axis=0, initial=0.0).astype(np.float64)
        deviation = points.std(axis=0)
        # A constant column says nothing; dividing by its rounding error would make it shout.
        points = points / np.where(deviation <= 1e-12 * size, np.inf, deviation)
    if n_components is None or points.shape[1] <= n_components:
        return points
    # From the covariance, so that the order of the rows only shows in the last bits.
    solver = PCA(min(n_components, len(points)), svd_solver="covariance_eigh")
    return np.asarray(solver.fit_transform(points))
