"""Folds for PU data."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from varpu.checks import whole
from varpu.exceptions import PUInputError
from varpu.model_selection.checks import check_enough, check_rows, check_sides
from varpu.model_selection.rows import Ids, deal, rows_together


class PUStratifiedKFold(BaseCrossValidator):
    """Folds that keep the shares of P and U and never part copies of a row.

    Every fold gets its share of labelled positives and of unlabelled rows, to within one row unless
    identical rows force more. Identical rows are in one fold, so an unlabelled copy of a labelled
    row is not held out while the labelled one is trained on; but for tables of so few kinds of rows
    that an unlabelled row has one like it as a rule. Goes into ``cv=`` of scikit-learn.

    Parameters
    ----------
    n_splits : int
    shuffle : bool
        Whether to deal the rows in random order, or as they come.
    random_state : int, RandomState or None
        Decides the order; only with ``shuffle``.

    Examples
    --------
    >>> import numpy as np
    >>> from varpu.model_selection import PUStratifiedKFold
    >>> X, y = np.arange(12).reshape(-1, 1), np.repeat([1, 0], [4, 8])
    >>> [int(y[test].sum()) for _, test in PUStratifiedKFold(4, random_state=0).split(X, y)]
    [1, 1, 1, 1]
    """

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = None
    ) -> None:
        if not shuffle and random_state is not None:
            raise PUInputError(
                "random_state decides the shuffling, but shuffle is False; leave it None"
            )
        self.n_splits = whole("n_splits", n_splits, 2)
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return self.n_splits

    def split(
        self, X: Any, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[Ids, Ids]]:
        """Row numbers to train on and to test on, once for each fold.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n, ...)
        y : array of shape (n,)
            Two values; the larger marks labelled positives.
        groups : array of shape (n,), optional
            Rows of one group stay together, besides copies.
        """
        positive = check_rows(X, y)
        ids = rows_together(X, positive, groups)
        check_enough(positive, ids, self.n_splits)
        random = check_random_state(self.random_state) if self.shuffle else None
        fold = deal(positive, ids, np.ones((self.n_splits, 2)), random)
        check_sides(positive, fold, self.n_splits)
        for number in range(self.n_splits):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)
