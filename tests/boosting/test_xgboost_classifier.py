"""VPUXGBoostClassifier: the contract, weights, tables of every kind, and what it finds."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from safetensors.numpy import load, save
from scipy.special import log_expit
from scipy.stats import norm
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import varpu
from varpu import VPUBoostingClassifier, VPUXGBoostClassifier
from varpu.boosting.objective import variational_derivatives
from varpu.boosting.xgboost_growing import HeldOutLoss, grow
from varpu.crossfit import pooled_loss
from varpu.exceptions import PUInputError, ScaleWarning

xgboost = pytest.importorskip("xgboost")

QUICK = {"max_rounds": 60, "n_jobs": 1, "random_state": 0}


def two_gaussians(n, prior=0.4, distance=3.0, labelled=0.4, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < prior
    X = rng.normal(size=(n, 3))
    X[truth, 0] += distance
    return X, truth, (truth & (rng.random(n) < labelled)).astype(int)


# The checks' tables are tiny, and the classifier says so.
@pytest.mark.filterwarnings("ignore::varpu.exceptions.ScaleWarning")
@parametrize_with_checks([VPUXGBoostClassifier(n_jobs=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("prior", [0.15, 0.5, 0.8])
def test_accuracy_and_prior_on_separated_classes(prior):
    X, truth, y = two_gaussians(8000, prior, distance=4.0)
    model = VPUXGBoostClassifier(**QUICK).fit(X, y)
    assert (model.predict(X) == truth).mean() > 0.95
    assert model.prior_ == pytest.approx(truth.mean(), abs=0.05)
    low, high = model.prior_interval_
    assert low <= model.prior_ <= high


def test_probabilities_follow_the_known_posterior():
    prior, distance = 0.4, 2.5
    X, _, y = two_gaussians(20_000, prior, distance, labelled=0.5)
    model = VPUXGBoostClassifier(num_leaves=7, random_state=0, n_jobs=1, prior=prior).fit(X, y)
    new, _, _ = two_gaussians(20_000, prior, distance, seed=1)
    positive = prior * norm.pdf(new[:, 0] - distance)
    posterior = positive / (positive + (1 - prior) * norm.pdf(new[:, 0]))
    proba = model.predict_proba(new)[:, 1]
    edges = np.quantile(proba, np.linspace(0, 1, 16)[1:-1])
    bins = np.digitize(proba, edges)
    gaps = [abs((proba - posterior)[bins == b].mean()) * (bins == b).mean() for b in set(bins)]
    assert sum(gaps) < 0.03


def test_the_first_tree_is_the_newton_step_of_the_objective():
    """A stump on one column: its leaves are -G/(H + lambda), of the very derivatives."""
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0], [1.0]], 50, axis=0).astype(np.float32)
    weight_p = (rng.random(100) < np.where(X[:, 0] == 1, 0.5, 0.1)).astype(float)
    weight_u = np.ones(100)
    data = xgboost.QuantileDMatrix(X)
    params = {"max_depth": 1, "learning_rate": 1.0, "reg_lambda": 2.0, "tree_method": "hist"}
    held = HeldOutLoss(xgboost.DMatrix(X), weight_p, weight_u, lambda sums: sums)
    grown = grow({**params, "nthread": 1}, data, weight_p, weight_u, held, 1, 1)
    gradient, hessian = variational_derivatives(np.zeros(100), weight_p, weight_u)
    scores = np.empty(100)
    for leaf in (0, 1):
        rows = X[:, 0] == leaf
        scores[rows] = -gradient[rows].sum() / (hessian[rows].sum() + 2.0)
    log_mean = np.log(np.exp(log_expit(scores)).mean())
    np.testing.assert_allclose(grown.predict(X), log_expit(scores) - log_mean, atol=1e-6)
    assert grown.log_mean == pytest.approx(log_mean, abs=1e-6)
    assert grown.loss == pytest.approx(pooled_loss(log_expit(scores), weight_p, weight_u), abs=1e-6)


def test_the_loss_falls_and_the_best_round_is_kept():
    X, _, y = two_gaussians(4000)
    model = VPUXGBoostClassifier(**QUICK, early_stopping_rounds=5).fit(X, y)
    history = model.history_["held_out_loss"]
    assert model.held_out_loss_ == history.min()
    assert model.best_round_ == history.argmin() + 1
    assert model.booster_.num_boosted_rounds() == model.best_round_
    assert len(history) == min(60, model.best_round_ + 5)
    assert history[0] < 0  # the first step is downhill already


def test_it_comes_near_to_cross_fitted_trees():
    X, _, y = two_gaussians(6000, distance=2.0)
    new, truth, _ = two_gaussians(20_000, distance=2.0, seed=1)
    mine = VPUXGBoostClassifier(**QUICK).fit(X, y)
    other = VPUBoostingClassifier(max_rounds=60, n_jobs=1, random_state=0).fit(X, y)
    mine_auc, other_auc = (roc_auc_score(truth, m.decision_function(new)) for m in (mine, other))
    assert mine_auc > other_auc - 0.01


def test_scores_are_density_ratios():
    X, _, y = two_gaussians(6000)
    model = VPUXGBoostClassifier(**QUICK).fit(X, y)
    assert np.exp(model.log_ratio(X)).mean() == pytest.approx(1, abs=0.05)


def test_weights_are_copies_and_order_does_not_matter():
    X, _, y = two_gaussians(2000)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, 2000)
    weighted = VPUXGBoostClassifier(**QUICK).fit(X, y, sample_weight=weight)
    order = rng.permutation(np.repeat(np.arange(2000), weight))
    copied = VPUXGBoostClassifier(**QUICK).fit(X[order], y[order])
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X))
    assert weighted.prior_ == pytest.approx(copied.prior_)


def test_the_seed_decides_everything():
    X, _, y = two_gaussians(3000)
    one, two = (VPUXGBoostClassifier(**QUICK).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    other = VPUXGBoostClassifier(**{**QUICK, "random_state": 1}).fit(X, y)
    assert (one.decision_function(X) != other.decision_function(X)).any()


def test_five_positives_work_and_are_warned_about():
    X, truth, _ = two_gaussians(500, distance=5.0)
    y = np.zeros(500, dtype=int)
    y[np.flatnonzero(truth)[:5]] = 1
    with pytest.warns(ScaleWarning, match="not to be trusted"):
        model = VPUXGBoostClassifier(**QUICK).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def frame_of_kinds(n=2000):
    rng = np.random.default_rng(0)
    truth = rng.random(n) < 0.4
    frame = pd.DataFrame(
        {
            "amount": np.where(rng.random(n) < 0.2, np.nan, truth * 2 + rng.normal(size=n)),
            "kind [a]": pd.Categorical(np.where(rng.random(n) < 0.8, truth, ~truth).astype(str)),
            "empty": np.nan,
            "constant": 1,
        }
    )
    return frame, truth, truth & (rng.random(n) < 0.5)


def test_missing_values_and_categories():
    frame, truth, y = frame_of_kinds()
    model = VPUXGBoostClassifier(**QUICK).fit(frame, y)
    assert roc_auc_score(truth, model.decision_function(frame)) > 0.9
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.feature_importances_[1] > 0
    assert model.feature_importances_[2] == model.feature_importances_[3] == 0
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_levels_are_known_by_name_and_others_are_missing():
    frame, _, y = frame_of_kinds()
    model = VPUXGBoostClassifier(**QUICK).fit(frame, y)
    scores = model.decision_function(frame)
    turned = frame.assign(
        **{"kind [a]": frame["kind [a]"].cat.set_categories(["new", "True", "False"])}
    )
    np.testing.assert_array_equal(model.decision_function(turned), scores)
    unknown = pd.Categorical(["new"] * len(frame))
    missing = pd.Categorical([None] * len(frame), categories=["True"])
    np.testing.assert_array_equal(
        *(model.decision_function(frame.assign(**{"kind [a]": k})) for k in (unknown, missing))
    )


def test_case_control_prior_is_that_of_the_unlabelled_rows():
    rng = np.random.default_rng(0)
    truth = rng.random(6000) < 0.3
    U = rng.normal(size=(6000, 2)) + np.where(truth, 5.0, 0.0)[:, None]
    P = rng.normal(size=(3000, 2)) + 5.0
    X, y = np.vstack([U, P]), np.repeat([0, 1], [6000, 3000])
    model = VPUXGBoostClassifier(**QUICK, scenario="case-control").fit(X, y)
    assert model.prior_ == pytest.approx(0.3, abs=0.03)


def test_state_goes_through_json_and_arrays():
    frame, _, y = frame_of_kinds()
    model = VPUXGBoostClassifier(**QUICK).fit(frame, y)
    fields, arrays = model._to_state()
    again = VPUXGBoostClassifier(**QUICK)
    again._from_state(json.loads(json.dumps(fields)), load(save(arrays)))
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)
    pd.testing.assert_frame_equal(again.history_, model.history_)
    assert again.prior_interval_ == model.prior_interval_
    assert again.best_round_ == model.best_round_
    assert again.held_out_loss_ == model.held_out_loss_


def test_save_and_load(tmp_path):
    frame, _, y = frame_of_kinds()
    model = VPUXGBoostClassifier(**QUICK).fit(frame, y)
    varpu.save(model, tmp_path / "trees.varpu")
    again = varpu.load(tmp_path / "trees.varpu")
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": 0}, "learning_rate must be"),
        ({"num_leaves": 1}, "num_leaves must be"),
        ({"held_out": 1.0}, "held_out must be"),
        ({"max_delta_step": -1}, "max_delta_step must be"),
        ({"prior": 2.0}, "prior must be"),
        ({"scenario": "none"}, "scenario must be one of"),
    ],
)
def test_bad_parameters(settings, message):
    X, _, y = two_gaussians(50)
    with pytest.raises(PUInputError, match=message):
        VPUXGBoostClassifier(**settings).fit(X, y)


def test_bad_data():
    X, _, y = two_gaussians(50)
    with pytest.raises(PUInputError, match="sparse"):
        VPUXGBoostClassifier().fit(scipy.sparse.csr_matrix(X), y)
    with pytest.raises(PUInputError, match="infinity"):
        VPUXGBoostClassifier().fit(pd.DataFrame(np.where(X > 2, np.inf, X)), y)
    with pytest.raises(PUInputError, match="at least 2 distinct labelled rows"):
        VPUXGBoostClassifier().fit(X, np.arange(50) == 0)
    with pytest.raises(PUInputError, match="one class"):
        VPUXGBoostClassifier().fit(X, y, sample_weight=(y == 0))


def test_huge_numbers_are_numbers():
    X, _, y = two_gaussians(300)
    model = VPUXGBoostClassifier(**QUICK, prior=0.4).fit(X * 1e300, y)
    assert np.isfinite(model.decision_function(X * 1e300)).all()


def test_xgboost_is_loaded_late_and_its_absence_is_said():
    code = """
import sys
import varpu.boosting, varpu.boosting.xgboost_classifier as home, varpu.scaleout.trees
assert "xgboost" not in sys.modules
sys.modules["xgboost"] = None
from varpu.exceptions import MissingExtraError
try:
    home.VPUXGBoostClassifier().fit([[0.0], [1.0]], [0, 1])
except MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "varpu[xgboost]"' in done.stdout
