"""A ratio a fold: batches, storage, which fold scores which row, and what all models keep."""

from dataclasses import dataclass

import numpy as np
import pytest

from varpu.auto import densities, graphs, kernels, mixtures
from varpu.auto.ratios import FoldRatios, out_of_fold
from varpu.crossfit import Split, fold_splits


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


FITS = {
    "kernels": lambda view, splits, single_set, random: kernels.fit_machines(
        view, splits, kernels.SETTINGS[-1], single_set, random
    ),
    "densities": lambda view, splits, single_set, random: densities.fit_densities(
        view, splits, densities.WIDTHS[-1], random
    ),
    "graphs": lambda view, splits, single_set, random: graphs.fit_graph(
        view, splits, graphs.SETTINGS[0].smoothing, single_set, random
    ),
    "mixtures": lambda view, splits, single_set, random: mixtures.fit_mixtures(
        view, splits, random
    ),
}
of_every_model = pytest.mark.parametrize("fit", FITS.values(), ids=FITS)


def folds_of(X, y, scenario="single-set", n_folds=3):
    return fold_splits(X, y == 1, n_folds, scenario, np.random.RandomState(0))


@of_every_model
def test_labels_of_a_fold_have_no_say_in_its_scores(two_gaussians, one_label_less, fit):
    X, _, y = two_gaussians(150)
    splits = folds_of(X, y)
    first, second = (
        fit(X, told, True, np.random.RandomState(7))[1] for told in (splits, one_label_less(splits))
    )
    same = np.isclose(first, second, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(np.flatnonzero(same), splits[0].held_out_u)


@of_every_model
def test_columns_that_say_nothing(two_gaussians, fit):
    _, _, y = two_gaussians(200)
    splits = folds_of(np.arange(200.0)[:, None], y)
    model, log_ratio = fit(np.zeros((200, 2)), splits, True, np.random.RandomState(7))
    np.testing.assert_allclose(log_ratio, 0, atol=1e-6)
    assert np.ptp(model.predict(np.zeros((3, 2)))) == 0


@of_every_model
def test_a_row_far_from_all_has_a_score(two_gaussians, fit):
    X, _, y = two_gaussians(200)
    model, _ = fit(X, folds_of(X, y), True, np.random.RandomState(7))
    assert np.isfinite(model.log_ratios(np.array([[1e4] * 3, [-1e4] * 3]))).all()


@of_every_model
@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
def test_what_is_stored_predicts_the_same(two_gaussians, fit, scenario):
    X, _, y = two_gaussians(200)
    splits = folds_of(X, y, scenario)
    model, _ = fit(X, splits, scenario == "single-set", np.random.RandomState(7))
    again = type(model).from_arrays(model.to_arrays())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@of_every_model
def test_the_seed_decides(two_gaussians, monkeypatch, fit):
    # Of so few rows densities and graphs would take every one.
    monkeypatch.setattr(densities, "_MOST_POINTS", 60)
    monkeypatch.setattr(graphs, "_MOST_NODES", 60)
    X, _, y = two_gaussians(200)
    splits = folds_of(X, y)
    first, second, other = (
        fit(X, splits, True, np.random.RandomState(seed))[1] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
