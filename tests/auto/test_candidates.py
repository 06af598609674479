"""What is compared: the fits by name, on one set of folds, and their models as arrays."""

import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.metrics import roc_auc_score

from varpu.auto import candidates, mixtures, networks
from varpu.auto.candidates import (
    FAMILIES,
    Limits,
    Problem,
    Table,
    families_for,
    fits,
    model_from_arrays,
)
from varpu.auto.columns import Columns
from varpu.crossfit import fold_splits

SCENARIOS = ("single-set", "case-control")
NO_LIMITS = Limits(None, np.inf)


def problem_of(X, y, scenario="single-set", n_folds=3, seed=5):
    splits = fold_splits(X, y == 1, n_folds, scenario, np.random.RandomState(0))
    table = Table(X, None if scipy.sparse.issparse(X) else Columns.learn(X))
    return Problem(table, y == 1, splits, scenario, seed, n_threads=1, device="cpu")


def fit_all(problem, families):
    return [one for _, _, fit in fits(problem, families) for one in fit(NO_LIMITS)]


def test_all_fits_by_name_family_by_family(two_gaussians):
    X, _, y = two_gaussians(60)
    found = [(family, name) for family, name, _ in fits(problem_of(X, y), FAMILIES)]
    assert [family for family, _ in found] == ["trees"] * 7 + ["kernels"] * 10 + ["networks"] * 2
    names = [name for _, name in found]
    assert {f"trees of {leaves} leaves" for leaves in (3, 7, 15, 31, 127)} == {*names[:5]}
    assert names[5:7] == ["oblique trees of 15 leaves", "oblique trees of 7 leaves"]
    assert names[7:] == [
        "kernel, whitened, 0.3/d, C 10",
        "kernel, whitened, 0.3/d, C 1",
        "kernel, whitened, 1/d, C 1",
        "kernel, scores, 1/d, power 2, C 10",
        "densities, width 0.2",
        "densities, width 0.4",
        "graph, whitened, smoothing 3",
        "graph, scores, smoothing 1",
        "mixtures, scores",
        "mixtures, whitened",
        "networks, standard",
        "networks, ranked",
    ]


def test_what_needs_fewer_columns_is_left_out_where_there_are_many(monkeypatch):
    rng = np.random.default_rng(0)
    problem = problem_of(rng.normal(size=(60, mixtures.MOST_COLUMNS + 1)), np.arange(60) % 3 == 0)
    names = [name for _, name, _ in fits(problem, FAMILIES)]
    assert len(names) == 19 - 2
    assert not any(name.startswith("mixtures") for name in names)
    many = rng.normal(size=(60, 501))
    assert not problem_of(many, np.arange(60) % 3 == 0).table.has_directions


