"""Folds, the pooled loss and blends, against closed forms and brute force."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import entropy

from varpu.crossfit import assign_folds, blend, blend_weights, fold_splits, pooled_loss
from varpu.exceptions import PUInputError


def test_it_needs_no_learning_library():
    code = "import sys, varpu.crossfit; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "lightgbm"} & set(done.stdout.split())


def folds_of(X, positive, n_folds, seed=0):
    return assign_folds(X, np.asarray(positive), n_folds, np.random.RandomState(seed))


def table(n=100, n_labelled=23, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)), np.arange(n) < n_labelled


def test_every_fold_has_its_share_of_both_kinds():
    X, positive = table()
    fold = folds_of(X, positive, 5)
    assert set(np.bincount(fold[positive])) <= {4, 5}
    assert set(np.bincount(fold[~positive])) <= {15, 16}


def test_identical_rows_are_in_one_fold():
    X, positive = table()
    copied = np.vstack([X, X[positive], X[::3]])  # unlabelled copies of labelled rows among them
    fold = folds_of(copied, np.concatenate([positive, np.zeros(len(copied) - 100, bool)]), 5)
    np.testing.assert_array_equal(fold[100:123], fold[:23])
    np.testing.assert_array_equal(fold[123:], fold[:100:3])


def test_rows_that_are_alike_by_chance_are_in_all_folds():
    X = np.random.default_rng(0).integers(0, 2, (600, 3))
    positive = np.arange(600) < 60
    fold = folds_of(X, positive, 5)
    for kind in np.unique(X, axis=0):
        assert set(fold[(kind == X).all(axis=1)]) == set(range(5))
    assert set(np.bincount(fold[positive])) == {12}


def test_images_are_rows_too():
    images = np.random.default_rng(0).integers(0, 9, (40, 1, 4, 4), dtype=np.uint8)
    images[20:] = images[:20]
    fold = folds_of(images, np.arange(40) < 20, 4)
    np.testing.assert_array_equal(fold[20:], fold[:20])


@pytest.mark.parametrize("kind", ["labelled", "unlabelled"])
def test_there_are_no_more_folds_than_distinct_rows_of_either_kind(kind):
    X, positive = table(60, 12)
    X[:12] = X[np.arange(12) % 3]  # three distinct rows of one kind, four times each
    fold = folds_of(X, positive if kind == "labelled" else ~positive, 5)
    assert set(fold) == {0, 1, 2}


def test_copies_that_crowd_a_fold_leave_none_without_a_kind():
    """Group sizes (P, U): in three folds the two largest would be with no unlabelled row."""
    sizes = [(5, 0), (5, 0), (3, 1), (1, 1), (0, 1)]
    X = np.repeat(np.arange(5.0), [p + u for p, u in sizes]).reshape(-1, 1)
    positive = np.concatenate([np.repeat([True, False], size) for size in sizes])
    fold = folds_of(X, positive, 3)
    for which in (positive, ~positive):
        assert set(fold[which]) == {0, 1}


@pytest.mark.parametrize(
    ("X", "positive"),
    [
        ([[1.0], [2.0], [3.0]], [True, False, False]),
        ([[1.0], [2.0], [3.0]], [True, True, False]),
        ([[1.0], [1.0], [2.0], [3.0]], [True, True, False, False]),  # two rows, but the same
        ([[1.0]], [True]),
    ],
)
def test_too_few_rows(X, positive):
    with pytest.raises(PUInputError, match=r"at least 2 distinct labelled rows .*\(1 sample"):
        folds_of(np.array(X), positive, 5)


def test_the_seed_decides_the_folds():
    X, positive = table()
    np.testing.assert_array_equal(folds_of(X, positive, 5, 1), folds_of(X, positive, 5, 1))
    assert (folds_of(X, positive, 5, 1) != folds_of(X, positive, 5, 2)).any()


@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
def test_splits_are_the_folds(scenario):
    X, positive = table()
    splits = fold_splits(X, positive, 4, scenario, np.random.RandomState(3))
    fold = folds_of(X, positive, 4, seed=3)
    marginal = np.ones(100, bool) if scenario == "single-set" else ~positive
    assert len(splits) == 4
    for k, split in enumerate(splits):
        np.testing.assert_array_equal(split.held_out_p, np.flatnonzero(positive & (fold == k)))
        np.testing.assert_array_equal(split.held_out_u, np.flatnonzero(marginal & (fold == k)))
        np.testing.assert_array_equal(split.p, np.flatnonzero(positive & (fold != k)))
        np.testing.assert_array_equal(split.u, np.flatnonzero(marginal & (fold != k)))
        np.testing.assert_array_equal(np.sort(split.labelled), np.flatnonzero(positive))
        np.testing.assert_array_equal(np.sort(split.marginal), np.flatnonzero(marginal))


class Atoms:
    """Ten values with known masses under P and in the marginal, so that all truths are sums."""

    def __init__(self, seed=0, n=10):
        rng = np.random.default_rng(seed)
        self.p = rng.dirichlet(np.ones(n))
        self.u = 0.3 * self.p + 0.7 * rng.dirichlet(np.ones(n))
        self.truth = np.log(self.p / self.u)

    def noisy(self, k, size, seed=1):
        noise = np.random.default_rng(seed).normal(0, size, (k, len(self.p)))
        return self.truth + noise

    def loss(self, log_ratio):
        return pooled_loss(log_ratio, self.p, self.u)

    def weights(self, log_ratios):
        return blend_weights(log_ratios, self.p, self.u, shrinkage=0)


def test_the_loss_is_least_at_the_density_ratio_and_there_minus_the_divergence():
    atoms = Atoms()
    assert atoms.loss(atoms.truth) == pytest.approx(-entropy(atoms.p, atoms.u))
    for other in atoms.noisy(20, 0.1):
        assert atoms.loss(other) > atoms.loss(atoms.truth)


def test_the_loss_does_not_see_the_scale():
    atoms = Atoms()
    (scores,) = atoms.noisy(1, 1.0)
    assert atoms.loss(scores + 7) == pytest.approx(atoms.loss(scores))


def test_weights_are_copies():
    rng = np.random.default_rng(0)
    scores, p, u = rng.normal(size=50), rng.integers(0, 3, 50), rng.integers(0, 4, 50)
    copied = np.log(np.exp(np.repeat(scores, u)).mean()) - np.repeat(scores, p).mean()
    assert pooled_loss(scores, p * 1.0, u * 1.0) == pytest.approx(copied)


def test_extreme_scores():
    p, u = np.array([1.0, 1.0, 0.0]), np.array([1.0, 1.0, 2.0])
    far = np.array([1e5, 1e5, -1e5])  # E_U = e^1e5 / 2
    assert pooled_loss(far, p, u) == pytest.approx(np.log(0.5))
    assert pooled_loss(-far[::-1], p[::-1], u[::-1]) == pytest.approx(2e5 + np.log(0.5))
    # A row that weighs nothing has no say, and neither has one that no positive is like.
    assert pooled_loss(np.array([0.0, 0.0, -np.inf]), p, u) == pytest.approx(np.log(0.5))
    assert np.isnan(pooled_loss(np.full(3, np.nan), p, u))


def test_blend_is_the_log_of_the_mean_of_ratios():
    scores = np.random.default_rng(0).normal(size=(3, 8))
    weights = np.array([0.5, 0.2, 0.3])
    np.testing.assert_allclose(blend(scores, weights), np.log(weights @ np.exp(scores)))
    np.testing.assert_allclose(blend(scores + 1e4, weights), blend(scores, weights) + 1e4)


def test_blend_of_one_member_is_that_member_to_the_bit():
    scores = np.random.default_rng(0).normal(size=(2, 50)) * 30
    scores[1] = np.nan
    np.testing.assert_array_equal(blend(scores, np.array([1.0, 0.0])), scores[0])
    nothing = np.full((2, 1), -np.inf)
    assert blend(nothing, np.array([0.5, 0.5])) == -np.inf


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [2, 5])
def test_a_blend_is_no_worse_than_its_best_member(seed, k):
    atoms = Atoms(seed)
    members = atoms.noisy(k, np.linspace(0.1, 2.0, k)[:, None], seed)
    weights = atoms.weights(members)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    best = min(atoms.loss(member) for member in members)
    assert atoms.loss(blend(members, weights)) <= best + 1e-12


@pytest.mark.parametrize("shift", [0.0, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_two_members_against_a_search_over_all_weights(seed, shift):
    """Whatever unit the members come in: the weights are for the ratios as given."""
    atoms = Atoms(seed)
    members = atoms.noisy(2, 0.7, seed) + np.array([[0.0], [shift]])
    grid = np.linspace(0, 1, 2001)
    losses = [atoms.loss(blend(members, np.array([1 - w, w]))) for w in grid]
    weights = atoms.weights(members)
    assert atoms.loss(blend(members, weights)) == pytest.approx(min(losses), abs=1e-6)
    assert weights[1] == pytest.approx(grid[int(np.argmin(losses))], abs=0.01)


def test_two_halves_of_the_truth_are_put_together():
    """Each member is the ratio of a part of P; their mixture in the right shares is f_P/f."""
    atoms = Atoms()
    part = np.arange(10) < 5
    halves = [np.where(w, atoms.p, 1e-3 * atoms.p) for w in (part, ~part)]
    members = np.log([half / half.sum() / atoms.u for half in halves])
    weights = atoms.weights(members)
    assert atoms.loss(blend(members, weights)) == pytest.approx(atoms.loss(atoms.truth), abs=1e-5)
    assert weights[0] == pytest.approx(atoms.p[part].sum(), abs=0.01)


def test_beside_the_truth_a_useless_member_gets_nothing():
    atoms = Atoms()
    for useless in (np.zeros(10), *atoms.noisy(3, 1.0)):
        members = np.stack([useless, atoms.truth])
        np.testing.assert_array_equal(atoms.weights(members), [0, 1])


def test_a_member_that_diverged_gets_nothing():
    atoms = Atoms()
    members = atoms.noisy(3, 0.5)
    members[1] = np.nan
    weights = atoms.weights(members)
    assert weights[1] == 0
    np.testing.assert_allclose(weights[[0, 2]], atoms.weights(members[[0, 2]]))
    with pytest.raises(PUInputError, match="finite scores; there is none"):
        atoms.weights(members[1:2])


def test_extreme_members_are_blended():
    """Ratios far outside of what a float can hold."""
    p, u = np.array([0.5, 0.3, 0.2]), np.full(3, 1 / 3)
    members = np.array([[2000.0, -2000.0, -2000.0], [-2000.0, 2000.0, 2000.0]])
    weights = blend_weights(members, p, u, shrinkage=0)
    assert np.isfinite(weights).all()
    # As mixtures: all of E_U on one atom, and on the two others. Shares of P are the weights,
    # times E_U of each member to come back to its own unit.
    expected = np.array([0.5 / (1 / 3), 0.5 / (2 / 3)])
    np.testing.assert_allclose(weights, expected / expected.sum(), rtol=1e-4)
    # A positive that no member expected leaves the choice to the others.
    surprise = np.column_stack([members, [-2000.0, -2000.0]])
    found = blend_weights(surprise, np.append(p, 0.1), np.append(u, 1.0), shrinkage=0)
    assert np.isfinite(found).all()
    assert (found > 0.1).all()


def counted(atoms, n_positives):
    """Weights as counts: shrinkage is counted in labelled rows."""
    return atoms.p * n_positives, atoms.u * 10 * n_positives


@pytest.mark.parametrize("shrinkage", [0.0, 1.0, 10.0, 1e6])
@pytest.mark.parametrize("n_positives", [3, 300])
@pytest.mark.parametrize("seed", range(3))
def test_a_blend_is_no_worse_than_its_members_in_the_mean(seed, n_positives, shrinkage):
    """Jensen's inequality, in the unit in which the ratios have the mean 1."""
    atoms = Atoms(seed)
    members = atoms.noisy(4, np.array([[0.2], [0.5], [1.0], [2.0]]), seed)
    members -= np.log(np.exp(members) @ atoms.u)[:, None]
    weights = blend_weights(members, *counted(atoms, n_positives), shrinkage)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    mean = weights @ [atoms.loss(member) for member in members]
    assert atoms.loss(blend(members, weights)) <= mean + 1e-12
    # Whatever the weights are, they are for the ratios as they came.
    shift = np.array([0.0, 2.0, -3.0, 1.0])
    shifted = blend_weights(members + shift[:, None], *counted(atoms, n_positives), shrinkage)
    np.testing.assert_allclose(
        shifted, weights * np.exp(-shift) / (weights @ np.exp(-shift)), rtol=1e-6, atol=1e-12
    )


