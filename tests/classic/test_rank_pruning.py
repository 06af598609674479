"""Rank pruning: its rates by hand and on known noise, what it prunes, and what it then fits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from varpu.classic import RankPruningClassifier
from varpu.classic.rank_pruning import noise_rates, rows_to_keep


def flags(*values):
    return np.array(values, dtype=bool)


def test_rates_by_hand():
    p = np.array([0.9, 0.7, 0.8, 0.1, 0.2, 0.3])
    # The bound is 0.8: one labelled and one unlabelled row reach it.
    rates = noise_rates(p, flags(1, 1, 0, 0, 0, 0), np.zeros(6, dtype=int))
    assert rates.rho1 == 1 / 2
    assert rates.positives == pytest.approx(2 / 3)  # 2 labelled rows are half of the positives
    assert rates.pi0 == pytest.approx(1 / 2)  # and the other 2 are half of the unlabelled rows


def test_rates_are_means_over_folds_with_a_bound_each():
    p = np.array([0.9, 0.7, 0.8, 0.1, 0.2, 0.3])
    # In the second fold all is lower, but 0.2 and 0.3 reach its bound of 0.2: rho1 there is 2/3.
    p, positive = np.concatenate([p, [0.2, 0.3, 0.2, 0.1]]), flags(1, 1, 0, 0, 0, 0, 1, 0, 0, 0)
    rates = noise_rates(p, positive, np.repeat([0, 1], [6, 4]))
    assert rates.rho1 == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_rates_of_equal_scores():
    """The mean of three times 0.1 is above 0.1, in floating point, and no row would reach it."""
    p = np.full(6, 0.1)
    assert p[:3].mean() > 0.1
    rates = noise_rates(p, flags(1, 1, 1, 0, 0, 0), np.zeros(6, dtype=int))
    assert rates == (0.5, 1.0, 0.9999)


def test_rates_stay_below_one():
    p = np.concatenate([[0.1], np.full(99, 0.9)])
    rates = noise_rates(p, np.arange(100) == 0, np.zeros(100, dtype=int))
    assert rates.rho1 == pytest.approx(0.99)
    assert rates.positives == pytest.approx(1.0)
    assert rates.pi0 == 0.9999


def test_what_is_kept_by_hand():
    positive = np.arange(24) < 4
    p = np.concatenate([np.full(4, 0.5), np.linspace(0.05, 1.0, 20)])
    kept = rows_to_keep(p, positive, 0.3)
    np.testing.assert_array_equal(np.flatnonzero(~kept), np.arange(18, 24))
    # Ten unlabelled rows stay whatever the rate, rows that tie with a kept one stay too.
    assert rows_to_keep(p, positive, 0.99)[~positive].sum() == 10
    p[17:] = 0.9
    assert rows_to_keep(p, positive, 0.3).all()
    assert rows_to_keep(p, positive, 0.0).all()
    assert rows_to_keep(p[:14], positive[:14], 0.99).all()


@pytest.mark.parametrize(("prior", "labelled"), [(0.2, 0.5), (0.5, 0.3), (0.7, 0.6)])
def test_known_noise_is_found(two_gaussians, logistic, prior, labelled):
    X, truth, y = two_gaussians(6000, prior, distance=6.0, labelled=labelled)
    model = RankPruningClassifier(estimator=logistic, random_state=0).fit(X, y)
    rho1 = 1 - y.sum() / truth.sum()
    assert model.rho1_ == pytest.approx(rho1, abs=0.05)
    assert model.label_frequency_ == 1 - model.rho1_
    assert model.prior_ == pytest.approx(truth.mean(), abs=0.05)
    assert (model.predict(X) == truth).mean() > 0.98
    assert model.kept_[y == 1].all()
    # But for their number, the pruned rows are the hidden positives.
    hidden, pruned = truth & (y == 0), ~model.kept_
    too_many = abs(int(pruned.sum()) - int(hidden.sum()))
    assert (hidden != pruned).sum() <= too_many + 0.005 * len(y)


def test_case_control(two_gaussians, logistic):
    X, truth, y = two_gaussians(4000, 0.3, distance=6.0, n_positive=1500)
    model = RankPruningClassifier(estimator=logistic, scenario="case-control", random_state=0).fit(
        X, y
    )
    assert model.prior_ == pytest.approx(truth[y == 0].mean(), abs=0.03)
    n_hidden = truth[y == 0].sum()
    assert model.rho1_ == pytest.approx(n_hidden / (n_hidden + 1500), abs=0.04)
    p = model.estimator_.predict_proba(X)[:, 1]
    expected = model.rho1_ * p / (model.rho1_ * p + 1 - p)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-9)
    assert np.exp(model.log_ratio(X[y == 0])).mean() == pytest.approx(1)


def test_the_odds_of_the_marginal(two_gaussians, logistic):
    """From the pool to the marginal the odds change as Bayes' rule says for another prior."""
    X, truth, y = two_gaussians(20_000, 0.3, distance=6.0, n_positive=10_000)
    models = [
        RankPruningClassifier(estimator=logistic, scenario=scenario, random_state=0).fit(X, y)
        for scenario in ("single-set", "case-control")
    ]
    pool, marginal = (model.predict_proba(X)[:, 1] for model in models)
    inside = (pool > 1e-6) & (pool < 1 - 1e-6)
    odds = (marginal / (1 - marginal) / (pool / (1 - pool)))[inside]
    priors = [truth.mean(), truth[y == 0].mean()]
    expected = (priors[1] / (1 - priors[1])) / (priors[0] / (1 - priors[0]))
    assert np.median(odds) == pytest.approx(expected, rel=0.05)


