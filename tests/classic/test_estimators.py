"""The classifier inside a wrapper: what is refused, seeds, weights, and scores out of fold."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from varpu.classic.estimators import (
    check_estimator_for,
    default_estimator,
    fit_fresh,
    out_of_fold,
    probability,
    weight_parameter,
)
from varpu.exceptions import PUInputError


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (LogisticRegression(), "sample_weight"),
        (KNeighborsClassifier(), None),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            "logisticregression__sample_weight",
        ),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), None),
        (
            Pipeline([("a", StandardScaler()), ("b", Pipeline([("c", LogisticRegression())]))]),
            "b__c__sample_weight",
        ),
        (GridSearchCV(LogisticRegression(), {"C": [1]}), "sample_weight"),
        (
            GridSearchCV(make_pipeline(LogisticRegression()), {"verbose": [False]}),
            "logisticregression__sample_weight",
        ),
    ],
)
def test_the_name_of_the_weights(estimator, name):
    assert weight_parameter(estimator) == name
    if name is not None:
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(60, 2)), np.arange(60) % 3 == 0
        one_sided = fit_fresh(estimator, X, y, np.random.RandomState(0), np.where(y, 1e3, 1e-3))
        assert probability(one_sided, X).min() > 0.9


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (LogisticRegression, "instance of a scikit-learn classifier"),
        (LinearRegression(), "instance of a scikit-learn classifier"),
        ("logistic", "instance of a scikit-learn classifier"),
        (LinearSVC(), "CalibratedClassifierCV"),
        (KNeighborsClassifier(), "takes no sample_weight"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), "takes no sample_weight"),
    ],
)
def test_what_is_refused(estimator, message):
    with pytest.raises(PUInputError, match=message):
        check_estimator_for("it", estimator, weighted=True)


def test_weights_are_asked_for_only_where_they_are_used():
    check_estimator_for("it", KNeighborsClassifier(), weighted=False)


def test_seeds_reach_every_part_that_has_none():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), np.arange(80) % 2 == 0
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(5))
    first, again, other = (fit_fresh(forest, X, y, np.random.RandomState(s)) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    assert (first.predict_proba(X) != other.predict_proba(X)).any()
    assert forest[-1].random_state is None
    own = fit_fresh(RandomForestClassifier(5, random_state=7), X, y, np.random.RandomState(0))
    assert own.random_state == 7


def test_probabilities_must_be_numbers():
    class Broken(LogisticRegression):
        def predict_proba(self, X):
            return np.full((len(X), 2), np.nan)

    with pytest.raises(PUInputError, match="no finite numbers"):
        probability(Broken(), np.zeros((3, 1)))


def test_held_out_rows_are_scored_by_a_model_of_the_rest():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 3 == 0
    found, fold = out_of_fold(LogisticRegression(), X, y, 3, np.random.RandomState(0))
    assert set(fold) == {0, 1, 2}
    for k in range(3):
        expected = LogisticRegression().fit(X[fold != k], y[fold != k])
        np.testing.assert_allclose(found[fold == k], probability(expected, X[fold == k]))
        assert y[fold == k].sum() == 10


def test_copies_are_in_one_fold():
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(40, 2)), 2, axis=0), np.tile([True, False], 40)
    found, fold = out_of_fold(DecisionTreeClassifier(), X, y, 4, np.random.RandomState(0))
    np.testing.assert_array_equal(fold[::2], fold[1::2])
    np.testing.assert_array_equal(found[::2], found[1::2])


@pytest.mark.parametrize("n_rows", [1, 2, 30, 1000])
def test_the_default_has_no_more_landmarks_than_a_fold_has_rows(n_rows):
    kernel = default_estimator(n_rows, 4)["nystroem"]
    assert 1 <= kernel.n_components <= max(1, n_rows // 2)
    assert kernel.n_components <= 200
    assert kernel.gamma == pytest.approx(0.3 / 4)


def test_the_default_bends():
    """Where the odds are not linear in the columns, its probabilities still are right."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    truth = 1 / (1 + np.exp(2 * (np.square(X).sum(axis=1) - 2)))
    y = rng.random(4000) < truth
    found, _ = out_of_fold(default_estimator(4000, 2), X, y, 3, np.random.RandomState(0))
    assert np.abs(found - truth).mean() < 0.04
