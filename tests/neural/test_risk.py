"""UPUClassifier and NNPUClassifier: the contract, the prior, and what tells them apart."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import norm
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

import varpu
from varpu import NNPUClassifier, UPUClassifier
from varpu.exceptions import PUInputError
from varpu.losses import upu
from varpu.nets import logit
from varpu.priors import BBE, KM2

KINDS = {"uPU": UPUClassifier, "nnPU": NNPUClassifier}
QUICK = {"prior": 0.4, "hidden": (32, 32), "epochs": 10, "batch_size": 64, "random_state": 0}
both = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def two_gaussians(n, prior=0.4, distance=3.0, labelled=0.4, seed=0):
    """Rows, true labels and PU labels of the single-set scenario."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < prior
    X = rng.normal(size=(n, 2))
    X[truth, 0] += distance
    return X, truth, (truth & (rng.random(n) < labelled)).astype(int)


@parametrize_with_checks(
    [
        UPUClassifier(prior=0.5, hidden=(16,), lr=3e-3, epochs=15, steps_per_epoch=15),
        NNPUClassifier(prior=0.5, hidden=(16,), lr=3e-3, epochs=15, steps_per_epoch=15),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# The checks' tables are tiny, and the prior's estimator says so.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::varpu.exceptions.ScaleWarning")
@parametrize_with_checks([UPUClassifier(), NNPUClassifier()])
def test_scikit_learn_checks_of_the_defaults(estimator, check):
    check(estimator)


@both
@pytest.mark.parametrize("loss", ["sigmoid", "logistic"])
def test_the_error_is_near_the_bayes_error(kind, loss):
    distance, prior = 3.0, 0.4
    X, _, y = two_gaussians(4000, prior, distance)
    X_test, truth, _ = two_gaussians(20000, prior, distance, seed=1)
    # The decision boundary of two unit Gaussians lies where their weighted densities meet.
    cut = distance / 2 + np.log((1 - prior) / prior) / distance
    bayes = prior * norm.cdf(cut - distance) + (1 - prior) * norm.sf(cut)
    model = kind(**QUICK | {"loss": loss, "epochs": 20}).fit(X, y)
    assert (model.predict(X_test) != truth).mean() < bayes + 0.01


@both
def test_with_the_logistic_loss_the_probability_is_calibrated(kind):
    X, _, y = two_gaussians(8000, distance=2.0)
    model = kind(**QUICK | {"loss": "logistic", "epochs": 20}).fit(X, y)
    X_test, truth, _ = two_gaussians(20000, distance=2.0, seed=1)
    proba = model.predict_proba(X_test)[:, 1]
    bins = np.digitize(proba, np.linspace(0, 1, 11)[1:-1])
    gaps = [
        abs(proba[bins == b].mean() - truth[bins == b].mean()) * (bins == b).mean()
        for b in np.unique(bins)
    ]
    assert sum(gaps) < 0.05


@both
def test_probability_decision_and_prediction_agree(kind):
    X, _, y = two_gaussians(600)
    model = kind(**QUICK).fit(X, y)
    proba = model.predict_proba(X * 10)
    assert (proba >= 0).all()
    assert (proba <= 1).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X * 10) == 1, proba[:, 1] > 0.5)
    np.testing.assert_array_equal(model.predict(X * 10) == 1, model.decision_function(X * 10) > 0)
    scaled = torch.tensor((X - model._single.mean) / model._single.std, dtype=torch.float32)
    with torch.no_grad():
        sign = logit(model.module_(scaled)).numpy() > 0
    assert (sign == (model.predict(X) == 1)).mean() > 0.998  # float32 against float64 at zero
    ratio = np.exp(model.log_ratio(X))
    assert ratio.mean() == pytest.approx(1)  # single-set: the marginal is all rows


