"""What models of the family "kernels" share: a ratio a fold, over one view of the table."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import gen_batches

from varpu.crossfit import Split

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


@dataclass(kw_only=True)
class FoldRatios(ABC):
    """A model a fold, that says ``f_P/f`` of a row.

    Attributes
    ----------
    log_means : array of shape (folds,)
        ``log E_U`` of the ratio as it comes, which makes it a density ratio.
    """

    log_means: Floats

    _batch: ClassVar[int] = 2048  # rows scored at once

    @abstractmethod
    def _unscaled(self, view: Floats) -> Floats:
        """The logarithm of the ratio as it comes, by each fold, shape (n, folds)."""

    def unscaled(self, view: Floats) -> Floats:
        """The same of any number of rows, shape (folds, n)."""
        batches = gen_batches(len(view), self._batch)
        return np.concatenate([self._unscaled(view[batch]) for batch in batches]).T

    def log_ratios(self, view: Floats) -> Floats:
        """``log f_P/f`` by each fold, shape (folds, n)."""
        return self.unscaled(view) - self.log_means[:, None]

    def predict(self, view: Floats) -> Floats:
        """``log f_P/f`` of new rows: the mean over folds."""
        return np.asarray(self.log_ratios(view).mean(axis=0))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything there is to it."""
        return {one.name: np.atleast_1d(getattr(self, one.name)) for one in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """What :meth:`to_arrays` gave."""
        return cls(
            **{
                one.name: arrays[one.name].item() if one.type in (float, bool) else arrays[one.name]
                for one in fields(cls)
            }
        )


def fold_of_rows(n: int, splits: list[Split]) -> Rows:
    """The number of the fold that holds each of ``n`` rows out; 0 where none does."""
    fold = np.zeros(n, dtype=np.int64)
    for k, split in enumerate(splits):
        fold[split.held_out_p] = fold[split.held_out_u] = k
    return fold


def some_of(rows: Rows, most: int, random: np.random.RandomState) -> Rows:
    """All rows, or as many of them as there may be, drawn."""
    return rows if len(rows) <= most else random.choice(rows, most, replace=False)


def out_of_fold(log_ratios: Floats, splits: list[Split]) -> Floats:
    """Of each row of the marginal and of P the score by the fold that held it out, shape (n,).

    Parameters
    ----------
    log_ratios : array of shape (folds, n)
    splits : list of Split
        One a fold.
    """
    found = np.full(log_ratios.shape[1], np.nan)
    for by_fold, split in zip(log_ratios, splits, strict=True):
        held_out = np.union1d(split.held_out_p, split.held_out_u)
        found[held_out] = by_fold[held_out]
    return found
