"""Ratios of kernel densities against sums written out, and against known densities."""

import numpy as np
import pytest

from varpu.auto import densities
from varpu.crossfit import fold_splits

SCENARIOS = ("single-set", "case-control")


def folds_of(X, y, scenario="single-set", n_folds=3):
    return fold_splits(X, y == 1, n_folds, scenario, np.random.RandomState(0))


def fit(X, splits, width=0.4, seed=7):
    return densities.fit_densities(X, splits, width, np.random.RandomState(seed))


def density(points, others, width):
    """The mean of Gaussian kernels, without the factor that makes it a density."""
    apart = ((points[:, None] - others[None]) ** 2).sum(axis=2)
    return np.exp(-apart / (2 * width**2 * points.shape[1])).mean(axis=1)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_against_sums_written_out(two_gaussians, scenario):
    X, _, y = two_gaussians(90)
    new, _, _ = two_gaussians(20, seed=1)
    splits = folds_of(X, y, scenario)
    found, log_ratio = fit(X, splits)
    of_folds = []
    for split in splits:

        def ratio(points, split=split, without=None):
            by_kind = []
            for side in (split.p, split.u):
                total = density(points, X[side], 0.4) * len(side)
                if without is not None:
                    total = total - np.isin(without, side)  # a row's kernel is 1 at its own place
                by_kind.append(total / len(side))
            return 0.1 + by_kind[0] / by_kind[1]

        mean = ratio(X[split.u], without=split.u).mean()
        held_out = np.union1d(split.held_out_p, split.held_out_u)
        expected = np.log(ratio(X[held_out]) / mean)
        np.testing.assert_allclose(log_ratio[held_out], expected, atol=1e-7)
        of_folds.append(np.log(ratio(new) / mean))
    np.testing.assert_allclose(found.log_ratios(new), of_folds, atol=1e-7)
    np.testing.assert_allclose(found.predict(new), np.mean(of_folds, axis=0), atol=1e-7)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_ratio_is_that_of_the_smoothed_densities(known_ratio, scenario):
    """A Gaussian smoothed by kernels of width 0.4 is one of variance 1 + 0.4^2."""
    X, y, ratio = known_ratio(scenario, 2.0)
    _, log_ratio = fit(X, folds_of(X, y, scenario), width=0.4)
    odds = (ratio / (2 - ratio)) ** (1 / (1 + 0.4**2))
    expected = 0.1 + odds / (0.5 * odds + 0.5)
    marginal = np.ones(len(y), dtype=bool) if scenario == "single-set" else y == 0
    expected /= expected[marginal].mean()
    assert np.abs(log_ratio - np.log(expected)).mean() < 0.08


def test_beyond_all_rows_the_ratio_is_that_of_no_knowledge(two_gaussians):
    X, _, y = two_gaussians(200)
    found, _ = fit(X, folds_of(X, y))
    far = found.log_ratios(np.full((1, 3), 1e3))[:, 0]
    np.testing.assert_allclose(far, np.log(1.1) - found.log_means)


def test_more_rows_than_points_change_little(two_gaussians, monkeypatch):
    X, _, y = two_gaussians(3000)
    splits = folds_of(X, y)
    whole, of_all = fit(X, splits)
    monkeypatch.setattr(densities, "_MOST_POINTS", 800)
    part, of_part = fit(X, splits)
    assert len(part.points) <= 1600 < len(whole.points)
    np.testing.assert_allclose(part.shares_u.sum(axis=0), 1)
    assert np.abs(of_part - of_all).mean() < 0.15
    assert np.exp(of_part).mean() == pytest.approx(1, abs=0.06)