def test_the_unbiased_risk_overfits_where_the_other_does_not():
    """Thirty positives in 20 dimensions: the unbiased risk falls below zero, the other does not."""
    rng = np.random.default_rng(0)
    truth = rng.random(5600) < 0.4
    X = rng.normal(size=(5600, 20))
    X[truth, 0] += 2.5
    y = np.zeros(600, dtype=int)
    y[np.flatnonzero(truth[:600])[:30]] = 1
    settings = {"prior": 0.4, "hidden": (200, 200), "epochs": 30, "weight_decay": 0.0}
    settings |= {"validation_fraction": 0, "random_state": 0}
    models = {name: kind(**settings).fit(X[:600], y) for name, kind in KINDS.items()}

    def risk(model):
        negative, positive = torch.tensor(model.predict_proba(X[:600])).T
        g = positive.log() - negative.log()
        return upu(g[y == 1], g, 0.4).item()

    assert risk(models["uPU"]) < -0.2
    assert risk(models["nnPU"]) > -0.05
    errors = {name: (m.predict(X[600:]) != truth[600:]).mean() for name, m in models.items()}
    assert errors["nnPU"] < errors["uPU"]


@both
def test_a_larger_prior_finds_more_positives(kind):
    X, _, y = two_gaussians(2000, distance=1.5)
    found = [kind(**QUICK | {"prior": p}).fit(X, y).predict(X).mean() for p in (0.2, 0.4, 0.7)]
    assert found[0] < found[1] < found[2]


@both
@pytest.mark.parametrize("prior", ["auto", KM2(), BBE()], ids=["auto", "KM2", "BBE"])
def test_the_prior_may_be_estimated_first(kind, prior):
    X, truth, y = two_gaussians(1500, distance=4.0)
    model = kind(**QUICK | {"prior": prior}).fit(X, y)
    low, high = model.prior_interval_
    assert low <= model.prior_ <= high
    assert model.prior_ == pytest.approx(truth.mean(), abs=0.06)
    assert (model.predict(X) == truth).mean() > 0.95
    if prior != "auto":
        assert not hasattr(prior, "prior_")  # the caller's own estimator is left as it was


@both
def test_a_given_prior_is_taken_as_it_is(kind):
    X, _, y = two_gaussians(300)
    model = kind(**QUICK | {"prior": 0.37, "epochs": 1}).fit(X, y)
    assert model.prior_ == 0.37
    assert model.prior_interval_ == (0.37, 0.37)


@both
def test_scenarios_differ_in_what_the_marginal_is(kind):
    X, _, y = two_gaussians(2000, labelled=0.7)
    single = kind(**QUICK | {"loss": "logistic"}).fit(X, y)
    other = kind(**QUICK | {"loss": "logistic", "scenario": "case-control"}).fit(X, y)
    assert np.exp(single.log_ratio(X)).mean() == pytest.approx(1)
    assert np.exp(other.log_ratio(X[y == 0])).mean() == pytest.approx(1)
    # Most positives are labelled, so few are left in U; told 0.4 of it are, case-control finds more
    # of them than there are.
    assert other.predict(X).mean() > single.predict(X).mean()


@both
def test_mixup_changes_the_fit_and_still_learns(kind):
    X, truth, y = two_gaussians(1500)
    plain, mixed = (kind(**QUICK, mixup=mixup).fit(X, y) for mixup in (False, True))
    assert not np.array_equal(plain.predict_proba(X), mixed.predict_proba(X))
    assert (mixed.predict(X) == truth).mean() > 0.85


@both
def test_an_epoch_is_chosen_by_the_held_out_risk(kind):
    X, _, y = two_gaussians(1500)
    model = kind(**QUICK | {"lr": 1e-2, "epochs": 20}, patience=3).fit(X, y)
    risks = model.history_["held_out_loss"]
    assert len(risks) < 20
    assert model.best_epoch_ == risks.argmin()
    assert model.held_out_loss_ == risks.min()
    last = kind(**QUICK, validation_fraction=0).fit(X, y)
    assert last.history_["held_out_loss"].isna().all()
    assert last.best_epoch_ == 9
    assert np.isnan(last.held_out_loss_)


@both
def test_of_a_grid_of_learning_rates_the_best_by_held_out_risk_is_kept(kind):
    X, _, y = two_gaussians(1000)
    grid = [1e-6, 1e-2]
    model = kind(**QUICK | {"lr": grid}).fit(X, y)
    best = model.history_.groupby("lr")["held_out_loss"].min()
    assert model.lr_ == best.idxmin() == 1e-2  # the other has learned nothing
    alone = kind(**QUICK | {"lr": 1e-2}).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), atol=1e-4)
    with pytest.raises(PUInputError, match="grid of lr"):
        kind(**QUICK | {"lr": grid, "validation_fraction": 0}).fit(X, y)


