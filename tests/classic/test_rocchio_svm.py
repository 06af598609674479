"""Rocchio-SVM: centroids and reliable negatives by hand, the loop, the 5% rule, and texts."""

import numpy as np
import pytest
import scipy.sparse
from scipy.special import expit
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

import varpu
from varpu.classic import RocchioSVMClassifier
from varpu.classic.rocchio_svm import reliable_negatives, rocchio_centroids
from varpu.exceptions import PUInputError


def bag_of_words(n=900, prior=0.3, labelled=0.4, seed=0):
    """Texts of 60 words out of 400: each class prefers words of its own, most are common."""
    rng = np.random.default_rng(seed)
    common = rng.dirichlet(np.full(400, 0.3))
    topics = [0.8 * common + 0.2 * rng.dirichlet(np.full(400, 0.05)) for _ in range(4)]
    truth = rng.random(n) < prior
    # Negatives are about three things, positives about one.
    topic = np.where(truth, 0, rng.integers(1, 4, n))
    counts = np.stack([rng.multinomial(60, topics[k]) for k in topic])
    y = (truth & (rng.random(n) < labelled)).astype(int)
    return scipy.sparse.csr_matrix(counts.astype(float)), truth, y


def flags(*values):
    return np.array(values, dtype=bool)


def test_centroids_by_hand():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    found = rocchio_centroids(rows, flags(1, 0, 0), alpha=16, beta=4)
    mean_p, mean_u = np.array([1.0, 0.0]), np.array([0.3, 0.9])
    np.testing.assert_allclose(found, [16 * mean_u - 4 * mean_p, 16 * mean_p - 4 * mean_u])
    sparse = rocchio_centroids(scipy.sparse.csr_matrix(rows), flags(1, 0, 0), 16, 4)
    np.testing.assert_allclose(sparse, found)


def test_reliable_negatives_by_hand():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6], [0.6, 0.8], [0.0, 0.0]])
    # Halfway between the axes the cosines are equal, whatever the centroids' lengths.
    centroids = np.array([[0.0, 5.0], [100.0, 0.0]])
    found = reliable_negatives(rows, flags(1, 0, 0, 0, 0), centroids)
    # A row without a word is as far from both, and a labelled row is never one.
    np.testing.assert_array_equal(found, flags(0, 1, 0, 1, 1))
    assert not reliable_negatives(rows, flags(1, 1, 0, 0, 0), centroids)[1]


def test_some_negatives_are_taken_where_the_centroids_name_none():
    angles = np.linspace(0.1, 0.6, 40)
    rows = np.column_stack([np.cos(angles), np.sin(angles)])
    centroids = np.array([[0.0, 1.0], [1.0, 0.0]])
    found = reliable_negatives(rows, np.arange(40) == 0, centroids)
    np.testing.assert_array_equal(np.flatnonzero(found), [38, 39])  # 5% of 39


def test_texts_are_told_apart():
    X, truth, y = bag_of_words()
    model = make_pipeline(TfidfTransformer(), RocchioSVMClassifier(random_state=0))
    model.fit(X[:600], y[:600])
    assert (model.predict(X[600:]) == truth[600:]).mean() > 0.93
    machine = model[-1]
    assert not machine.fell_back_
    assert truth[:600][machine.reliable_negatives_].mean() < 0.05
    assert machine.prior_ == pytest.approx(truth[:600].mean(), abs=0.06)


def test_the_loop_ends_when_nothing_joins():
    X, _, y = bag_of_words()
    model = RocchioSVMClassifier(random_state=0).fit(X, y)
    assert 1 < model.n_iter_ < 100
    first, last = model.reliable_negatives_, model.negatives_
    assert (last[first]).all()
    assert last.sum() > first.sum()
    assert not last[y == 1].any()
    # What is neither labelled nor negative is called positive: the loop was at its end.
    assert (model.predict(X)[(y == 0) & ~last] == 1).all()
    # One round at a time, it goes the same way.
    sizes = [
        RocchioSVMClassifier(max_iter=k, random_state=0).fit(X, y).negatives_.sum()
        for k in range(1, model.n_iter_ + 1)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] == first.sum()
    assert sizes[-1] == last.sum()


def test_the_machine_is_that_of_positives_and_negatives():
    X, _, y = bag_of_words(400)
    model = RocchioSVMClassifier(C=0.5, max_iter=1, random_state=0).fit(X, y)
    used = (y == 1) | model.reliable_negatives_
    rows = normalize(X)
    machine = LinearSVC(C=0.5, random_state=0).fit(rows[used], y[used])
    decision = machine.decision_function(rows)
    np.testing.assert_allclose(model.estimator_.coef_, machine.coef_, atol=1e-3)
    sure = np.abs(decision) > 1e-3  # the solver stops that near
    np.testing.assert_array_equal(model.predict(X)[sure], (decision > 0)[sure])
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(decision), atol=1e-3)


