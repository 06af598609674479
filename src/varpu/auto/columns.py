"""A table as the models that want plain numbers take it: no gaps, no categories, one unit."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import ndtri

from varpu.exceptions import PUInputError
from varpu.tables import is_category

_MOST_LEVELS = 50
_MOST_QUANTILES = 200
# A column of fewer values says as much by its value as by its rank.
_FEWEST_VALUES = 10
# An outlier should count as far out, not as everything.
_FARTHEST = 6.0
# Directions in which the table hardly varies are noise: this variance is added to all before they
# are made equal. Tables of more columns are not whitened: it would mostly be noise.
_LEAST_VARIANCE, _MOST_WHITENED = 0.05, 500

Floats = NDArray[np.float64]


@dataclass
class Columns:
    """What was learned of the columns, on the marginal sample and without a label.

    Attributes
    ----------
    levels : dict
        For each column of categories, by its position, the levels that get a column of their own.
    means, deviations : arrays of shape (number columns,)
        A missing value becomes the mean, so 0 after scaling.
    has_gaps : bool array of shape (number columns,)
        Columns with missing values get one more that says so.
    quantiles : array of shape (number columns, quantiles)
    is_ranked : bool array of shape (number columns,)
        Columns with enough values for ranks to say more than values.
    centre, whitening : arrays of shape (d,) and (d, d)
        What takes :meth:`scores` to uncorrelated columns of one variance; empty where there are
        too many columns for it.
    """

    levels: dict[int, list[Any]]
    means: Floats
    deviations: Floats
    has_gaps: NDArray[np.bool_]
    quantiles: Floats
    is_ranked: NDArray[np.bool_]
    centre: Floats
    whitening: Floats

    @classmethod
    def learn(cls, table: Any) -> "Columns":
        """From rows of the marginal sample."""
        levels = _common_levels(table)
        numbers = _numbers(table, levels)
        known = ~np.isnan(numbers)
        count = np.maximum(known.sum(axis=0), 1)
        filled = np.where(known, numbers, 0.0)
        means = filled.sum(axis=0) / count
        spread = np.where(known, numbers - means, 0.0)
        deviations = np.sqrt((spread**2).sum(axis=0) / count)
        # A constant column says nothing; dividing by its rounding error would make it shout.
        tiny = deviations <= 1e-12 * np.abs(means)
        filled = np.where(known, numbers, means)
        values = np.array([len(np.unique(column)) for column in filled.T], dtype=np.int64)
        steps = np.linspace(0, 1, min(_MOST_QUANTILES, len(filled)))
        learned = cls(
            levels=levels,
            means=means,
            deviations=np.where(tiny, 1.0, deviations),
            has_gaps=np.asarray(~known.all(axis=0) & known.any(axis=0)),
            quantiles=np.ascontiguousarray(np.quantile(filled, steps, axis=0).T),
            is_ranked=values >= _FEWEST_VALUES,
            centre=np.zeros(0),
            whitening=np.zeros((0, 0)),
        )
        scores = learned.scores(table)
        if 0 < scores.shape[1] <= _MOST_WHITENED:
            learned.centre, learned.whitening = _whitening(scores)
        return learned

    def check(self, table: Any) -> None:
        """New rows must have categories where the others had them, and nowhere else."""
        came = _category_positions(table)
        if came != list(self.levels):
            raise PUInputError(
                f"columns of categories must be where they were in fit, at {list(self.levels)}"
                f" (counted from 0, in a pandas frame); they are at {came}"
            )

    def standard(self, table: Any) -> Floats:
        """Standardised numbers, marks of gaps, and one column a level of each category."""
        numbers = _numbers(table, self.levels)
        gaps = np.isnan(numbers)
        scaled = np.where(gaps, 0.0, (numbers - self.means) / self.deviations)
        parts = [np.clip(scaled, -_FARTHEST, _FARTHEST), gaps[:, self.has_gaps].astype(np.float64)]
        for position, levels in self.levels.items():
            column = table.iloc[:, position].astype(object).to_numpy()
            parts += [(column == level).astype(np.float64)[:, None] for level in levels]
        return np.concatenate(parts, axis=1)

    def ranked(self, table: Any) -> Floats:
        """The same, and beside it each number as the normal score of its rank.

        A network sees heavy tails and crowded regions alike in ranks, and sums in values.
        """
        return np.column_stack([self.standard(table), self._normal_scores(table)])

    def scores(self, table: Any) -> Floats:
        """Standardised, with normal scores of ranks in place of numbers.

        Distances between rows then mean the same in the middle of a column as in its tail.
        """
        view = self.standard(table)
        view[:, np.flatnonzero(self.is_ranked)] = self._normal_scores(table)
        return view

    def whitened(self, table: Any) -> Floats:
        """These scores as uncorrelated columns of one variance.

        Columns that say the same count once in distances between rows.
        """
        scores = self.scores(table)
        return (scores - self.centre) @ self.whitening if len(self.centre) else scores

    def _normal_scores(self, table: Any) -> Floats:
        """Of each column that is ranked, shape (n, ranked columns)."""
        numbers = _numbers(table, self.levels)
        filled = np.where(np.isnan(numbers), self.means, numbers)
        steps = np.linspace(0, 1, self.quantiles.shape[1])
        scores = np.empty((len(filled), int(self.is_ranked.sum())))
        for k, i in enumerate(np.flatnonzero(self.is_ranked)):
            scores[:, k] = _normal_score(filled[:, i], self.quantiles[i], steps)
        return scores

    def to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """As JSON values and arrays."""
        levels = [[position, [_plain(v) for v in known]] for position, known in self.levels.items()]
        arrays: dict[str, NDArray[Any]] = {
            "means": self.means,
            "deviations": self.deviations,
            "has_gaps": self.has_gaps,
            "quantiles": self.quantiles,
            "is_ranked": self.is_ranked,
            "centre": self.centre,
            "whitening": self.whitening,
        }
        return {"levels": levels}, arrays

    @classmethod
    def from_state(cls, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> "Columns":
        """What :meth:`to_state` gave."""
        levels = {int(position): list(known) for position, known in fields["levels"]}
        return cls(levels, **arrays)


def _common_levels(table: Any) -> dict[int, list[Any]]:
    return {
        position: table.iloc[:, position].value_counts().head(_MOST_LEVELS).index.tolist()
        for position in _category_positions(table)
    }


def _category_positions(table: Any) -> list[int]:
    if not isinstance(table, pd.DataFrame):
        return []
    return [i for i in range(table.shape[1]) if is_category(table.iloc[:, i])]


def _numbers(table: Any, levels: dict[int, list[Any]]) -> Floats:
    """The columns of numbers, missing values as NaN."""
    if scipy.sparse.issparse(table):
        table = table.toarray()
    if not isinstance(table, pd.DataFrame):
        return np.asarray(table, dtype=np.float64)
    positions = [i for i in range(table.shape[1]) if i not in levels]
    return table.iloc[:, positions].to_numpy(np.float64, na_value=np.nan)


def _normal_score(values: Floats, quantiles: Floats, steps: Floats) -> Floats:
    # Tied quantiles span a range of ranks; the mean of its ends is the middle.
    low = np.interp(values, quantiles, steps)
    high = 1 - np.interp(-values, -quantiles[::-1], steps)
    return ndtri(np.clip((low + high) / 2, 2e-4, 1 - 2e-4))


def _whitening(scores: Floats) -> tuple[Floats, Floats]:
    centre = scores.mean(axis=0)
    spread = (scores - centre).T @ (scores - centre) / len(scores)
    variances, axes = np.linalg.eigh(spread + _LEAST_VARIANCE * np.eye(len(centre)))
    return centre, np.ascontiguousarray(axes / np.sqrt(variances))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