@both
def test_same_seed_same_bits_and_global_generators_are_left_alone(kind):
    X, _, y = two_gaussians(300)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (kind(**QUICK).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert torch.equal(torch.get_rng_state(), before[0])
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002


@both
def test_images_and_your_own_network(kind):
    rng = np.random.default_rng(0)
    truth = rng.random(300) < 0.5
    images = rng.integers(0, 100, size=(300, 1, 6, 6)).astype(np.uint8)
    images[truth] += 120
    y = (truth & (rng.random(300) < 0.5)).astype(int)

    def small():
        return nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 2))

    model = kind(**QUICK | {"prior": 0.5, "module": small, "lr": 1e-2}).fit(images, y)
    assert (model.predict(images) == truth).mean() > 0.95


@both
def test_frames_labels_pipeline_and_grid_search(kind):
    X, truth, y = two_gaussians(400)
    frame = pd.DataFrame(X, columns=["a", "b"])
    words = np.where(y == 1, "yes", "no")
    model = make_pipeline(StandardScaler(), kind(**QUICK)).fit(frame, words)
    assert set(model.predict(frame)) == {"yes", "no"}
    assert ((model.predict(frame) == "yes") == truth).mean() > 0.85
    search = GridSearchCV(
        kind(**QUICK | {"epochs": 2}),
        {"lr": [1e-4, 1e-2]},
        cv=2,
        scoring=varpu.metrics.neg_variational_scorer,
    ).fit(X, y)
    assert search.best_params_["lr"] in (1e-4, 1e-2)
    assert clone(kind(**QUICK)).get_params() == kind(**QUICK).get_params()


@both
def test_saved_and_loaded(kind, tmp_path):
    X, _, y = two_gaussians(300)
    model = kind(**QUICK).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    varpu.save(model, tmp_path / "model.varpu")
    again = varpu.load(tmp_path / "model.varpu")
    np.testing.assert_array_equal(
        again.predict_proba(pd.DataFrame(X, columns=["a", "b"])),
        model.predict_proba(pd.DataFrame(X, columns=["a", "b"])),
    )
    assert again.prior_interval_ == model.prior_interval_
    pd.testing.assert_frame_equal(again.history_, model.history_)


@both
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior": 1.5}, "prior"),
        ({"prior": 0}, "prior"),
        ({"prior": "guess"}, "prior"),
        ({"loss": "hinge"}, "loss"),
        ({"alpha": 0}, "alpha"),
        ({"weight_decay": -1}, "weight_decay"),
        ({"scenario": "both"}, "scenario"),
        ({"lr": 0}, "lr"),
        ({"epochs": 0}, "epochs"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"module": "resnet"}, "module"),
        ({"device": "abacus"}, "device"),
    ],
)
def test_bad_parameters(kind, settings, message):
    X, _, y = two_gaussians(60)
    with pytest.raises(PUInputError, match=message):
        kind(**QUICK | settings).fit(X, y)


@pytest.mark.parametrize("settings", [{"beta": -0.1}, {"gamma": 1.5}])
def test_bad_parameters_of_the_corrected_step(settings):
    X, _, y = two_gaussians(60)
    with pytest.raises(PUInputError, match=next(iter(settings))):
        NNPUClassifier(**QUICK | settings).fit(X, y)


@both
def test_bad_data(kind):
    X, _, y = two_gaussians(60)
    with pytest.raises(PUInputError, match="1 class"):
        kind(**QUICK).fit(X, np.ones(60))
    with pytest.raises(ValueError, match="NaN"):
        kind(**QUICK).fit(np.where(X > 2, np.nan, X), y)


@both
def test_training_that_diverges_is_an_error_not_a_model_of_nans(kind):
    X, _, y = two_gaussians(200)
    with pytest.raises(PUInputError, match="diverged"):
        kind(**QUICK | {"lr": 1e30, "loss": "logistic"}).fit(X, y)
