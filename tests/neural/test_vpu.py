"""VPUClassifier: the contract, Algorithm 1, both scenarios, bad input."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy.stats import norm
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch.nn.functional import logsigmoid

from varpu import VPUClassifier
from varpu.crossfit import pooled_loss
from varpu.exceptions import PUInputError
from varpu.nets import MLP, logit
from varpu.neural.split import split_rows
from varpu.scale import estimate_prior
from varpu.training import DeviceRows, Member, Recipe, train

QUICK = {"hidden": (32, 32), "epochs": 6, "batch_size": 64, "random_state": 0}
ALGORITHM_1 = {**QUICK, "cv": None, "scale": "max"}


def two_gaussians(n, prior=0.4, distance=3.0, labelled=0.4, seed=0, dim=2):
    """Rows, true labels and PU labels of the single-set scenario."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < prior
    X = rng.normal(size=(n, dim))
    X[truth, 0] += distance
    y = (truth & (rng.random(n) < labelled)).astype(int)
    return X, truth, y


# The checks' tables are tiny, and the classifier says so.
@pytest.mark.filterwarnings("ignore::varpu.exceptions.ScaleWarning")
@parametrize_with_checks(
    [VPUClassifier(hidden=(16,), lr=3e-3, epochs=15, steps_per_epoch=15, patience=3)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::varpu.exceptions.ScaleWarning")
@parametrize_with_checks([VPUClassifier(), VPUClassifier(cv=None)])
def test_scikit_learn_checks_of_the_defaults(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fitted():
    X, truth, y = two_gaussians(1500)
    return VPUClassifier(**QUICK).fit(X, y), X, truth, y


def test_probabilities_are_probabilities(fitted):
    model, X, _, _ = fitted
    proba = model.predict_proba(X * 10)
    assert proba.shape == (len(X), 2)
    assert (proba >= 0).all()
    assert (proba <= 1).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_predict_proba_decision_and_ratio_agree(fitted):
    model, X, _, _ = fitted
    proba = model.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(model.predict(X) == 1, proba > 0.5)
    np.testing.assert_array_equal(model.predict(X) == 1, model.decision_function(X) > 0)
    # The ratio is the decision up to a constant, and the probability is the scaled ratio.
    shift = model.decision_function(X) - model.log_ratio(X)
    np.testing.assert_allclose(shift, shift[0])
    scaled = np.exp(model.log_ratio(X) + model.log_mean_phi_) / model.scale_
    np.testing.assert_allclose(proba, np.minimum(scaled, 1))


def test_predictions_in_threads_do_not_disturb_each_other(fitted):
    model, X, _, _ = fitted
    alone = model.predict_proba(X)
    with ThreadPoolExecutor(4) as pool:
        for proba in pool.map(model.predict_proba, [X] * 16):
            np.testing.assert_array_equal(proba, alone)


def test_the_paper_s_normalisation_and_decision_rule():
    """End of Algorithm 1: Phi / max Phi over the training rows, positive iff above one half."""
    X, _, y = two_gaussians(800)
    model = VPUClassifier(**ALGORITHM_1, validation_fraction=0, patience=None).fit(X, y)
    inputs = torch.tensor((X - model.mean_) / model.std_)
    (network,) = model.modules_
    with torch.no_grad():
        phi = logsigmoid(logit(network.double()(inputs))).exp().numpy()
    assert model.scale_ == pytest.approx(phi.max())
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], np.minimum(phi / phi.max(), 1))
    np.testing.assert_array_equal(model.predict(X), phi / phi.max() > 0.5)
    assert model.prior_ == pytest.approx((phi / phi.max()).mean())
    network.float()


def test_algorithm_1_computed_anew_from_its_parts():
    """The split, the training and the choice of lam, each called by itself: the same bits."""
    X, _, y = two_gaussians(500, distance=1.5)
    lams = [1.0, 0.03]
    model = VPUClassifier(**ALGORITHM_1, lam=lams, validation_fraction=0.2).fit(X, y)

    random = np.random.RandomState(0)
    split = split_rows(y == 1, 0.2, "single-set", random)
    seed = random.randint(2**31 - 1)
    mean, std = X[split.u].mean(axis=0), X[split.u].std(axis=0)
    table = (X - mean) / std
    sides = (split.p, split.u, split.held_out_p, split.held_out_u)
    members = [Member(seed, lam, 3e-4, *sides) for lam in lams]
    recipe = Recipe(epochs=6, batch_size=64, patience=15)
    rows = DeviceRows(torch.tensor(table, dtype=torch.float32))
    trained = train(rows, members, recipe, lambda: MLP(2, (32, 32)))
    best = int(trained.held_out_loss.argmin())
    assert best == 1  # not the one that would be taken without looking
    network = MLP(2, (32, 32))
    network.load_state_dict(trained.states[best])
    with torch.no_grad():
        log_phi = logsigmoid(logit(network.double()(torch.tensor(table)))).numpy()

    assert (model.lam_, model.best_epoch_) == (lams[best], trained.best_epoch[best])
    assert model.held_out_loss_ == trained.held_out_loss[best]
    np.testing.assert_array_equal(model.lam_weights_, np.arange(2) == best)
    log_max = np.log(np.exp(log_phi[split.u].max()))
    np.testing.assert_array_equal(
        model.predict_proba(X)[:, 1], np.exp(np.minimum(log_phi - log_max, 0))
    )
    # Only the rows held out have a score by a network that did not see them.
    out_of_sample = np.full(500, np.nan)
    out_of_sample[split.held_out_u] = model.log_ratio(X)[split.held_out_u]
    np.testing.assert_array_equal(model.out_of_fold_log_ratio_, out_of_sample)
    held_out = ~np.isnan(out_of_sample)
    loss = pooled_loss(out_of_sample[held_out], y[held_out] * 1.0, np.ones(held_out.sum()))
    assert model.held_out_loss_ == pytest.approx(loss, abs=1e-5)


def test_error_approaches_the_bayes_error_as_n_grows():
    distance, prior = 2.5, 0.5
    bayes = norm.cdf(-distance / 2)
    X_test, truth_test, _ = two_gaussians(20_000, prior, distance, seed=99)
    errors = []
    for n in (200, 20_000):
        X, _, y = two_gaussians(n, prior, distance, labelled=0.5, seed=1)
        model = VPUClassifier(
            hidden=(32, 32), epochs=12, prior=prior, batch_size=min(500, n // 2), random_state=0
        ).fit(X, y)
        errors.append((model.predict(X_test) != truth_test).mean())
    assert errors[1] < errors[0]
    assert errors[1] < bayes + 0.01


def test_log_ratio_approaches_the_true_density_ratio():
    distance, prior = 2.0, 0.4
    X, _, y = two_gaussians(20_000, prior, distance, labelled=0.5, seed=2)
    model = VPUClassifier(hidden=(32, 32), epochs=15, random_state=0).fit(X, y)
    ratio = norm.pdf(X[:, 0] - distance) / (
        prior * norm.pdf(X[:, 0] - distance) + (1 - prior) * norm.pdf(X[:, 0])
    )
    inside = np.abs(X[:, 0] - distance / 2) < 2  # where there are rows of both kinds to learn from
    error = np.exp(model.log_ratio(X)) - ratio
    assert np.abs(error[inside]).mean() < 0.1
    # E_U[f_P / f] = 1 by its definition.
    assert np.exp(model.log_ratio(X)).mean() == pytest.approx(1, abs=0.01)
    one = VPUClassifier(**ALGORITHM_1).fit(X[:500], y[:500])
    assert np.exp(one.log_ratio(X[:500])).mean() == pytest.approx(1, abs=1e-6)


def test_scenarios_differ_in_what_the_marginal_is():
    """Separate positives leave the marginal alone: the case-control prior is the one of U."""
    rng = np.random.default_rng(0)
    prior, n = 0.3, 6000
    truth = rng.random(n) < prior
    U = rng.normal(size=(n, 2)) + np.where(truth, 5.0, 0.0)[:, None]
    P = rng.normal(size=(n, 2)) + 5.0  # as many positives again, from elsewhere
    X, y = np.vstack([U, P]), np.repeat([0, 1], n)
    settings = {**QUICK, "scale": "prior", "batch_size": 300}
    case_control = VPUClassifier(**settings, scenario="case-control").fit(X, y)
    single_set = VPUClassifier(**settings, scenario="single-set").fit(X, y)
    assert case_control.prior_ == pytest.approx(prior, abs=0.04)
    assert single_set.prior_ == pytest.approx((1 + prior) / 2, abs=0.04)


def test_same_seed_same_bits():
    X, _, y = two_gaussians(400)
    first, second = (VPUClassifier(**QUICK).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    other = VPUClassifier(**{**QUICK, "random_state": 1}).fit(X, y)
    assert (other.decision_function(X) != first.decision_function(X)).any()


def test_fitting_leaves_global_generators_alone():
    X, _, y = two_gaussians(300)
    np.random.seed(3)  # noqa: NPY002 - the global state is what is watched here
    torch.manual_seed(3)
    before = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    VPUClassifier(**QUICK).fit(X, y)
    np.testing.assert_array_equal(np.random.get_state()[1], before[0])  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])


def test_of_algorithm_1_a_grid_of_lam_equals_its_best_member_alone():
    X, _, y = two_gaussians(600, distance=1.5)
    lams, settings = [0.01, 0.3, 3.0], {**ALGORITHM_1, "patience": None}
    grid = VPUClassifier(**settings, lam=lams).fit(X, y)
    singles = [VPUClassifier(**settings, lam=lam).fit(X, y) for lam in lams]
    losses = [single.held_out_loss_ for single in singles]
    assert grid.lam_ == lams[int(np.argmin(losses))]
    assert grid.held_out_loss_ == pytest.approx(min(losses), abs=1e-5)
    alone = singles[int(np.argmin(losses))]
    np.testing.assert_allclose(grid.decision_function(X), alone.decision_function(X), atol=1e-4)


def test_history_holds_every_epoch_and_the_best_is_kept():
    X, _, y = two_gaussians(500)
    model = VPUClassifier(**ALGORITHM_1, lam=[0.1, 1.0], patience=None).fit(X, y)
    assert list(model.history_.columns) == ["lam", "epoch", "loss", "penalty", "held_out_loss"]
    assert len(model.history_) == 2 * 6
    best = model.history_.loc[model.history_["held_out_loss"].idxmin()]
    assert (best["lam"], best["epoch"]) == (model.lam_, model.best_epoch_)
    assert best["held_out_loss"] == pytest.approx(model.held_out_loss_)


def test_patience_stops_early():
    X, _, y = two_gaussians(300)
    settings = {**ALGORITHM_1, "epochs": 60, "lr": 3e-3}
    model = VPUClassifier(**settings, patience=2).fit(X, y)
    assert len(model.history_) == model.best_epoch_ + 3
    assert len(model.history_) < 60


@pytest.mark.parametrize("loss", ["variational", "l2", "js"])
@pytest.mark.parametrize("penalty", [None, "mixup", "margin"])
def test_every_loss_learns(loss, penalty):
    X, truth, y = two_gaussians(1500, distance=4.0)
    settings = {**QUICK, "cv": None, "scale": "quantile"}
    model = VPUClassifier(**settings, loss=loss, penalty=penalty).fit(X, y)
    assert (model.predict(X) == truth).mean() > 0.93


@pytest.mark.parametrize("penalty", ["mixup_p", "mixup_pu", "mixup_mse", "adversarial", "vat"])
def test_every_penalty_learns(penalty):
    X, truth, y = two_gaussians(1500, distance=4.0)
    model = VPUClassifier(**QUICK, penalty=penalty, scale="quantile").fit(X, y)
    assert (model.predict(X) == truth).mean() > 0.93


def test_a_known_prior_sets_the_scale():
    X, _, y = two_gaussians(1000, prior=0.4)
    for settings, error in ((QUICK, 0.01), (ALGORITHM_1, 1e-9)):
        model = VPUClassifier(**settings, prior=0.25).fit(X, y)
        assert model.prior_ == 0.25
        assert model.prior_interval_ == (0.25, 0.25)
        # Phi / scale = prior * f_P / f, whose mean over the marginal is the prior before clipping.
        mean = np.exp(model.log_ratio(X) + model.log_mean_phi_).mean() / model.scale_
        assert mean == pytest.approx(0.25, abs=error)


@pytest.mark.parametrize("settings", [QUICK, {**ALGORITHM_1, "validation_fraction": 0.4}])
def test_a_prior_read_off_rows_that_were_not_trained_on(settings):
    X, truth, y = two_gaussians(3000, distance=4.0)
    model = VPUClassifier(**{**settings, "scale": "prior"}).fit(X, y)
    assert model.prior_ == pytest.approx(truth.mean(), abs=0.04)
    low, high = model.prior_interval_
    assert low <= model.prior_ <= high
    assert low < high
    held_out = ~np.isnan(model.out_of_fold_log_ratio_)
    ratio = model.out_of_fold_log_ratio_
    labelled = held_out & (y == 1)
    assert model.prior_ == estimate_prior(ratio[labelled], ratio[held_out])


@pytest.mark.parametrize("cv", [None, 3])
def test_the_largest_score_and_a_quantile_as_scale(cv):
    X, _, y = two_gaussians(400)
    settings = {**QUICK, "cv": cv, "validation_fraction": 0.5, "epochs": 2, "random_state": 4}
    highest = VPUClassifier(**settings, scale="max").fit(X, y)
    seen = np.ones(400, bool)
    if cv is None:  # the largest of the rows that were trained on: here another scores higher
        seen = np.isnan(highest.out_of_fold_log_ratio_)
        assert highest.decision_function(X)[seen].max() < highest.decision_function(X).max()
    assert highest.predict_proba(X)[seen, 1].max() == pytest.approx(1)
    assert (highest.predict_proba(X)[seen, 1] == 1).sum() <= 1
    quantile = VPUClassifier(**settings, scale="quantile").fit(X, y)
    certain = quantile.predict_proba(X)[y == 1, 1] == 1
    assert certain.mean() == pytest.approx(0.05, abs=0.02)
    for model in (highest, quantile):
        assert model.prior_ == pytest.approx(model.predict_proba(X)[:, 1].mean())
        assert model.prior_interval_ == (model.prior_, model.prior_)


def test_scale_may_be_a_number():
    X, _, y = two_gaussians(300)
    model = VPUClassifier(**QUICK, scale=2.0).fit(X, y)
    assert model.scale_ == 2.0
    # Cross-fitted, it is in units of the density ratio.
    expected = np.minimum(np.exp(model.log_ratio(X)) / 2, 1)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected)
    assert VPUClassifier(**{**ALGORITHM_1, "scale": 0.5}).fit(X, y).scale_ == 0.5


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames(kind):
    X, _, y = two_gaussians(300)
    names = ["height", "width"]
    frame = pd.DataFrame(X, columns=names) if kind == "pandas" else pl.DataFrame(X, schema=names)
    model = VPUClassifier(**QUICK).fit(frame, y)
    assert list(model.feature_names_in_) == names
    plain = VPUClassifier(**QUICK).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(frame), plain.predict_proba(X))
    swapped = frame[names[::-1]]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(swapped)


