"""A ratio a fold: batches, the mean over folds, storage, and which fold scores which row."""

from dataclasses import dataclass

import numpy as np

from varpu.auto.ratios import FoldRatios, out_of_fold
from varpu.crossfit import Split


@dataclass(kw_only=True)
class Slopes(FoldRatios):
    """``log f_P/f`` is the slope of a fold times the first column."""

    slopes: np.ndarray
    unit: float
    negated: bool

    def _unscaled(self, view):
        sign = -1 if self.negated else 1
        return sign * self.unit * view[:, :1] * self.slopes


def slopes():
    means, factors = np.array([0.5, -1.0]), np.array([2.0, 3.0])
    return Slopes(log_means=means, slopes=factors, unit=0.1, negated=True)


def test_rows_of_many_batches_are_scored_as_one_by_one():
    model = slopes()
    view = np.random.default_rng(0).normal(size=(3 * model._batch + 7, 2))
    scores = model.log_ratios(view)
    expected = [-0.2 * view[:, 0] - 0.5, -0.3 * view[:, 0] + 1.0]
    np.testing.assert_allclose(scores, expected)
    np.testing.assert_allclose(model.predict(view), np.mean(expected, axis=0))
    np.testing.assert_allclose(model.unscaled(view), scores + model.log_means[:, None])


def test_arrays_and_back_keep_what_is_no_array():
    model = slopes()
    arrays = model.to_arrays()
    assert all(isinstance(value, np.ndarray) for value in arrays.values())
    again = Slopes.from_arrays(arrays)
    assert (type(again.unit), type(again.negated)) == (float, bool)
    view = np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(again.log_ratios(view), model.log_ratios(view))


def test_each_row_has_the_score_of_the_fold_that_held_it_out():
    rows = np.arange(4)
    splits = [
        Split(rows[2:3], rows[2:], rows[:1], rows[:2]),
        Split(rows[:1], rows[:2], rows[2:3], rows[2:3]),
    ]
    found = out_of_fold(np.array([[1.0, 2, 3, 4], [5, 6, 7, 8]]), splits)
    np.testing.assert_array_equal(found, [1, 2, 7, np.nan])  # the last was held out by none
