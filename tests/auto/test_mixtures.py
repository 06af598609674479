"""Mixtures over all rows against Bayes' rule written out, and against known densities."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.metrics import roc_auc_score

from varpu.auto import kernels, mixtures
from varpu.crossfit import fold_splits

SCENARIOS = ("single-set", "case-control")


def folds_of(X, y, scenario="single-set", n_folds=3):
    return fold_splits(X, y == 1, n_folds, scenario, np.random.RandomState(0))


def fit(X, splits, seed=7):
    return mixtures.fit_mixtures(X, splits, np.random.RandomState(seed))


def belongs(X, found, own):
    """P(part | x) of the parts of one mixture, by Bayes' rule."""
    covariances = [np.linalg.inv(factor @ factor.T) for factor in found.precisions[own]]
    terms = np.column_stack(
        [
            share * multivariate_normal(centre, covariance).pdf(X)
            for share, centre, covariance in zip(
                found.shares[own], found.centres[own], covariances, strict=True
            )
        ]
    )
    return terms / terms.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scores_are_the_mean_over_mixtures_of_what_parts_count(two_gaussians, scenario):
    X, _, y = two_gaussians(300)
    new, _, _ = two_gaussians(40, seed=1)
    splits = folds_of(X, y, scenario)
    found, log_ratio = fit(X, splits)
    assert len(found.sizes) == 12
    assert found.sizes.sum() == len(found.shares)
    ends = found.sizes.cumsum()
    members = [slice(end - size, end) for end, size in zip(ends, found.sizes, strict=True)]

    def ratio(rows):
        return np.mean([belongs(rows, found, own) @ found.ratios[own] for own in members], axis=0)

    for k, split in enumerate(splits):
        mean = ratio(X[split.u])[:, k].mean()
        held_out = np.union1d(split.held_out_p, split.held_out_u)
        np.testing.assert_allclose(log_ratio[held_out], np.log(ratio(X[held_out])[:, k] / mean))
        np.testing.assert_allclose(found.log_ratios(new)[k], np.log(ratio(new)[:, k] / mean))
    np.testing.assert_allclose(found.predict(new), found.log_ratios(new).mean(axis=0))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_parts_count_is_where_the_positives_are_likeliest(two_gaussians, scenario):
    """At the maximum all parts gain alike, and the marginal's own share of each is 1 in sum."""
    X, _, y = two_gaussians(400)
    splits = folds_of(X, y, scenario)
    found, _ = fit(X, splits)
    own = slice(0, found.sizes[0])
    who = belongs(X, found, own)
    for k, split in enumerate(splits):
        share = who[split.u].mean(axis=0)
        weight = found.ratios[own, k] * share
        assert weight.sum() == pytest.approx(1, abs=1e-6)
        of_p = who[split.p] * found.ratios[own, k]
        gained = (of_p / of_p.sum(axis=1, keepdims=True)).sum(axis=0) + 2 * share
        np.testing.assert_allclose(weight, gained / gained.sum(), atol=1e-4)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_ratio_is_near_that_of_the_densities(known_ratio, scenario):
    X, y, ratio = known_ratio(scenario, 4.0)
    _, log_ratio = fit(X, folds_of(X, y, scenario))
    marginal = np.ones(len(y), dtype=bool) if scenario == "single-set" else y == 0
    assert np.exp(log_ratio[marginal]).mean() == pytest.approx(1, abs=0.02)
    assert np.abs(np.exp(log_ratio) - ratio).mean() < 0.15


def test_few_positives_are_enough_where_negatives_keep_together():
    """Thirty labels among 2,000 rows, nine in ten positive, in six columns."""
    gains = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        truth = rng.random(2000) < 0.9
        X = rng.normal(size=(2000, 6))
        X[~truth] = 0.5 * X[~truth] + 2
        y = np.zeros(2000, dtype=int)
        y[rng.choice(np.flatnonzero(truth), 30, replace=False)] = 1
        splits = folds_of(X, y, n_folds=5)
        _, of_mixtures = fit(X, splits)
        random = np.random.RandomState(0)
        _, of_kernels = kernels.fit_machines(X, splits, kernels.SETTINGS[0], True, random)
        assert roc_auc_score(truth, of_mixtures) > 0.99
        gains.append(roc_auc_score(truth, of_mixtures) - roc_auc_score(truth, of_kernels))
    assert np.mean(gains) > 0.05


def test_few_rows_have_few_parts():
    X, y = np.arange(24.0).reshape(-1, 1), np.tile([1, 0, 0], 8)
    found, log_ratio = fit(X, folds_of(X, y, n_folds=2))
    assert found.sizes.max() == 2
    assert np.isfinite(log_ratio).all()
