"""PUClassifier: the contract, what it compares, tables of every kind, and what it finds."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import torch
from scipy.stats import norm
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import varpu
from varpu import PUClassifier
from varpu.auto import candidates
from varpu.auto.candidates import FAMILIES
from varpu.crossfit import assign_folds, blend, blend_weights, pooled_loss
from varpu.exceptions import MissingExtraError, PUInputError, ScaleWarning

QUICK = {"families": ("trees", "kernels"), "n_folds": 3, "n_jobs": 1, "random_state": 0}


# The checks' tables are tiny, and the classifier says so.
@pytest.mark.filterwarnings("ignore::varpu.exceptions.ScaleWarning")
@parametrize_with_checks([PUClassifier(families=["trees", "kernels"], n_jobs=1)])
def test_scikit_learn_checks(estimator, check, few):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::varpu.exceptions.ScaleWarning")
@parametrize_with_checks([PUClassifier()])
def test_scikit_learn_checks_of_the_defaults(estimator, check):
    check(estimator)


def calibration_error(model, X, posterior):
    """The mean distance of probability and truth over fifteen bins of equal size."""
    proba = model.predict_proba(X)[:, 1]
    bins = np.digitize(proba, np.quantile(proba, np.linspace(0, 1, 16)[1:-1]))
    return sum(abs((proba - posterior)[bins == b].sum()) for b in set(bins)) / len(X)


def check_against_the_known_posterior(two_gaussians, **settings):
    prior, distance = 0.4, 2.5
    X, _, y = two_gaussians(20_000, prior, distance, labelled=0.5)
    model = PUClassifier(random_state=0, **settings).fit(X, y)
    new, truth, _ = two_gaussians(20_000, prior, distance, seed=1)
    odds = prior / (1 - prior) * norm.pdf(new[:, 0] - distance) / norm.pdf(new[:, 0])
    posterior = odds / (1 + odds)
    assert calibration_error(model, new, posterior) < 0.03
    assert model.prior_ == pytest.approx(prior, abs=0.03)
    best = ((posterior > 0.5) == truth).mean()
    assert (model.predict(new) == truth).mean() > best - 0.01
    ratio = posterior / prior
    assert np.abs(np.exp(model.log_ratio(new)) - ratio).mean() < 0.1


def test_probabilities_follow_the_known_posterior(two_gaussians, few):
    check_against_the_known_posterior(two_gaussians, families=["trees", "kernels"])


@pytest.mark.slow
def test_probabilities_of_the_defaults_follow_the_known_posterior(two_gaussians):
    check_against_the_known_posterior(two_gaussians)


@pytest.fixture(scope="module")
def fitted():
    """All trees and all kernels, as they come."""
    rng = np.random.default_rng(0)
    truth = rng.random(500) < 0.4
    X = rng.normal(size=(500, 3))
    X[truth, 0] += 3.0  # the best possible accuracy is 93%
    y = (truth & (rng.random(500) < 0.5)).astype(int)
    model = PUClassifier(**QUICK)
    return model.fit(X, y), X, truth, y


def test_what_was_compared(fitted):
    model, _, _, y = fitted
    table = model.candidates_
    assert list(table.columns) == [
        "candidate",
        "family",
        "held_out_loss",
        "weight",
        "seconds",
        "note",
    ]
    assert table["family"].tolist() == ["trees"] * 7 + ["kernels"] * 10
    assert table["candidate"].is_unique
    assert (table["note"] == "").all()
    assert np.isfinite(table["held_out_loss"]).all()
    assert (table["seconds"] > 0).all()
    assert (table["weight"] >= 0).all()
    assert table["weight"].sum() == pytest.approx(1)
    # Jensen: a blend of ratios is no worse than its members are in the mean.
    assert model.held_out_loss_ <= table["weight"] @ table["held_out_loss"]
    found = pooled_loss(model.out_of_fold_log_ratio_, y * 1.0, np.ones(len(y)))
    assert model.held_out_loss_ == pytest.approx(found)


def test_losses_and_weights_are_those_of_the_candidates(two_gaussians, few, short, monkeypatch):
    X, _, y = two_gaussians(300)
    seen = {}
    keep = PUClassifier._keep

    def spy(self, found, weights):
        seen["log_ratios"] = np.array([one.log_ratio for one in found])
        keep(self, found, weights)

    monkeypatch.setattr(PUClassifier, "_keep", spy)
    model = PUClassifier(n_folds=3, n_jobs=1, random_state=0).fit(X, y)
    in_p, in_u = y * 1.0, np.ones(300)
    losses = [pooled_loss(one, in_p, in_u) for one in seen["log_ratios"]]
    table = model.candidates_[model.candidates_["note"] == ""]
    np.testing.assert_allclose(table["held_out_loss"], losses)
    assert set(table["family"]) == {"trees", "kernels", "networks"}
    weights = blend_weights(seen["log_ratios"], in_p, in_u)
    weights[weights < 1e-3] = 0
    np.testing.assert_allclose(table["weight"], weights / weights.sum())
    out_of_fold = np.log((weights / weights.sum()) @ np.exp(seen["log_ratios"]))
    np.testing.assert_allclose(model.out_of_fold_log_ratio_, out_of_fold)


def test_new_rows_are_scored_by_the_blend_and_the_curve(fitted):
    model, X, _, _ = fitted
    table = candidates.Table(X, model._columns)
    ratios = np.exp([one.predict(table, "cpu") for one in model._used])
    scores = model.recalibration_(np.log(model._weights @ ratios))
    np.testing.assert_allclose(model.log_ratio(X), scores)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], np.minimum(model.prior_ * np.exp(scores), 1)
    )
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X)[:, 1] > 0.5)


def test_members_score_rows_apart(fitted):
    model, X, _, _ = fitted
    members = model.member_log_ratios(X)
    used = model.candidates_[model.candidates_["weight"] > 0]
    assert list(members.columns) == used["candidate"].tolist()
    blended = blend(members.to_numpy().T, used["weight"].to_numpy())
    np.testing.assert_allclose(model.recalibration_(blended), model.log_ratio(X))


def test_it_finds_the_classes_and_the_prior(fitted):
    model, X, truth, _ = fitted
    assert (model.predict(X) == truth).mean() > 0.9
    assert roc_auc_score(truth, model.out_of_fold_log_ratio_) > 0.95
    low, high = model.prior_interval_
    assert low <= model.prior_ <= high
    assert model.prior_ == pytest.approx(truth.mean(), abs=0.1)


def test_a_given_prior_is_taken(two_gaussians, few):
    X, _, y = two_gaussians(300)
    free, given = (PUClassifier(**QUICK, prior=prior).fit(X, y) for prior in (None, 0.7))
    assert given.prior_ == 0.7
    assert given.prior_interval_ == (0.7, 0.7)
    np.testing.assert_array_equal(given.log_ratio(X), free.log_ratio(X))
    expected = np.minimum(0.7 * np.exp(given.log_ratio(X)), 1)
    np.testing.assert_allclose(given.predict_proba(X)[:, 1], expected)


def test_case_control_prior_is_that_of_the_unlabelled_rows(few):
    rng = np.random.default_rng(0)
    truth = rng.random(2000) < 0.3
    U = rng.normal(size=(2000, 2)) + np.where(truth, 5.0, 0.0)[:, None]
    P = rng.normal(size=(1000, 2)) + 5.0
    X, y = np.vstack([U, P]), np.repeat([0, 1], [2000, 1000])
    model = PUClassifier(**QUICK, scenario="case-control").fit(X, y)
    assert model.prior_ == pytest.approx(0.3, abs=0.03)
    assert np.exp(model.log_ratio(U)).mean() == pytest.approx(1, abs=0.05)
    np.testing.assert_allclose(model._columns.means, U.mean(axis=0))
    assert (model.predict(U) == truth).mean() > 0.98


# What memory must not do


@pytest.mark.parametrize("planted", ["a number for each row", "copies of labelled rows"])
def test_memory_does_not_help(planted):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 5)), (np.arange(600) < 100).astype(int)  # nothing to learn
    if planted == "a number for each row":
        X = np.column_stack([X, rng.permutation(600)])
    else:
        X, y = np.vstack([X, *[X[:100]] * 4]), np.concatenate([y, np.ones(400, int)])
    model = PUClassifier(**QUICK, prior=0.5).fit(X, y)
    assert model.held_out_loss_ > -0.02
    assert (model.candidates_["held_out_loss"] > -0.02).all()
    assert abs(roc_auc_score(y, model.out_of_fold_log_ratio_) - 0.5) < 0.06


def test_copies_across_labelled_and_unlabelled_rows(two_gaussians, few):
    X, truth, y = two_gaussians(300)
    doubled, labels = np.vstack([X, X[y == 1]]), np.concatenate([y, np.zeros(y.sum(), int)])
    model = PUClassifier(**QUICK).fit(doubled, labels)
    scores = model.out_of_fold_log_ratio_
    np.testing.assert_allclose(scores[:300][y == 1], scores[300:])
    fold = assign_folds(doubled, labels == 1, 3, np.random.RandomState(0))
    np.testing.assert_array_equal(fold[:300][y == 1], fold[300:])
    assert (model.predict(X) == truth).mean() > 0.9


@pytest.mark.parametrize(("n_columns", "n_values"), [(1, 6), (2, 2), (3, 3)])
def test_few_kinds_of_rows_are_told_apart(few, n_columns, n_values):
    rng = np.random.default_rng(0)
    X = rng.integers(0, n_values, (1000, n_columns)).astype(float)
    best = X.mean(axis=1) > (n_values - 1) / 2
    y = (rng.random(1000) < np.where(best, 0.95, 0.05)) & (rng.random(1000) < 0.4)
    model = PUClassifier(**QUICK).fit(X, y)
    assert (model.predict(X) == best).mean() > 0.95


# Tables of every kind


def mixed_frame(n=400, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    kind = np.where(rng.random(n) < 0.8, truth, ~truth)
    frame = pd.DataFrame(
        {
            "amount": np.where(rng.random(n) < 0.2, np.nan, truth * 2 + rng.normal(size=n)),
            "kind": pd.Categorical(np.where(kind, "yes", "no")).set_categories(["no", "yes", "?"]),
            "code": pd.Categorical(rng.integers(0, 5, n) + truth),
            "flag": pd.Categorical(kind),
            "range, of [x]": pd.cut(rng.normal(size=n), [-9, -1, 1, 9]),
            "count": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "empty": np.nan,
            "nothing": pd.Categorical([None] * n),
            "constant": 1,
        }
    )
    frame.loc[::9, ["kind", "code", "count"]] = None
    return frame, truth, (truth & (rng.random(n) < 0.5)).astype(int)


def test_frames_with_gaps_and_categories(few):
    frame, truth, y = mixed_frame()
    before = frame.copy()
    model = PUClassifier(**QUICK).fit(frame, y)
    assert roc_auc_score(truth, model.out_of_fold_log_ratio_) > 0.85
    assert list(model.feature_names_in_) == list(frame.columns)
    pd.testing.assert_frame_equal(frame, before)
    # Levels count, not how they are numbered; one that was never seen is as good as missing.
    reordered = frame.assign(kind=frame["kind"].cat.set_categories(["?", "yes", "no"]))
    np.testing.assert_array_equal(model.predict_proba(reordered), model.predict_proba(frame))
    unseen, missing = (
        frame.assign(kind=pd.Categorical([level] * len(frame))) for level in ("new", None)
    )
    np.testing.assert_allclose(model.predict_proba(unseen), model.predict_proba(missing))


def test_gaps_where_there_were_none(two_gaussians, few):
    X, _, y = two_gaussians(300)
    model = PUClassifier(**QUICK).fit(X, y)
    gaps = X.copy()
    gaps[::2] = np.nan
    found, usual = model.decision_function(gaps), model.decision_function(X)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[1::2], usual[1::2])


def test_columns_must_be_those_of_the_fit(few):
    frame, _, y = mixed_frame()
    model = PUClassifier(**QUICK).fit(frame, y)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(frame[frame.columns[::-1]])
    with pytest.raises(ValueError, match="seen at fit time, yet now missing"):
        model.predict(frame.drop(columns="count"))
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.predict(frame.assign(another=1))
    with pytest.raises(PUInputError, match="categories must be where they were"):
        model.predict(frame.assign(kind=1.0))


def test_there_must_be_as_many_columns_as_in_the_fit(fitted):
    model, X, _, _ = fitted
    with pytest.raises(ValueError, match="X has 2 features, but PUClassifier is expecting 3"):
        model.predict(X[:, :2])


def test_columns_that_say_nothing(two_gaussians, few):
    X, truth, y = two_gaussians(400)
    idle = np.column_stack([X, np.full(400, 1e9), np.full(400, np.nan), np.zeros(400)])
    model = PUClassifier(**QUICK).fit(idle, y)
    assert (model.predict(idle) == truth).mean() > 0.9
    # Values in them later do not turn everything over.
    assert np.isfinite(model.decision_function(np.nan_to_num(idle, nan=5.0))).all()


def test_sparse_tables_are_for_trees(two_gaussians, few):
    X, truth, y = two_gaussians(400)
    X[X < 0.5] = 0
    model = PUClassifier(n_jobs=1, random_state=0).fit(scipy.sparse.csc_matrix(X), y)
    assert model.candidates_["family"].tolist() == ["trees"]
    assert roc_auc_score(truth, model.decision_function(scipy.sparse.csr_matrix(X))) > 0.9
    # Fitted on the one, used on the other.
    dense = PUClassifier(**QUICK).fit(X, y)
    np.testing.assert_allclose(
        dense.predict_proba(scipy.sparse.csr_matrix(X)), dense.predict_proba(X)
    )


def test_polars_and_pandas_are_the_same_table(two_gaussians, few):
    X, _, y = two_gaussians(300)
    frames = [pd.DataFrame(X, columns=list("abc")), pl.DataFrame(X, schema=list("abc"))]
    first, second = (PUClassifier(**QUICK).fit(f, y).predict_proba(f) for f in frames)
    # Their columns lie differently in memory, and so sums differ in the last bit.
    np.testing.assert_allclose(first, second, atol=1e-5)


def test_in_pipelines_and_searches(two_gaussians, few):
    X, truth, y = two_gaussians(1000)
    pipeline = make_pipeline(StandardScaler(), PUClassifier(**QUICK))
    assert roc_auc_score(truth, pipeline.fit(X, y).decision_function(X)) > 0.95
    assert cross_val_score(PUClassifier(**QUICK), X, y, cv=2, scoring="roc_auc").min() > 0.7
    grid = {"families": [("trees",), ("kernels",)]}
    search = GridSearchCV(PUClassifier(**QUICK), grid, cv=2, scoring="roc_auc").fit(X, y)
    assert search.best_estimator_.candidates_["family"].nunique() == 1


# Files


def nan_array():
    X = np.random.default_rng(0).normal(size=(300, 3))
    X[::5, 1] = np.nan
    return X, (X[:, 0] > 0.5) & (np.arange(300) % 2 == 0), {}


def frame_of_all():
    frame, _, y = mixed_frame(300)
    return frame, y, {}


def sparse():
    X, y, _ = nan_array()
    return scipy.sparse.csr_matrix(np.nan_to_num(X) * (np.abs(np.nan_to_num(X)) > 0.3)), y, {}


def with_networks():
    return *frame_of_all()[:2], {"families": ("networks",)}


def case_control():
    return *nan_array()[:2], {"scenario": "case-control", "prior": 0.3}


def few_positives():
    X, _, _ = nan_array()
    return X, np.where(np.arange(300) < 8, "yes", "no"), {}


@pytest.mark.filterwarnings("ignore::varpu.exceptions.ScaleWarning")
@pytest.mark.parametrize(
    "make", [nan_array, frame_of_all, sparse, with_networks, case_control, few_positives]
)
def test_save_and_load(make, tmp_path, few, short):
    X, y, settings = make()
    model = PUClassifier(**{**QUICK, **settings}).fit(X, y)
    if make is with_networks:
        assert {one.view for one in model._used} == {"standard", "ranked"}
    elif make not in (sparse, few_positives):
        assert {one.family for one in model._used} == {"trees", "kernels"}
    varpu.save(model, tmp_path / "model.varpu")
    again = varpu.load(tmp_path / "model.varpu")
    assert type(again) is PUClassifier
    assert again.get_params() == model.get_params()
    for method in ("predict_proba", "decision_function", "log_ratio", "predict"):
        np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    for name in ("prior_", "prior_interval_", "scale_", "held_out_loss_", "log_mean_phi_"):
        assert getattr(again, name) == getattr(model, name)
    np.testing.assert_array_equal(again.out_of_fold_log_ratio_, model.out_of_fold_log_ratio_)
    np.testing.assert_array_equal(again.classes_, model.classes_)
    pd.testing.assert_frame_equal(again.candidates_, model.candidates_)
    assert (again.recalibration_ is None) == (model.recalibration_ is None)
    assert (model.recalibration_ is None) == (make is few_positives)
    # What was read can be written, and is the same.
    (fields, arrays), (same_fields, same_arrays) = model._to_state(), again._to_state()
    assert fields == same_fields
    assert arrays.keys() == same_arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, same_arrays[name])


def test_a_file_keeps_the_notes(two_gaussians, tmp_path, few):
    X, _, y = two_gaussians(300)
    model = PUClassifier(n_jobs=1, random_state=0, time_budget=1e-9).fit(X, y)
    varpu.save(model, tmp_path / "model.varpu")
    again = varpu.load(tmp_path / "model.varpu")
    pd.testing.assert_frame_equal(again.candidates_, model.candidates_)


# Time, torch and seeds


def test_out_of_time(two_gaussians):
    X, truth, y = two_gaussians(300)
    model = PUClassifier(n_jobs=1, random_state=0, time_budget=1e-9).fit(X, y)
    table = model.candidates_
    assert len(table) == 7 + 10 + 2
    assert table["note"].tolist() == [""] + ["not fitted: out of time"] * 18
    assert table["weight"].tolist()[0] == 1
    assert table.loc[1:, ["weight", "held_out_loss", "seconds"]].isna().all(axis=None)
    assert (model.predict(X) == truth).mean() > 0.9


def test_networks_alone_have_one_epoch_when_time_is_out(two_gaussians):
    X, _, y = two_gaussians(300)
    settings = {"families": ["networks"], "time_budget": 1e-9, "random_state": 0, "prior": 0.4}
    model = PUClassifier(**settings).fit(X, y)
    assert model.candidates_["note"].tolist() == ["", "", "", "not fitted: out of time"]
    assert np.isfinite(model.candidates_["held_out_loss"][:3]).all()
    assert np.isfinite(model.decision_function(X)).all()


def test_without_torch_the_note_names_the_install_command(two_gaussians, few, monkeypatch):
    monkeypatch.setattr("varpu.auto.classifier.find_spec", lambda name: None)
    X, _, y = two_gaussians(300)
    model = PUClassifier(n_jobs=1, random_state=0).fit(X, y)
    table = model.candidates_.set_index("candidate")
    assert "pip install 'varpu[torch]'" in table.loc["networks", "note"]
    assert table["weight"].sum() == pytest.approx(1)
    assert table.index[table["note"] == ""].tolist() == [
        "trees of 3 leaves",
        "oblique trees of 7 leaves",
        "kernel, whitened, 0.3/d, C 10",
        "densities, width 0.4",
        "graph, whitened, smoothing 3",
        "mixtures, scores",
    ]
    # Who asked for networks wants an error.
    monkeypatch.setattr("varpu.exceptions.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"varpu\[torch\]"):
        PUClassifier(families=["networks"]).fit(X, y)


@pytest.mark.parametrize("are_quick", [False, True])
def test_a_family_out_of_reach_is_left_at_its_first_unless_it_is_quick(monkeypatch, are_quick):
    """Trees see a checkerboard that no wide kernel does."""
    monkeypatch.setattr(candidates, "_QUICK_ROWS", 1500 if are_quick else 1499)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(1500, 2))
    y = (np.floor(8 * X).sum(axis=1) % 2 == 0) & (rng.random(1500) < 0.7)
    model = PUClassifier(**QUICK, prior=0.5).fit(X, y)
    trees, kernels = (model.candidates_[model.candidates_["family"] == f] for f in FAMILIES[:2])
    assert (trees["note"] == "").all()
    note = "not fitted: its family is out of reach of the best"
    assert kernels["note"].tolist() == ["", *[("" if are_quick else note)] * 9]
    best = model.candidates_["held_out_loss"].min()
    assert kernels["held_out_loss"].iloc[0] > 0.75 * best
    assert model.candidates_["weight"].sum() == pytest.approx(1)
    # Where nothing can be learned nothing is ruled out.
    noise = PUClassifier(**QUICK, prior=0.5).fit(
        rng.uniform(size=(400, 2)), np.arange(400) % 4 == 0
    )
    assert (noise.candidates_["note"] == "").all()


def test_one_that_diverged_has_no_part(two_gaussians, few, monkeypatch):
    def fit_networks(view, splits, *_):
        return [None] * 3, np.full((3, len(view)), np.nan)

    monkeypatch.setattr("varpu.auto.networks.fit_networks", fit_networks)
    X, _, y = two_gaussians(300)
    model = PUClassifier(n_jobs=1, random_state=0).fit(X, y)
    networks = model.candidates_["family"] == "networks"
    assert (model.candidates_["weight"][networks] == 0).all()
    assert model.candidates_["held_out_loss"].isna().tolist() == networks.tolist()
    assert np.isfinite(model.decision_function(X)).all()


def global_state():
    return np.random.mtrand._rand.get_state(legacy=False)["state"]["key"].copy()


def test_the_seed_decides_everything(two_gaussians, few, short):
    X, _, y = two_gaussians(300)
    other = two_gaussians(150, seed=3)
    settings = {"n_folds": 3, "n_jobs": 1, "prior": 0.4}
    first = PUClassifier(**settings, random_state=0).fit(X, y)
    np_state, torch_state = global_state(), torch.get_rng_state()
    # Fits of other tables between, and by the same object, do not matter; neither do threads.
    again = PUClassifier(**{**settings, "n_jobs": 2}, random_state=0)
    again.fit(other[0], other[2])
    again.predict_proba(other[0])
    again.fit(X, y)
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    np.testing.assert_array_equal(first.out_of_fold_log_ratio_, again.out_of_fold_log_ratio_)
    columns = ["candidate", "held_out_loss", "weight"]
    pd.testing.assert_frame_equal(first.candidates_[columns], again.candidates_[columns])
    # Nothing is drawn from, or seeded in, the generators that all share.
    np.testing.assert_array_equal(global_state(), np_state)
    assert torch.equal(torch.get_rng_state(), torch_state)
    another = PUClassifier(**settings, random_state=1).fit(X, y)
    assert (first.predict_proba(X) != another.predict_proba(X)).any()


def test_progress_is_shown_when_someone_is_watching(two_gaussians, few, capfd, monkeypatch):
    X, _, y = two_gaussians(300)
    PUClassifier(**QUICK).fit(X, y)
    assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes that for a terminal
    PUClassifier(**QUICK).fit(X, y)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "fitting mixtures, scores" in shown.err
    PUClassifier(**QUICK, progress=False).fit(X, y)
    assert capfd.readouterr() == ("", "")


# Bad input


def test_five_positives_work_and_are_warned_about(two_gaussians, few):
    X, truth, _ = two_gaussians(300, distance=5.0)
    y = np.zeros(300, dtype=int)
    y[np.flatnonzero(truth)[:5]] = 1
    with pytest.warns(ScaleWarning, match="rests on 5 labelled positives") as caught:
        model = PUClassifier(n_jobs=1, families=["trees", "kernels"], random_state=0).fit(X, y)
    assert caught[0].filename == __file__  # the line that called fit
    assert model.recalibration_ is None
    assert np.isfinite(model.decision_function(X)).all()
    assert roc_auc_score(truth, model.decision_function(X)) > 0.9


def test_a_fit_after_a_fit_forgets_the_curve(two_gaussians, few):
    X, _, y = two_gaussians(300)
    model = PUClassifier(**QUICK).fit(X, y)
    assert model.recalibration_ is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        model.fit(X, np.arange(300) < 8)
    assert model.recalibration_ is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"time_budget": -1.0}, "time_budget must be"),
        ({"time_budget": 0}, "time_budget must be"),
        ({"time_budget": "1 min"}, "time_budget must be"),
        ({"families": ["trees", "forests"]}, "families must be one of 'trees', .* got 'forests'"),
        ({"families": "trees"}, "families must be a list of .* got 'trees'"),
        ({"families": []}, "families must be a list"),
        ({"families": 3}, "families must be a list"),
        ({"prior": 0.0}, "prior must be"),
        ({"prior": 1.5}, "prior must be"),
        ({"prior": "0.5"}, "prior must be"),
        ({"scenario": "none"}, "scenario must be one of"),
        ({"n_folds": 1}, "n_folds must be"),
        ({"device": "abacus"}, "device must be"),
    ],
)
def test_bad_parameters(two_gaussians, monkeypatch, settings, message):
    monkeypatch.setattr(PUClassifier, "_compare", None)  # it is found before any work
    X, _, y = two_gaussians(50)
    with pytest.raises(ValueError, match=message):
        PUClassifier(**settings).fit(X, y)


def with_strings(X, y):
    return pd.DataFrame({"a": X[:, 0], "name": "x"}), y


def with_objects(X, y):
    return X.astype(str).astype(object) + "x", y


def with_infinity(X, y):
    return np.where(X > 2, np.inf, X), y


def with_infinity_in_a_frame(X, y):
    return pd.DataFrame(np.where(X > 2, -np.inf, X)), y


def of_one_class(X, y):
    return X, 0 * y


def of_one_positive(X, y):
    return X, np.arange(len(y)) == 0


def of_one_unlabelled_row(X, y):
    return X, np.arange(len(y)) > 0


def of_three_classes(X, y):
    return X, np.arange(len(y)) % 3


def of_other_length(X, y):
    return X, y[1:]


def with_no_rows(X, y):
    return X[:0], y[:0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_strings, "'name': 'category'"),
        (with_objects, "could not convert string to float"),
        (with_infinity, "infinity"),
        (with_infinity_in_a_frame, "infinity"),
        (of_one_class, "got 1 class, 0,"),
        (of_one_positive, "at least 2 distinct labelled rows"),
        (of_one_unlabelled_row, "at least 2 distinct labelled rows"),
        (of_three_classes, "y has 3 classes"),
        (of_other_length, "X has 50 rows but y has 49"),
        (with_no_rows, r"0 sample\(s\)"),
    ],
)
def test_bad_data(two_gaussians, monkeypatch, change, message):
    monkeypatch.setattr(PUClassifier, "_compare", None)
    X, _, y = two_gaussians(50)
    with pytest.raises(ValueError, match=message):
        PUClassifier().fit(*change(X, y))
