"""A data set in memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varpu.exceptions import DatasetError


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows with their classes, all of a data set in the order it was published.

    Attributes
    ----------
    name : str
    X : array of shape (n, n_features) or (n, C, H, W)
        A table of float32, or images of uint8.
    y : array of shape (n,)
        The class of each row, as published; -1 for the unlabelled images of STL-10.
    n_train : int or None
        Rows before it are the published training set, the others its test set. None if none was
        published.
    feature_names : tuple of str
        Empty for images.
    """

    name: str
    X: NDArray[Any]
    y: NDArray[Any]
    n_train: int | None = None
    feature_names: tuple[str, ...] = ()

    @property
    def train(self) -> NDArray[np.int64]:
        """The row numbers of the published training set."""
        return np.arange(self._split())

    @property
    def test(self) -> NDArray[np.int64]:
        """The row numbers of the published test set."""
        return np.arange(self._split(), len(self.y))

    def _split(self) -> int:
        if self.n_train is None:
            raise DatasetError(
                f"{self.name} was published without a test set: split it yourself, for example with"
                " sklearn.model_selection.train_test_split"
            )
        return self.n_train

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, X={self.X.dtype}{self.X.shape}, n_train={self.n_train})"