@pytest.mark.parametrize("values", [(0, 1), (-1, 1), (1, 2), (False, True), ("no", "yes")])
def test_any_two_labels(values):
    X, _, y = two_gaussians(300)
    model = VPUClassifier(**QUICK).fit(X, np.array(values)[y])
    assert set(np.unique(model.predict(X))) <= set(values)
    assert model.classes_[1] == values[1]


def test_pipeline_and_grid_search():
    X, _, y = two_gaussians(300)
    settings = {**QUICK, "epochs": 2, "scale": "quantile"}
    pipeline = make_pipeline(StandardScaler(), VPUClassifier(**settings))
    search = GridSearchCV(pipeline, {"vpuclassifier__lam": [0.1, 1.0]}, cv=2, scoring="roc_auc")
    search.fit(X, y)
    assert search.best_params_["vpuclassifier__lam"] in (0.1, 1.0)
    assert clone(search.best_estimator_).get_params()["vpuclassifier__epochs"] == 2


@pytest.mark.parametrize(("dtype", "cv"), [(np.uint8, 2), (np.float32, None)])
def test_images(dtype, cv):
    rng = np.random.default_rng(0)
    truth = np.arange(240) % 2 == 0
    images = rng.integers(0, 60, (240, 1, 28, 28))
    images[truth, :, 8:20, 8:20] += 150  # positives have a bright square
    images = images.astype(dtype) if dtype is np.uint8 else (images / 127.5 - 1).astype(dtype)
    y = truth & (np.arange(240) % 4 == 0)
    settings = {"epochs": 3, "steps_per_epoch": 15, "batch_size": 32, "lr": 2e-3}
    model = VPUClassifier(**settings, cv=cv, scale="max", random_state=0).fit(images, y)
    assert model.image_shape_ == (1, 28, 28)
    assert model.n_features_in_ == 784
    assert roc_auc_score(truth, model.decision_function(images)) > 0.98
    with pytest.raises(PUInputError, match=r"\(1, 14, 28\)"):
        model.predict(images[:, :, ::2])
    with pytest.raises(PUInputError, match="expected images"):
        model.predict(images.reshape(240, -1))