@pytest.mark.parametrize(("n_positives", "sharpness"), [(40, 8), (250, 50), (10_000, 50)])
def test_much_shrinkage_gives_the_shares_that_are_dealt(n_positives, sharpness):
    atoms = Atoms()
    members = atoms.noisy(4, np.array([[0.1], [0.12], [0.3], [1.0]]))
    members -= np.log(np.exp(members) @ atoms.u)[:, None]
    losses = np.array([atoms.loss(member) for member in members])
    dealt = np.exp(-sharpness * (losses - losses.min()))
    weights = blend_weights(members, *counted(atoms, n_positives), 1e9)
    np.testing.assert_allclose(weights, dealt / dealt.sum(), atol=1e-6)
    assert np.sum(dealt > 0.01 * dealt.sum()) > 1  # not one of many that are nearly as good


def test_shrinkage_against_a_search_over_all_weights():
    """What is maximised: the log-likelihood of the positives and of those that are dealt."""
    atoms = Atoms(1)
    members = atoms.noisy(2, 0.3, 1)
    members -= np.log(np.exp(members) @ atoms.u)[:, None]
    in_p, in_u = counted(atoms, 40)
    dealt = np.exp(-8 * np.array([atoms.loss(member) for member in members]))
    dealt *= 10 / dealt.sum()
    grid = np.linspace(0, 1, 20_001)[1:-1]
    shares = np.stack([1 - grid, grid])
    likelihood = in_p @ np.log(np.exp(members.T) @ shares) + dealt @ np.log(shares)
    weights = blend_weights(members, in_p, in_u)  # 10 by default
    assert weights[1] == pytest.approx(grid[likelihood.argmax()], abs=1e-3)


def test_with_many_positives_shrinkage_does_not_matter():
    atoms = Atoms(1)
    members = atoms.noisy(3, 0.7, 1)
    plain = blend_weights(members, *counted(atoms, 1e6), 0.0)
    np.testing.assert_allclose(blend_weights(members, *counted(atoms, 1e6)), plain, atol=1e-2)
    few = blend_weights(members, *counted(atoms, 5))
    assert np.abs(few - plain).max() > 0.05


def test_shrinkage_gives_nothing_to_a_member_that_diverged():
    atoms = Atoms()
    members = atoms.noisy(3, 0.5)
    members[1] = np.nan
    weights = blend_weights(members, *counted(atoms, 20))
    assert weights[1] == 0
    assert weights.sum() == pytest.approx(1)
