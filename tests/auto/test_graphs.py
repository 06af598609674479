"""Labels smoothed over neighbours against the linear system solved whole, and what it is for."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from varpu.auto import graphs, kernels
from varpu.crossfit import fold_splits, pooled_loss

SCENARIOS = ("single-set", "case-control")


def folds_of(X, y, scenario="single-set", n_folds=3):
    return fold_splits(X, y == 1, n_folds, scenario, np.random.RandomState(0))


def fit(X, splits, scenario="single-set", smoothing=3.0, seed=7):
    random = np.random.RandomState(seed)
    return graphs.fit_graph(X, splits, smoothing, scenario == "single-set", random)


def distances(X):
    return np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("smoothing", [1.0, 3.0])
def test_against_the_system_solved_whole(two_gaussians, scenario, smoothing):
    X, _, y = two_gaussians(120)
    X = X[np.lexsort(X.T[::-1])]  # the order that distinct rows have
    splits = folds_of(X, y, scenario)
    found, log_ratio = fit(X, splits, scenario, smoothing)
    np.testing.assert_array_equal(found.nodes, X)

    apart = distances(X)
    np.fill_diagonal(apart, np.inf)
    near = np.argsort(apart, axis=1)[:, :12]
    width = np.sort(apart, axis=1)[:, 11]
    tie = np.zeros((120, 120))
    for i in range(120):
        tie[i, near[i]] = np.exp(-(apart[i, near[i]] ** 2) / (width[i] * width[near[i]]))
    tie = tie + tie.T
    tie *= 120 / tie.sum()
    laplacian = np.diag(tie.sum(axis=1)) - tie

    for k, split in enumerate(splits):
        told = np.ones(120)
        told[np.union1d(split.held_out_p, split.held_out_u)] = 0
        overall = y[told == 1].mean()
        system = np.diag(told + 1e-4) + smoothing * laplacian
        share = np.linalg.solve(system, told * y + 1e-4 * overall)
        if scenario == "single-set":
            ratio = 0.05 + share / overall
        else:
            odds = np.minimum(share, 0.99) / (1 - np.minimum(share, 0.99))
            ratio = 0.05 + odds / (overall / (1 - overall))
        np.testing.assert_allclose(found.ratios[:, k], ratio, rtol=1e-3)
        # A held-out row has the mean of its neighbours, the nearer the more.
        scores = np.empty(120)
        for i in range(120):
            beyond = apart[i, near[i]] ** 2 - apart[i, near[i]].min() ** 2
            weight = np.exp(-beyond / (width[i] * width[near[i]]))
            scores[i] = weight @ ratio[near[i]] / weight.sum()
        mean = scores[split.held_out_u].mean()
        held_out = np.union1d(split.held_out_p, split.held_out_u)
        np.testing.assert_allclose(log_ratio[held_out], np.log(scores[held_out] / mean), atol=2e-3)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_ratio_of_each_fold_has_mean_one_on_the_rows_held_out(two_gaussians, scenario):
    X, _, y = two_gaussians(600)
    splits = folds_of(X, y, scenario)
    _, log_ratio = fit(X, splits, scenario)
    for split in splits:
        assert np.exp(log_ratio[split.held_out_u]).mean() == pytest.approx(1)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_ratio_is_that_of_the_densities(known_ratio, scenario):
    X, y, ratio = known_ratio(scenario, 1.5)
    # The true one is smooth, so the mean over many neighbours is near it.
    _, log_ratio = fit(X, folds_of(X, y, scenario), scenario, smoothing=300.0)
    assert np.abs(np.exp(log_ratio) - ratio).mean() < 0.2


def test_labels_spread_along_a_band_and_not_across_the_gap():
    """Two rings, one inside the other; twenty labels on the outer one."""
    rng = np.random.default_rng(0)
    truth = rng.random(2000) < 0.5
    angle = rng.uniform(0, 2 * np.pi, 2000)
    radius = np.where(truth, 1.3, 1.0) + 0.03 * rng.normal(size=2000)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    X /= X.std(axis=0)
    y = np.zeros(2000, dtype=int)
    y[rng.choice(np.flatnonzero(truth), 20, replace=False)] = 1
    splits = folds_of(X, y, n_folds=5)
    _, of_graph = fit(X, splits, smoothing=100.0)
    assert roc_auc_score(truth, of_graph) > 0.99
    for setting in kernels.SETTINGS:
        random = np.random.RandomState(0)
        _, of_kernel = kernels.fit_machines(X, splits, setting, True, random)
        assert roc_auc_score(truth, of_graph) > roc_auc_score(truth, of_kernel) + 0.05


def test_rows_that_are_no_nodes_are_scored_by_those_that_are(two_gaussians, monkeypatch):
    X, _, y = two_gaussians(3000)
    splits = folds_of(X, y)
    whole, of_all = fit(X, splits)
    monkeypatch.setattr(graphs, "_MOST_NODES", 1000)
    part, of_part = fit(X, splits)
    assert (len(whole.nodes), len(part.nodes)) == (3000, 1000)
    assert np.isfinite(of_part).all()
    p, u = y * 1.0, np.ones(3000)
    assert pooled_loss(of_part, p, u) == pytest.approx(pooled_loss(of_all, p, u), abs=0.06)


def test_identical_rows_are_one_node(two_gaussians):
    X, _, y = two_gaussians(100)
    doubled, labels = np.vstack([X, X]), np.concatenate([y, 0 * y])
    found, log_ratio = fit(doubled, folds_of(doubled, labels))
    assert len(found.nodes) == 100
    np.testing.assert_array_equal(log_ratio[:100], log_ratio[100:])


def test_few_rows_and_rows_far_from_all():
    X, y = np.arange(6.0).reshape(-1, 1), np.array([1, 0, 0, 1, 0, 0])
    found, log_ratio = fit(X, folds_of(X, y, n_folds=2))
    assert np.isfinite(log_ratio).all()
    assert np.isfinite(found.predict(np.array([[1e6], [-1e6]]))).all()