def test_bytes_and_their_floats_are_the_same_images():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (60, 1, 28, 28), dtype=np.uint8)
    y = np.arange(60) % 3 == 0
    settings = {"epochs": 1, "steps_per_epoch": 3, "batch_size": 16, "random_state": 0, "cv": 2}
    settings["scale"] = "max"
    as_bytes = VPUClassifier(**settings).fit(images, y)
    as_floats = VPUClassifier(**settings).fit((images.astype(np.float32) - 127.5) / 127.5, y)
    np.testing.assert_array_equal(
        as_bytes.predict_proba(images),
        as_floats.predict_proba((images.astype(np.float32) - 127.5) / 127.5),
    )


class _OwnNet(torch.nn.Module):
    """A user's network with dropout, batch norm and one output."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(2, 16),
            torch.nn.BatchNorm1d(16),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.1),
            torch.nn.Linear(16, 1),
        )

    def forward(self, x):
        return self.layers(x)


@pytest.mark.parametrize("lam", [0.1, [0.1, 1.0]])
def test_your_own_network(lam):
    X, truth, y = two_gaussians(600, distance=4.0)
    settings = {**QUICK, "module": _OwnNet, "lr": 3e-3, "scale": "quantile"}
    model = VPUClassifier(**settings, lam=lam).fit(X, y)
    assert all(isinstance(network, _OwnNet) for network in model.modules_)
    assert (model.predict(X) == truth).mean() > 0.93
    again = VPUClassifier(**settings, lam=lam).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))


def test_constant_and_huge_columns_do_no_harm():
    X, truth, y = two_gaussians(800, distance=4.0)
    X = np.column_stack([X, np.full(len(X), 1e9), np.linspace(0, 1e12, len(X))])
    model = VPUClassifier(**QUICK, scale="quantile").fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.predict(X) == truth).mean() > 0.93


def test_a_batch_larger_than_p_or_u_is_handled():
    X, truth, y = two_gaussians(300, distance=4.0)
    model = VPUClassifier(**{**QUICK, "batch_size": 10_000}, scale="quantile").fit(X, y)
    assert (model.predict(X) == truth).mean() > 0.9


def test_training_that_diverges_is_an_error_not_a_model_of_nans():
    X, _, y = two_gaussians(200)
    with pytest.raises(PUInputError, match="training diverged"):
        VPUClassifier(**{**QUICK, "lr": 1e30}).fit(X, y)


X_SMALL, _, Y_SMALL = two_gaussians(60)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lam": -0.1}, "lam must be .* got -0.1"),
        ({"lam": [0.1, float("nan")]}, "lam must be .* got nan"),
        ({"lam": []}, "lam must be a number or a non-empty sequence"),
        ({"loss": "hinge"}, "loss must be one of 'variational', 'l2', 'js'; got 'hinge'"),
        ({"penalty": "dropout"}, "penalty must be one of"),
        ({"scenario": "both"}, "scenario must be one of"),
        ({"precision": "fp8"}, "precision must be one of"),
        ({"scale": "mean"}, "scale must be one of"),
        ({"scale": 0}, "scale must be a finite number above 0"),
        ({"prior": 1.5}, "prior must be"),
        ({"lr": 0}, "lr must be"),
        ({"alpha": -1}, "alpha must be"),
        ({"batch_size": 0}, "batch_size must be a whole number"),
        ({"epochs": 1.5}, "epochs must be a whole number"),
        ({"betas": (0.5, 1.0)}, "betas must be"),
        ({"hidden": (10, 0)}, "hidden must be"),
        ({"validation_fraction": 1.0}, "validation_fraction must be"),
        ({"validation_fraction": (5, 5)}, "validation_fraction must be"),
        (
            {"cv": None, "validation_fraction": 0, "lam": [0.1, 1.0]},
            "a grid of lam needs held-out rows",
        ),
        ({"cv": None, "validation_fraction": 0}, "none are held out: give prior="),
        ({"cv": 1}, "cv must be a whole number of at least 2"),
        ({"cv": 2.5}, "cv must be a whole number of at least 2"),
        ({"module": "resnet"}, "module must be one of"),
        ({"device": "cuda:99"}, "CUDA device"),
        ({"device": "abacus"}, "device must be"),
        ({"cv": None, "validation_fraction": (1000, 2000)}, "needs 1000 labelled positives"),
    ],
)
def test_bad_parameters(settings, message):
    with pytest.raises(PUInputError, match=message):
        VPUClassifier(**{**QUICK, **settings}).fit(X_SMALL, Y_SMALL)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (X_SMALL, np.zeros(60), "two classes"),
        (X_SMALL, np.ones(60), "two classes"),
        (X_SMALL, np.arange(60) % 3, "Only binary classification"),
        (np.where(X_SMALL > 2, np.nan, X_SMALL), Y_SMALL, "NaN"),
        (np.where(X_SMALL > 2, np.inf, X_SMALL), Y_SMALL, "infinity"),
        (np.empty((0, 2)), np.empty(0), "0 sample"),
        (np.empty((60, 0)), Y_SMALL, "0 feature"),
        (X_SMALL, Y_SMALL[:-1], "60 rows but y has 59"),
        (X_SMALL, (np.arange(60) == 0).astype(int), "2 distinct labelled rows .* 1 and 59"),
        (X_SMALL, (np.arange(60) > 0).astype(int), "2 distinct unlabelled ones .* 59 and 1"),
        (np.zeros((60, 3, 17, 17)), Y_SMALL, "no network for images"),
        (np.full((60, 1, 28, 28), np.nan), Y_SMALL, "NaN"),
    ],
)
def test_bad_data(X, y, message):
    with pytest.raises(ValueError, match=message):
        VPUClassifier(**QUICK).fit(X, y)


@pytest.mark.parametrize(("kind", "last"), [("labelled positives", 0), ("unlabelled rows", 59)])
def test_too_little_to_hold_out_in_algorithm_1(kind, last):
    y = np.arange(60) <= last if last == 0 else np.arange(60) < last
    with pytest.raises(PUInputError, match=f"1 {kind} and at least one more"):
        VPUClassifier(**ALGORITHM_1).fit(X_SMALL, y)


def test_a_named_network_refuses_another_shape():
    with pytest.raises(PUInputError, match=r"takes images of shape \(3, 32, 32\)"):
        VPUClassifier(module="cifar_cnn").fit(np.zeros((60, 1, 28, 28)), Y_SMALL)


def test_a_checkpointed_fit_gives_the_same_model(tmp_path):
    X, _, y = two_gaussians(300)
    plain = VPUClassifier(**QUICK).fit(X, y)
    saved = VPUClassifier(**QUICK, checkpoint=tmp_path / "run").fit(X, y)
    resumed = VPUClassifier(**QUICK, checkpoint=tmp_path / "run").fit(X, y)  # all epochs are there
    for model in (saved, resumed):
        np.testing.assert_array_equal(plain.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="another fit"):
        VPUClassifier(**{**QUICK, "random_state": 5}, checkpoint=tmp_path / "run").fit(X, y)
