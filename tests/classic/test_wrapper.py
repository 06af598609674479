"""What goes through a wrapper untouched: frames, missing values, sparse tables, images."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from varpu.classic import ElkanNotoClassifier, RankPruningClassifier
from varpu.classic.wrapper import log_posterior
from varpu.exceptions import PUInputError
from varpu.neural import NetworkClassifier

WRAPPERS = [
    RankPruningClassifier,
    ElkanNotoClassifier,
    lambda **settings: ElkanNotoClassifier(variant="weighted", **settings),
]
wrappers = pytest.mark.parametrize("make", WRAPPERS, ids=["rank pruning", "scaled", "weighted"])


def test_odds_by_hand():
    p = np.array([0.2, 0.5, 0.8])
    np.testing.assert_allclose(np.exp(log_posterior(p, 0.25, "single-set")), p)
    # Odds 1/4, 1 and 4, of which a quarter.
    expected = np.array([1 / 17, 1 / 5, 1 / 2])
    np.testing.assert_allclose(np.exp(log_posterior(p, 0.25, "case-control")), expected)
    assert np.isfinite(log_posterior(p, 0.0, "case-control")).all()


@wrappers
def test_a_frame_reaches_the_estimator_as_one(make):
    rng = np.random.default_rng(0)
    truth = rng.random(600) < 0.4
    frame = pd.DataFrame(
        {
            "kind": np.where(rng.random(600) < 0.9, truth, ~truth).astype(str),
            "amount": 2 * truth + rng.normal(size=600),
            "noise": rng.normal(size=600),
        }
    )
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), ("passthrough", ["amount"]))
    estimator = make_pipeline(columns, LogisticRegression())
    y = truth & (rng.random(600) < 0.5)
    model = make(estimator=estimator, random_state=0).fit(frame, y)
    assert roc_auc_score(truth, model.decision_function(frame)) > 0.95
    assert list(model.feature_names_in_) == ["kind", "amount", "noise"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["amount", "kind", "noise"]])
    with pytest.raises(PUInputError, match=r"0 sample\(s\)"):
        make(estimator=estimator).fit(frame.iloc[:0], y[:0])


@wrappers
def test_polars_and_pandas_are_the_same_table(make, two_gaussians, logistic):
    X, _, y = two_gaussians(200)
    frames = [pd.DataFrame(X, columns=list("abc")), pl.DataFrame(X, schema=list("abc"))]
    first, second = (
        make(estimator=logistic, random_state=0).fit(f, y).predict_proba(f) for f in frames
    )
    np.testing.assert_allclose(first, second)


@wrappers
def test_missing_values_go_where_they_are_taken(make, two_gaussians, logistic):
    X, truth, y = two_gaussians(500)
    X[::3, 1] = np.nan
    trees = HistGradientBoostingClassifier(max_iter=20)
    model = make(estimator=trees, random_state=0).fit(X, y)
    assert get_tags(model).input_tags.allow_nan
    assert roc_auc_score(truth, model.decision_function(X)) > 0.9
    assert not get_tags(make(estimator=logistic)).input_tags.allow_nan
    for refuses in (None, logistic):
        with pytest.raises(ValueError, match="NaN"):
            make(estimator=refuses).fit(X, y)


@wrappers
def test_sparse_tables(make, two_gaussians):
    X, _, y = two_gaussians(300)
    X[X < 0.5] = 0
    estimator = LogisticRegression()
    assert get_tags(make(estimator=estimator)).input_tags.sparse
    dense, sparse = (
        make(estimator=estimator, random_state=0).fit(table, y)
        for table in (X, scipy.sparse.csr_matrix(X))
    )
    np.testing.assert_allclose(
        dense.predict_proba(X), sparse.predict_proba(scipy.sparse.csc_matrix(X)), atol=1e-4
    )


def flat(images):
    return images.reshape(len(images), -1) / 255.0


def bright_images(n=240):
    """Positives have a bright upper half."""
    rng = np.random.default_rng(0)
    truth = rng.random(n) < 0.5
    images = rng.integers(0, 120, size=(n, 1, 28, 28), dtype=np.uint8)
    images[truth, :, :14] += 100
    return images, truth, truth & (rng.random(n) < 0.6)


@wrappers
def test_images_are_not_flattened(make):
    images, truth, y = bright_images()
    estimator = make_pipeline(FunctionTransformer(flat), LogisticRegression(C=0.01))
    model = make(estimator=estimator, random_state=0).fit(images, y)
    assert (model.predict(images) == truth).mean() > 0.9
    assert model.image_shape_ == (1, 28, 28)
    with pytest.raises(PUInputError, match="fitted on images"):
        model.predict(images.reshape(len(images), -1))
    with pytest.raises(PUInputError, match="a classifier that takes images"):
        make().fit(images, y)
    # A table later is a fit of its own.
    table = flat(images)
    model.set_params(estimator=LogisticRegression(C=0.01)).fit(table, y)
    assert not hasattr(model, "image_shape_")
    assert (model.predict(table) == truth).mean() > 0.9


def test_networks_take_images():
    images, truth, y = bright_images(120)
    network = NetworkClassifier(epochs=1, steps_per_epoch=8, device="cpu")
    model = RankPruningClassifier(estimator=network, cv=2, random_state=0).fit(images, y)
    assert roc_auc_score(truth, model.decision_function(images)) > 0.9
    again = clone(model).fit(images, y)
    np.testing.assert_array_equal(model.predict_proba(images), again.predict_proba(images))


@wrappers
def test_a_calibrated_machine_will_do(make, two_gaussians):
    X, truth, y = two_gaussians(300)
    estimator = CalibratedClassifierCV(LinearSVC(), cv=3)
    model = make(estimator=estimator, random_state=0).fit(X, y)
    assert (model.predict(X) == truth).mean() > 0.9
    with pytest.raises(PUInputError, match="CalibratedClassifierCV"):
        make(estimator=LinearSVC()).fit(X, y)


def test_only_methods_that_weigh_ask_for_weights(two_gaussians):
    X, truth, y = two_gaussians(300)
    neighbours = KNeighborsClassifier(25)
    scaled = ElkanNotoClassifier(estimator=neighbours, random_state=0).fit(X, y)
    assert (scaled.predict(X) == truth).mean() > 0.9
    for model in (
        RankPruningClassifier(estimator=neighbours),
        ElkanNotoClassifier(estimator=neighbours, variant="weighted"),
    ):
        with pytest.raises(PUInputError, match="takes no sample_weight"):
            model.fit(X, y)


@wrappers
def test_certain_trees_leave_everything_finite(make, two_gaussians):
    """Trees that are grown out say 0 and 1 and nothing between."""
    X, _, y = two_gaussians(300)
    for scenario in ("single-set", "case-control"):
        model = make(estimator=DecisionTreeClassifier(), scenario=scenario, random_state=0)
        model.fit(X, y)
        for method in (model.decision_function, model.log_ratio, model.predict_proba):
            assert np.isfinite(method(X)).all()


@wrappers
def test_bad_parameters(make, two_gaussians):
    X, _, y = two_gaussians(50)
    for settings, message in [
        ({"cv": 1}, "cv must be a whole number of at least 2"),
        ({"cv": 2.0}, "cv must be a whole number"),
        ({"scenario": "none"}, "scenario must be one of"),
        ({"estimator": LogisticRegression}, "instance of a scikit-learn classifier"),
    ]:
        with pytest.raises(PUInputError, match=message):
            make(**settings).fit(X, y)
    with pytest.raises(PUInputError, match="variant must be one of"):
        ElkanNotoClassifier(variant="both").fit(X, y)
    with pytest.raises(PUInputError, match="at least 2 distinct labelled rows"):
        make().fit(X, np.arange(50) == 0)