def directions(angles):
    """Rows of length 1 at some angles, and a third column that says nothing."""
    return np.column_stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))])


@pytest.mark.parametrize(("n_lost", "falls_back"), [(2, False), (12, True)])
def test_the_five_percent_rule(n_lost, falls_back):
    """Labelled rows in the midst of the negatives: below 5% a nuisance, above it a sign."""
    rng = np.random.default_rng(0)
    P = np.concatenate([rng.normal(0.3, 0.05, 60 - n_lost), rng.normal(1.3, 0.05, n_lost)])
    U = np.concatenate([rng.normal(0.3, 0.05, 40), rng.uniform(0.6, 1.5, 200)])
    X, y = directions(np.concatenate([P, U])), np.repeat([1, 0], [60, 240])
    model = RocchioSVMClassifier(C=100.0, random_state=0).fit(X, y)
    assert model.n_iter_ > 1
    assert model.fell_back_ == falls_back
    used = model.reliable_negatives_ if falls_back else model.negatives_
    np.testing.assert_array_equal(model.negatives_, used)
    assert (model.negatives_.sum() > model.reliable_negatives_.sum()) != falls_back
    if not falls_back:
        assert (model.predict(X)[y == 1] == 0).mean() <= 0.05


def test_sparse_and_dense_are_the_same_table():
    X, _, y = bag_of_words(400)
    dense, sparse = (RocchioSVMClassifier(random_state=0).fit(t, y) for t in (X.toarray(), X))
    np.testing.assert_allclose(dense.predict_proba(X), sparse.predict_proba(X), atol=1e-6)
    np.testing.assert_allclose(
        sparse.predict_proba(X.tocsc()), sparse.predict_proba(X.toarray()), atol=1e-6
    )


def test_the_length_of_a_text_does_not_matter():
    X, _, y = bag_of_words(300)
    longer = scipy.sparse.diags_array(np.random.default_rng(0).uniform(1, 9, 300)) @ X
    first, second = (RocchioSVMClassifier(random_state=0).fit(t, y) for t in (X, longer))
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(longer), atol=1e-6)


def test_the_prior_is_a_share_of_the_marginal():
    X, _, y = bag_of_words()
    single, control = (
        RocchioSVMClassifier(scenario=scenario, random_state=0).fit(X, y)
        for scenario in ("single-set", "case-control")
    )
    called = single.predict(X) == 1
    assert single.prior_ == pytest.approx((called | (y == 1)).mean())
    assert control.prior_ == pytest.approx(called[y == 0].mean())
    np.testing.assert_array_equal(single.predict(X), control.predict(X))
    assert np.exp(control.log_ratio(X[y == 0])).mean() == pytest.approx(1)


def test_save_and_load(tmp_path):
    X, _, y = bag_of_words(200)
    model = RocchioSVMClassifier(random_state=0).fit(X, y)
    varpu.save(model, tmp_path / "texts.varpu")
    again = varpu.load(tmp_path / "texts.varpu")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    for name in ("n_iter_", "fell_back_", "prior_"):
        assert getattr(again, name) == getattr(model, name)
    np.testing.assert_array_equal(again.negatives_, model.negatives_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0}, "C must be"),
        ({"alpha": 0}, "alpha must be"),
        ({"beta": -1}, "beta must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"scenario": "none"}, "scenario must be one of"),
    ],
)
def test_bad_parameters(settings, message):
    X, _, y = bag_of_words(50)
    with pytest.raises(PUInputError, match=message):
        RocchioSVMClassifier(**settings).fit(X, y)


@pytest.mark.parametrize("wrapped", [LogisticRegression(C=10), MultinomialNB()])
def test_another_classifier_in_place_of_the_machine(wrapped, tmp_path):
    """One with a decision function, one with probabilities alone."""
    X, truth, y = bag_of_words()
    model = RocchioSVMClassifier(estimator=wrapped).fit(X, y)
    assert type(model.estimator_) is type(wrapped)
    assert (model.predict(X) == truth).mean() > (~truth).mean()  # more than all negative
    expected = model.estimator_.predict(normalize(X))
    np.testing.assert_array_equal(model.predict(X), expected)
    with pytest.raises(PUInputError, match="pickle"):
        varpu.save(model, tmp_path / "model.varpu")
    with pytest.raises(PUInputError, match="decision_function or predict_proba"):
        RocchioSVMClassifier(estimator=TfidfTransformer()).fit(X, y)