def test_trees_see_a_diagonal_where_there_are_directions(two_gaussians):
    """Two columns that nearly agree; the class is which is the larger."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(2000, 1))
    X = np.hstack([common + 0.1 * rng.normal(size=(2000, 2)), rng.normal(size=(2000, 4))])
    truth = X[:, 0] > X[:, 1]
    y = (truth & (rng.random(2000) < 0.2)).astype(int)
    trees = fit_all(problem_of(X, y), ("trees",))
    area = {one.name: roc_auc_score(truth, one.log_ratio) for one in trees}
    plain = max(value for name, value in area.items() if not name.startswith("oblique"))
    assert area["oblique trees of 7 leaves"] > plain + 0.02
    assert area["oblique trees of 7 leaves"] > 0.95


def test_a_family_that_is_not_wanted_is_not_there(two_gaussians):
    X, _, y = two_gaussians(60)
    for family in FAMILIES:
        assert {found for found, _, _ in fits(problem_of(X, y), (family,))} == {family}


def test_a_sparse_table_is_for_trees():
    assert families_for(scipy.sparse.csr_matrix((3, 2)), FAMILIES) == ("trees",)
    assert families_for(np.zeros((3, 2)), ("kernels", "trees")) == ("kernels", "trees")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_each_row_has_a_fold_and_that_is_where_it_is_held_out(two_gaussians, scenario):
    X, _, y = two_gaussians(90)
    problem = problem_of(X, y, scenario)
    for k, split in enumerate(problem.splits):
        held_out = np.union1d(split.held_out_p, split.held_out_u)
        np.testing.assert_array_equal(np.flatnonzero(problem.fold == k), held_out)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_out_of_fold_ratios_of_every_family_have_one_unit(two_gaussians, short, few, scenario):
    X, _, y = two_gaussians(4000)
    problem = problem_of(X, y, scenario)
    found = fit_all(problem, FAMILIES)
    assert [one.family for one in found] == ["trees"] * 2 + ["kernels"] * 4 + ["networks"] * 6
    in_u = np.ones(4000, dtype=bool) if scenario == "single-set" else y == 0
    for one in found:
        assert np.isfinite(one.log_ratio).all()
        assert np.exp(one.log_ratio[in_u]).mean() == pytest.approx(1, abs=0.06), one.name


def test_each_row_is_scored_by_the_model_of_its_fold(two_gaussians, few, short):
    """Out-of-fold scores, from the models alone; the mean over folds is for new rows."""
    X, _, y = two_gaussians(200)
    problem = problem_of(X, y)
    trees, oblique, kernel, density, _, mixture, network, *_ = fit_all(problem, FAMILIES)
    for k, split in enumerate(problem.splits):
        rows = split.held_out_u
        for some_trees in (trees, oblique):
            one = candidates.GrownTrees(
                some_trees.model.boosters[k : k + 1],
                some_trees.model.log_means[k : k + 1],
                some_trees.model.round,
                *[None] * 3,
            )
            view = problem.table.view(some_trees.view)[rows]
            np.testing.assert_allclose(some_trees.log_ratio[rows], one.predict(view))
        # What a graph says of its own nodes is in test_graphs.
        for one_kernel in (kernel, density, mixture):
            view = problem.table.view(one_kernel.view)[rows]
            found = one_kernel.model.log_ratios(view)[k]
            np.testing.assert_allclose(one_kernel.log_ratio[rows], found)
        alone = networks.Ensemble(
            network.model.networks[k : k + 1], network.model.log_means[:, k : k + 1], np.ones(1)
        )
        device = networks.pick_device("cpu")
        view = problem.table.view("standard")[rows]
        np.testing.assert_allclose(network.log_ratio[rows], alone.predict(view, device))


def test_identical_rows_have_one_score_in_every_family(two_gaussians, few, short):
    X, _, y = two_gaussians(100)
    doubled, labels = np.vstack([X, X]), np.concatenate([y, 0 * y])  # the twin is not labelled
    for one in fit_all(problem_of(doubled, labels), FAMILIES):
        np.testing.assert_allclose(one.log_ratio[:100], one.log_ratio[100:], atol=1e-12)


def test_arrays_and_back(two_gaussians, few, short):
    X, _, y = two_gaussians(200)
    X[::7, 1] = np.nan
    problem = problem_of(X, y)
    new = Table(X[:50], problem.table._columns)
    for one in fit_all(problem, FAMILIES):
        again = candidates.Candidate(
            one.name,
            one.family,
            one.view,
            model_from_arrays(one.family, one.to_arrays()),
            one.log_ratio,
        )
        np.testing.assert_array_equal(again.predict(new, "cpu"), one.predict(new, "cpu"))
        assert all(isinstance(array, np.ndarray) for array in one.to_arrays().values())


def test_the_seed_decides(two_gaussians, few, short):
    X, _, y = two_gaussians(120)
    first, second, other = (fit_all(problem_of(X, y, seed=seed), FAMILIES) for seed in (1, 1, 2))
    for one, same, another in zip(first, second, other, strict=True):
        np.testing.assert_array_equal(one.log_ratio, same.log_ratio)
        # Of so few rows densities and graphs take every one.
        is_drawn = not one.name.startswith(("densities", "graph"))
        assert (one.log_ratio != another.log_ratio).any() == is_drawn, one.name


def test_a_deadline_that_is_past_leaves_networks_one_epoch(two_gaussians, monkeypatch):
    X, _, y = two_gaussians(100)
    seen = []
    train = networks.train_networks

    def spy(*args):
        seen.append(train(*args))
        return seen[-1]

    monkeypatch.setattr(networks, "train_networks", spy)
    _, _, fit = next(fits(problem_of(X, y), ("networks",)))
    found = fit(Limits(time.monotonic() - 1, np.inf))
    assert len(seen[0].history) == 1
    assert all(np.isfinite(one.log_ratio).all() for one in found)


def test_views_are_made_once_and_when_wanted(monkeypatch):
    frame = pd.DataFrame({"x": np.arange(20.0)})
    columns = Columns.learn(frame)
    calls = []
    for view in ("standard", "ranked"):
        own = getattr(Columns, view)
        monkeypatch.setattr(
            Columns,
            view,
            lambda self, rows, own=own, view=view: calls.append(view) or own(self, rows),
        )
    table = Table(frame, columns)
    assert calls == []
    assert table.view("standard") is table.view("standard")
    assert table.view("rows") is frame
    assert calls == ["standard"]
