"""What every classic method must keep: scikit-learn's contract and ours."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from varpu.classic import (
    ElkanNotoClassifier,
    PULDClassifier,
    RankPruningClassifier,
    RocchioSVMClassifier,
)
from varpu.classic.wrapper import WrapperPUClassifier
from varpu.exceptions import PUInputError

MODELS = [
    RankPruningClassifier(random_state=0),
    ElkanNotoClassifier(random_state=0),
    ElkanNotoClassifier(variant="weighted", random_state=0),
    RocchioSVMClassifier(random_state=0),
    PULDClassifier(prior=0.4, random_state=0),
]
every_model = pytest.mark.parametrize(
    "model", MODELS, ids=["rank pruning", "scaled", "weighted", "rocchio", "puld"]
)
every_scenario = pytest.mark.parametrize("scenario", ["single-set", "case-control"])


@parametrize_with_checks(
    [
        RankPruningClassifier(),
        RankPruningClassifier(estimator=HistGradientBoostingClassifier(max_iter=3), cv=2),
        ElkanNotoClassifier(),
        ElkanNotoClassifier(variant="weighted"),
        RocchioSVMClassifier(),
        PULDClassifier(prior=0.5),
        PULDClassifier(prior=0.5, kernel="linear"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::varpu.exceptions.ScaleWarning")
@parametrize_with_checks([PULDClassifier()])
def test_scikit_learn_checks_of_the_defaults(estimator, check):
    check(estimator)


@every_model
@every_scenario
def test_probabilities_are_probabilities(two_gaussians, model, scenario):
    X, _, y = two_gaussians(300, distance=2.0)
    model = clone(model).set_params(scenario=scenario).fit(X, y)
    far = np.vstack([X, X * 1e3, -X * 1e3])
    proba = model.predict_proba(far)
    assert proba.min() >= 0
    assert proba.max() <= 1
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(far), (proba[:, 1] > 0.5).astype(int))
    for scores in (model.decision_function(far), model.log_ratio(far)):
        assert np.isfinite(scores).all()
    assert 0 <= model.prior_ <= 1
    marginal = X if scenario == "single-set" else X[y == 0]
    assert np.exp(model.log_ratio(marginal)).mean() == pytest.approx(1)


@every_model
@every_scenario
def test_the_share_of_positives_in_the_marginal(two_gaussians, model, scenario):
    """As many labelled rows as hidden ones, so the two scenarios differ by far."""
    n_positive = 600 if scenario == "case-control" else None
    X, truth, y = two_gaussians(2000, 0.4, 6.0, labelled=0.5, n_positive=n_positive)
    X = X - X.mean(axis=0)  # Rocchio looks at directions
    model = clone(model).set_params(scenario=scenario).fit(X, y)
    marginal = np.ones(len(y), dtype=bool) if scenario == "single-set" else y == 0
    assert model.prior_ == pytest.approx(truth[marginal].mean(), abs=0.06)
    assert (model.predict(X) == truth).mean() > 0.96


@every_model
@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (1, 2), ("no", "yes"), (False, True)])
def test_the_larger_label_is_positive(two_gaussians, model, labels):
    X, _, y = two_gaussians(200)
    expected = clone(model).fit(X, y)
    found = clone(model).fit(X, np.array(labels)[y])
    assert list(found.classes_) == list(labels)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    np.testing.assert_array_equal(found.predict(X), np.array(labels)[expected.predict(X)])


@every_model
def test_random_state_decides_everything(two_gaussians, model):
    X, _, y = two_gaussians(200, distance=2.0)
    if hasattr(model, "estimator"):
        model = clone(model).set_params(estimator=RandomForestClassifier(5))
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (clone(model).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002
    third = clone(model).set_params(random_state=1).fit(X, y).predict_proba(X)
    if not isinstance(model, RocchioSVMClassifier):  # in few columns its solver draws nothing
        assert (first != third).any()


@every_model
def test_in_pipelines_and_searches(two_gaussians, model):
    X, truth, y = two_gaussians(300)
    X = X - X.mean(axis=0)  # Rocchio looks at directions
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    assert roc_auc_score(truth, pipeline.decision_function(X)) > 0.95
    assert cross_val_score(model, X, y, cv=2, scoring="roc_auc").min() > 0.7
    grid = {"scenario": ["single-set", "case-control"]}
    search = GridSearchCV(model, grid, cv=2, scoring="roc_auc").fit(X, y)
    assert (search.predict(X) == truth).mean() > 0.8


@every_model
def test_frames(two_gaussians, model):
    X, _, y = two_gaussians(200)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    before = frame.copy()
    fitted = clone(model).fit(frame, pd.Series(y, index=range(50, 250)))
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    expected = clone(model).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(fitted.predict_proba(frame), expected, atol=1e-6)
    pd.testing.assert_frame_equal(frame, before)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["b", "a", "c"]])


@every_model
def test_bad_data(two_gaussians, model):
    X, _, y = two_gaussians(50)
    gaps = np.where(X > 2, np.nan, X)
    for table, labels, message in [
        (gaps, y, "NaN"),
        (np.where(X > 2, np.inf, X), y, "infinity"),
        (X, np.ones(50), "two classes"),
        (X, np.arange(50) % 3, "Only binary classification"),
        (X, y[:-1], "X has 50 rows but y has 49"),
        (X, None, "requires y"),
        (X[:, 0], y, "Expected 2D array"),
    ]:
        with pytest.raises(ValueError, match=message):
            clone(model).fit(table, labels)
    fitted = clone(model).fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features"):
        fitted.predict(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        fitted.predict(gaps)


@every_model
def test_images_only_where_they_are_taken(model):
    images, y = np.zeros((20, 1, 4, 4)), np.arange(20) % 2
    assert model.pu_tags.images == isinstance(model, WrapperPUClassifier)
    error = PUInputError if model.pu_tags.images else ValueError
    with pytest.raises(error, match=r"takes images|dim 4"):
        clone(model).fit(images, y)


def test_tags_are_those_of_the_papers_first_table():
    """Whether it trains without a prior, and whether it asks for separable classes."""
    found = {
        type(model).__name__: (model.pu_tags.needs_prior, model.pu_tags.needs_separability)
        for model in MODELS
    }
    assert found == {
        "RankPruningClassifier": (False, True),
        "RocchioSVMClassifier": (False, True),
        "PULDClassifier": (True, False),
        "ElkanNotoClassifier": (False, True),
    }
