"""One split of PU data."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing, check_random_state

from varpu import checks
from varpu.model_selection.checks import check_enough, check_rows, check_sides
from varpu.model_selection.rows import deal, rows_together


def pu_train_test_split(
    X: Any, y: ArrayLike, *, test_size: float = 0.25, random_state: Any = None
) -> tuple[Any, Any, Any, Any]:
    """Rows to train on and rows to test on, at random, with the same shares of P and U.

    Copies of a row are on one side, as in :class:`PUStratifiedKFold`; so the shares are kept to
    within one row unless copies force more. Rows stay in their order.

    Parameters
    ----------
    X : array, frame or sparse matrix of shape (n, ...)
    y : array of shape (n,)
        Two values; the larger marks labelled positives.
    test_size : float
        The share of P, and of U, to test on; at least one row of each.
    random_state : int, RandomState or None

    Returns
    -------
    X_train, X_test, y_train, y_test
    """
    share = checks.share("test_size", test_size)
    positive = check_rows(X, y)
    ids = rows_together(X, positive)
    check_enough(positive, ids, 2)
    n = np.array([positive.sum(), (~positive).sum()])
    n_test = np.clip(np.round(share * n), 1, n - 1)
    side = deal(positive, ids, np.stack([n - n_test, n_test]), check_random_state(random_state))
    check_sides(positive, side, 2)
    train, test = np.flatnonzero(side == 0), np.flatnonzero(side == 1)
    X_train, X_test, y_train, y_test = (_safe_indexing(a, w) for a in (X, y) for w in (train, test))
    return X_train, X_test, y_train, y_test