def test_the_last_fit_is_of_kept_rows_with_weights(two_gaussians, logistic):
    X, _, y = two_gaussians(800, distance=3.0)
    model = RankPruningClassifier(estimator=logistic, random_state=0).fit(X, y)
    assert 0 < (~model.kept_).sum() < (y == 0).sum()
    weight = np.where(y == 1, 1 / (1 - model.rho1_), 1.0)[model.kept_]
    again = clone(logistic).fit(
        X[model.kept_], y[model.kept_], logisticregression__sample_weight=weight
    )
    expected = again.predict_proba(X)[:, 1]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-9)


def test_where_nothing_is_hidden_it_is_full_supervision(two_gaussians, logistic):
    X, truth, _ = two_gaussians(600, distance=8.0)
    model = RankPruningClassifier(estimator=logistic, random_state=0).fit(X, truth)
    assert model.rho1_ == 0
    assert model.kept_.all()
    assert model.prior_ == pytest.approx(truth.mean())
    supervised = clone(logistic).fit(X, truth)
    np.testing.assert_allclose(model.predict_proba(X), supervised.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("n_labelled", [12, 30, 60])
def test_few_labels_do_not_make_everything_negative(two_gaussians, n_labelled):
    """Users of another implementation saw it predict nothing but negatives."""
    X, truth, _ = two_gaussians(3000, 0.3, distance=6.0)
    y = np.zeros(3000, dtype=int)
    y[np.flatnonzero(truth)[:n_labelled]] = 1
    model = RankPruningClassifier(random_state=0).fit(X, y)
    assert model.predict(X)[truth].mean() > 2 / 3
    assert (model.predict(X) == truth).mean() > 0.9


def test_confidence_is_out_of_fold():
    """A tree that remembers every row it saw must not know rows that were held out."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 2)), np.arange(900) % 3 == 0  # nothing to learn
    tree = DecisionTreeClassifier()
    assert tree.fit(X, y).score(X, y) == 1
    model = RankPruningClassifier(estimator=tree, random_state=0).fit(X, y)
    assert abs(roc_auc_score(y, model.confidence_) - 0.5) < 0.06


def test_copies_are_never_parted(two_gaussians):
    X, _, y = two_gaussians(300)
    doubled, labels = np.vstack([X, X[y == 1]]), np.concatenate([y, np.zeros(y.sum(), int)])
    model = RankPruningClassifier(estimator=DecisionTreeClassifier(), random_state=0)
    scores = model.fit(doubled, labels).confidence_
    np.testing.assert_array_equal(scores[:300][y == 1], scores[300:])


@pytest.mark.parametrize(
    ("load", "is_positive", "least"),
    [(load_breast_cancer, lambda t: t == 1, 0.9), (load_digits, lambda t: t < 2, 0.93)],
)
def test_real_tables(load, is_positive, least):
    X, target = load(return_X_y=True)
    truth = is_positive(target)
    y = truth & (np.random.default_rng(0).random(len(truth)) < 0.4)
    model = RankPruningClassifier(random_state=0).fit(X[::2], y[::2])
    assert (model.predict(X[1::2]) == truth[1::2]).mean() > least
