"""Elkan-Noto: the constant, the weights and the probabilities, by hand and on known mixtures."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from sklearn.tree import DecisionTreeClassifier

from varpu.classic import ElkanNotoClassifier
from varpu.classic.elkan_noto import hidden_weight

VARIANTS = ["scaled", "weighted"]


@pytest.fixture
def splines():
    """Logistic regression that can bend, so that P(s=1|x) can level off at c."""
    return make_pipeline(
        SplineTransformer(8, extrapolation="constant"), LogisticRegression(C=10, max_iter=1000)
    )


def test_weights_by_hand():
    found = hidden_weight(np.array([0.0, 0.1, 0.2, 0.5, 0.9, 1.0]), 0.5)
    np.testing.assert_allclose(found, [0, 1 / 9, 1 / 4, 1, 1, 1])
    assert hidden_weight(np.array([0.2]), 0.25)[0] == pytest.approx(0.75 / 0.25 * 0.2 / 0.8)


def test_weights_count_the_hidden_positives():
    """With the true ``g`` and ``c`` they are P(y=1|x, s=0), so their mean is P(y=1|s=0)."""
    rng = np.random.default_rng(0)
    prior, c = 0.4, 0.3
    truth = rng.random(200_000) < prior
    x = rng.normal(size=200_000) + 1.5 * truth
    s = truth & (rng.random(200_000) < c)
    odds = prior / (1 - prior) * norm.pdf(x - 1.5) / norm.pdf(x)
    found = hidden_weight(c * odds / (1 + odds), c)
    assert found[~s].mean() == pytest.approx(truth[~s].mean(), abs=0.003)


def test_the_constant_is_the_mean_of_held_out_labelled_rows(two_gaussians, logistic):
    X, _, y = two_gaussians(500)
    model = ElkanNotoClassifier(estimator=logistic, random_state=0).fit(X, y)
    assert model.c_ == pytest.approx(model.confidence_[y == 1].mean())
    assert model.prior_ == pytest.approx(y.mean() / model.c_)
    assert (model.positive_weight_[y == 1] == 1).all()
    expected = hidden_weight(model.confidence_, model.c_)[y == 0]
    np.testing.assert_array_equal(model.positive_weight_[y == 0], expected)


@pytest.mark.parametrize("c", [0.1, 0.4, 0.8])
def test_known_label_frequency(two_gaussians, splines, c):
    X, truth, y = two_gaussians(6000, distance=6.0, labelled=c)
    model = ElkanNotoClassifier(estimator=splines, random_state=0).fit(X, y)
    assert model.c_ == pytest.approx(y.sum() / truth.sum(), abs=0.03)
    assert model.prior_ == pytest.approx(truth.mean(), abs=0.03)


@pytest.mark.parametrize("variant", VARIANTS)
def test_known_prior_in_the_case_control_scenario(two_gaussians, splines, variant):
    X, truth, y = two_gaussians(5000, 0.3, distance=6.0, n_positive=2000)
    model = ElkanNotoClassifier(
        estimator=splines, variant=variant, scenario="case-control", random_state=0
    ).fit(X, y)
    n_hidden = truth[y == 0].sum()
    assert model.c_ == pytest.approx(2000 / (2000 + n_hidden), abs=0.03)
    assert model.prior_ == pytest.approx(n_hidden / 5000, abs=0.03)
    assert (model.predict(X) == truth).mean() > 0.98
    assert np.exp(model.log_ratio(X[y == 0])).mean() == pytest.approx(1)


@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_near_the_best_accuracy_there_is(two_gaussians, splines, variant, scenario):
    prior, distance = 0.4, 4.0
    n_positive = 4000 if scenario == "case-control" else None
    X, _, y = two_gaussians(10_000, prior, distance, labelled=0.5, n_positive=n_positive)
    model = ElkanNotoClassifier(
        estimator=splines, variant=variant, scenario=scenario, random_state=0
    ).fit(X, y)
    new, truth, _ = two_gaussians(20_000, prior, distance, seed=1)
    boundary = distance / 2 - np.log(prior / (1 - prior)) / distance
    best = ((new[:, 0] > boundary) == truth).mean()
    assert (model.predict(new) == truth).mean() > best - 0.01


def test_scaled_probabilities(two_gaussians, logistic):
    X, _, y = two_gaussians(600, distance=3.0)
    model = ElkanNotoClassifier(estimator=logistic, random_state=0).fit(X, y)
    g = clone(logistic).fit(X, y).predict_proba(X)[:, 1]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], np.minimum(1, g / model.c_))
    assert (g > model.c_).any()  # a peer gives probabilities above 1 there
    assert model.predict_proba(X).max() == 1


def test_scaled_probabilities_in_the_case_control_scenario(two_gaussians, logistic):
    X, _, y = two_gaussians(600, 0.3, distance=3.0, n_positive=200)
    model = ElkanNotoClassifier(estimator=logistic, scenario="case-control", random_state=0).fit(
        X, y
    )
    g = clone(logistic).fit(X, y).predict_proba(X)[:, 1]
    expected = np.minimum(1, g / (1 - g) * (1 - model.c_) / model.c_)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected)
    # That is the prior times the ratio of the densities, which the odds give.
    ratio = g / (1 - g) * 600 / 200
    np.testing.assert_allclose(expected, np.minimum(1, model.prior_ * ratio))


def test_the_weighted_fit_counts_unlabelled_rows_twice(two_gaussians, logistic):
    X, _, y = two_gaussians(500, distance=3.0)
    model = ElkanNotoClassifier(estimator=logistic, variant="weighted", random_state=0).fit(X, y)
    P, U, w = X[y == 1], X[y == 0], model.positive_weight_[y == 0]
    again = clone(logistic).fit(
        np.vstack([P, U, U]),
        np.repeat([1, 1, 0], [len(P), len(U), len(U)]),
        logisticregression__sample_weight=np.concatenate([np.ones(len(P)), w, 1 - w]),
    )
    np.testing.assert_allclose(model.predict_proba(X), again.predict_proba(X), atol=1e-9)


def test_the_weighted_fit_in_the_case_control_scenario(two_gaussians, logistic):
    X, _, y = two_gaussians(500, 0.3, distance=3.0, n_positive=200)
    model = ElkanNotoClassifier(
        estimator=logistic, variant="weighted", scenario="case-control", random_state=0
    ).fit(X, y)
    p, hidden = model.estimator_.predict_proba(X)[:, 1], 1 - model.c_
    expected = hidden * p / (hidden * p + 1 - p)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-9)


def test_where_every_positive_is_labelled(two_gaussians):
    """``c`` is 1 then, and its odds have no number."""
    X, truth, _ = two_gaussians(400, distance=30.0)
    tree = DecisionTreeClassifier()
    for scenario, prior in (("single-set", truth.mean()), ("case-control", 0.0)):
        model = ElkanNotoClassifier(estimator=tree, scenario=scenario, random_state=0)
        model.fit(X, truth)
        assert model.c_ == pytest.approx(1)
        assert model.prior_ == pytest.approx(prior, abs=1e-9)
        assert np.isfinite(model.decision_function(X)).all()


def test_labels_that_say_nothing(logistic):
    """Labels at random: as likely as not everything is positive, and the prior says 1."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 2)), rng.random(3000) < 0.3
    model = ElkanNotoClassifier(estimator=logistic, random_state=0).fit(X, y)
    assert model.c_ == pytest.approx(0.3, abs=0.02)
    assert 0.95 < model.prior_ <= 1
    assert model.predict(X).mean() > 0.95


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    ("load", "is_positive", "least"),
    [(load_breast_cancer, lambda t: t == 1, 0.88), (load_digits, lambda t: t < 2, 0.92)],
)
def test_real_tables(load, is_positive, least, variant):
    X, target = load(return_X_y=True)
    truth = is_positive(target)
    y = truth & (np.random.default_rng(0).random(len(truth)) < 0.4)
    model = ElkanNotoClassifier(variant=variant, cv=3, random_state=0).fit(X[::2], y[::2])
    assert (model.predict(X[1::2]) == truth[1::2]).mean() > least
