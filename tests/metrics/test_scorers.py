"""Scorers inside scikit-learn's own tools, for classifiers that are not ours."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from varpu import metrics
from varpu.exceptions import PUInputError

PRIOR = 0.4
SCORERS = {
    "variational": metrics.neg_variational_scorer,
    "lee-liu": metrics.lee_liu_scorer,
    "auc": metrics.pu_roc_auc_scorer,
    "corrected-auc": metrics.make_pu_roc_auc_scorer(PRIOR),
    "accuracy": metrics.make_pu_accuracy_scorer(PRIOR),
    "average-precision": metrics.make_pu_average_precision_scorer(PRIOR),
    "calibration": metrics.make_pu_calibration_scorer(PRIOR, n_bins=5),
    "variational-case-control": metrics.make_neg_variational_scorer("case-control", odds=True),
}


class LogRatio(ClassifierMixin, BaseEstimator):
    """An estimator like ours: the first column is log f_P/f, its probability is capped."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def log_ratio(self, X):
        return X[:, 0]

    def predict_proba(self, X):
        positive = np.exp(np.minimum(X[:, 0], 0))
        return np.column_stack([1 - positive, positive])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    truth = (rng.random(1000) < PRIOR).astype(int)
    X = rng.normal(size=(1000, 4))
    X[:, 0] += 2 * truth
    return X, truth * (rng.random(1000) < 0.5), truth


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(20, min_samples_leaf=10, random_state=0),
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=["forest", "logistic", "pipeline"],
)
def test_cross_val_score(data, name, estimator):
    X, y, _ = data
    scores = cross_val_score(estimator, X, y, scoring=SCORERS[name], cv=3, error_score="raise")
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("name", sorted({*SCORERS} - {"calibration", "accuracy", "lee-liu"}))
def test_more_is_better(data, name):
    X, y, _ = data
    good, bad = LogisticRegression().fit(X, y), LogisticRegression().fit(X[:, 1:], y)
    assert SCORERS[name](good, X, y) > SCORERS[name](bad, X[:, 1:], y) + 0.05


def test_scorers_ask_the_right_thing_of_the_estimator(data):
    X, y, truth = data
    model = LogisticRegression().fit(X, truth)  # told the truth, to know what must come out
    proba, pred = model.predict_proba(X)[:, 1], model.predict(X)
    expected = {
        "variational": -metrics.variational_loss(y, proba),
        "lee-liu": metrics.lee_liu_score(y, pred),
        "auc": metrics.pu_roc_auc(y, proba),
        "corrected-auc": metrics.pu_roc_auc(y, proba, PRIOR),
        "accuracy": metrics.pu_accuracy(y, pred, PRIOR),
        "average-precision": metrics.pu_average_precision(y, proba, PRIOR),
        "calibration": -metrics.pu_calibration_error(y, proba, PRIOR, n_bins=5),
        "variational-case-control": -metrics.variational_loss(
            y, proba / (1 - proba), scenario="case-control"
        ),
    }
    assert {name: scorer(model, X, y) for name, scorer in SCORERS.items()} == pytest.approx(
        expected
    )


def test_all_at_once_and_pickled(data):
    X, y, _ = data
    scorers = pickle.loads(pickle.dumps(SCORERS))
    result = cross_validate(LogisticRegression(), X, y, scoring=scorers, error_score="raise")
    assert {f"test_{name}" for name in SCORERS} <= set(result)


def test_grid_search_in_other_processes(data):
    X, y, _ = data
    grid = GridSearchCV(
        LogisticRegression(),
        {"C": [1e-6, 1.0]},
        scoring=metrics.neg_variational_scorer,
        n_jobs=2,
        error_score="raise",
    ).fit(X, y)
    assert grid.best_params_ == {"C": 1.0}
    assert metrics.neg_variational_scorer(grid, X, y) == metrics.neg_variational_scorer(
        grid.best_estimator_, X, y
    )


def test_permutation_importance_finds_the_informative_column(data):
    X, y, _ = data
    model = LogisticRegression().fit(X, y)
    importance = permutation_importance(
        model, X, y, scoring=metrics.neg_variational_scorer, n_repeats=3, random_state=0
    ).importances_mean
    assert importance[0] > 0.3
    assert np.abs(importance[1:]).max() < 0.05


def test_variational_scorer_chooses_as_the_truth_would(data):
    X, y, truth = data
    candidates = {
        "logistic": LogisticRegression(),
        "noise": make_pipeline(FunctionTransformer(_drop_first), LogisticRegression()),
        "constant": DummyClassifier(),
        "memory": KNeighborsClassifier(1),  # sure of each answer and often wrong: zeros for P
    }
    by_pu, by_truth = (
        {
            name: cross_val_score(model, X, labels, scoring=scoring).mean()
            for name, model in candidates.items()
        }
        for labels, scoring in ((y, metrics.neg_variational_scorer), (truth, "neg_log_loss"))
    )
    assert max(by_pu, key=by_pu.get) == max(by_truth, key=by_truth.get) == "logistic"
    assert min(by_pu, key=by_pu.get) == min(by_truth, key=by_truth.get) == "memory"
    assert by_pu["constant"] == pytest.approx(0, abs=1e-9)


def _drop_first(X):
    return X[:, 1:]


def test_log_ratio_is_used_where_there_is_one(data):
    X, y, _ = data
    model = LogRatio().fit(X, y)
    expected = -metrics.variational_loss(y, X[:, 0], log=True)
    capped = -metrics.variational_loss(y, model.predict_proba(X)[:, 1])
    assert abs(expected - capped) > 0.01
    wrapped = make_pipeline(FunctionTransformer(), model)
    searched = GridSearchCV(make_pipeline(model), {}, scoring=metrics.pu_roc_auc_scorer).fit(X, y)
    for estimator in (model, wrapped, make_pipeline(model), searched):
        assert metrics.neg_variational_scorer(estimator, X, y) == expected
        assert metrics.pu_roc_auc_scorer(estimator, X, y) == metrics.pu_roc_auc(y, X[:, 0])


def test_sure_classifiers_do_not_break_the_odds(data):
    X, y, _ = data
    model = KNeighborsClassifier(1).fit(X, y)
    scorer = metrics.make_neg_variational_scorer("case-control", odds=True)
    assert np.isfinite(scorer(model, X, y))


def test_ranking_needs_no_probability(data):
    X, y, _ = data
    model = LinearSVC().fit(X, y)
    assert metrics.pu_roc_auc_scorer(model, X, y) == metrics.pu_roc_auc(
        y, model.decision_function(X)
    )
    with pytest.raises(PUInputError, match="LinearSVC has no predict_proba"):
        metrics.neg_variational_scorer(model, X, y)


def test_fitted_on_one_class(data):
    X, y, _ = data
    model = DummyClassifier().fit(X, np.ones(len(y)))
    with pytest.raises(PUInputError, match=r"two columns, got shape \(1000, 1\)"):
        metrics.neg_variational_scorer(model, X, y)


@pytest.mark.parametrize(
    "make",
    [
        metrics.make_pu_accuracy_scorer,
        metrics.make_pu_roc_auc_scorer,
        metrics.make_pu_average_precision_scorer,
        metrics.make_pu_calibration_scorer,
    ],
)
def test_bad_settings_are_refused_before_any_fit(make):
    with pytest.raises(PUInputError, match="prior must be"):
        make(1.5)
    with pytest.raises(PUInputError, match="scenario must be"):
        make(0.5, "two-set")
