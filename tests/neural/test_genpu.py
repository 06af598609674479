"""GenPUClassifier: both components of a known mixture, the contract, units, files, bad input."""

from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from varpu import load, save
from varpu.exceptions import PUInputError
from varpu.generative import GAMES
from varpu.neural.genpu import GenPUClassifier, genpu_preset

TINY = {
    "prior": 0.4,
    "hidden": (16,),
    "generator_hidden": (16,),
    "n_latent": 4,
    "epochs": 2,
    "steps_per_epoch": 10,
    "classifier_epochs": 2,
    "random_state": 0,
}
QUICK = {
    **TINY,
    "hidden": (32, 32),
    "generator_hidden": (32, 32),
    "n_latent": 4,
    "lr": 1e-3,
    "generator_lr": 2e-3,
    "batch_size": 64,
    "epochs": 20,
    "steps_per_epoch": 30,
    "average": 0.98,
    "classifier_epochs": 5,
    "classifier_lr": 3e-3,
}
# Centres and deviations of two columns in quite different units.
P_MEAN, N_MEAN, STD = np.array([25.0, -2.0]), np.array([10.0, -2.0]), np.array([3.0, 0.5])


def two_gaussians(n, prior=0.4, labelled=0.4, seed=0):
    """Rows, true labels and PU labels of the single-set scenario; five deviations apart."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < prior
    X = rng.normal(size=(n, 2)) * STD + np.where(truth[:, None], P_MEAN, N_MEAN)
    y = (truth & (rng.random(n) < labelled)).astype(int)
    return X, truth, y


@parametrize_with_checks(
    [
        GenPUClassifier(
            prior=0.5,
            hidden=(16,),
            generator_hidden=(16,),
            n_latent=4,
            lr=3e-3,
            generator_lr=3e-3,
            epochs=2,
            steps_per_epoch=15,
            classifier_epochs=3,
            classifier_lr=1e-2,
        )
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# The checks' tables are tiny, and the estimate of the prior says so.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::varpu.exceptions.ScaleWarning")
@parametrize_with_checks([GenPUClassifier()])
def test_scikit_learn_checks_of_the_defaults(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fitted():
    X, truth, y = two_gaussians(1000)
    return GenPUClassifier(**QUICK).fit(X, y), X, truth, y


def test_both_components_are_recovered(fitted):
    model, _, _, _ = fitted
    made = model.sample_positive(4000, random_state=0), model.sample_negative(4000, random_state=0)
    for rows, mean in zip(made, (P_MEAN, N_MEAN), strict=True):
        np.testing.assert_allclose((rows.mean(axis=0) - mean) / STD, 0, atol=0.6)
        assert (rows.std(axis=0) < 2 * STD).all()
        assert (rows.std(axis=0) > 0.3 * STD).all()
    # Hardly a row of either kind lies on the other's side of the middle.
    middle = (P_MEAN[0] + N_MEAN[0]) / 2
    assert (made[0][:, 0] > middle).mean() > 0.95
    assert (made[1][:, 0] < middle).mean() > 0.95


def test_the_classifier_tells_them_apart(fitted):
    model, _, _, _ = fitted
    X, truth, _ = two_gaussians(5000, seed=1)
    best = norm.cdf(2.5)  # of the middle between centres five deviations apart
    assert (model.predict(X) == truth).mean() > best - 0.02
    assert roc_auc_score(truth, model.decision_function(X)) > 0.99


def test_generated_rows_alone_teach_it_too():
    X, truth, y = two_gaussians(1000)
    model = GenPUClassifier(**{**QUICK, "labelled_share": 0.0}).fit(X, y)
    assert (model.predict(X) == truth).mean() > 0.95


def test_case_control_positives_come_from_elsewhere():
    """Only the unlabelled rows are the marginal: their share of positives is what is matched."""
    rng = np.random.default_rng(0)
    U, truth, _ = two_gaussians(800, prior=0.3, seed=2)
    P = rng.normal(size=(400, 2)) * STD + P_MEAN
    X, y = np.vstack([U, P]), np.repeat([0, 1], [800, 400])
    settings = {**QUICK, "prior": 0.3, "scenario": "case-control"}
    model = GenPUClassifier(**settings).fit(X, y)
    assert (model.predict(U) == truth).mean() > 0.95
    assert model.predict_proba(U)[:, 1].mean() == pytest.approx(0.3, abs=1e-6)


def test_the_mean_probability_over_the_marginal_is_the_prior(fitted):
    model, X, _, y = fitted
    assert model.prior_ == 0.4
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.4, abs=1e-6)
    left = GenPUClassifier(**{**TINY, "match_prior": False}).fit(X, y)
    assert left.intercept_ == 0
    assert left.prior_ == 0.4


def test_without_a_prior_classes_are_balanced_and_nothing_is_matched():
    X, _, y = two_gaussians(400)
    model = GenPUClassifier(**{**TINY, "prior": None}).fit(X, y)
    same = GenPUClassifier(**{**TINY, "prior": 0.5, "match_prior": False}).fit(X, y)
    assert model.intercept_ == 0
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))
    assert model.prior_ == pytest.approx(model.predict_proba(X)[:, 1].mean())
    assert model.prior_interval_ == (model.prior_, model.prior_)


def test_the_prior_is_estimated_where_it_is_not_given():
    X, truth, y = two_gaussians(600)
    model = GenPUClassifier(**{**TINY, "prior": "auto"}).fit(X, y)
    assert model.prior_ == pytest.approx(truth.mean(), abs=0.1)
    low, high = model.prior_interval_
    assert low <= model.prior_ <= high


def test_weights_follow_the_prior_unless_they_are_given():
    X, _, y = two_gaussians(200)
    model = GenPUClassifier(**{**TINY, "prior": 0.3}, negative_n=5.0).fit(X, y)
    expected = {"positive_p": 0.3, "positive_u": 0.3, "negative_n": 5.0, "negative_u": 0.7}
    assert asdict(model.weights_) == pytest.approx(expected)
    model.set_params(**genpu_preset("avila_2")).fit(X, y)
    assert asdict(model.weights_) == genpu_preset("avila_2")


def test_probabilities_decision_and_prediction_agree(fitted):
    model, X, _, _ = fitted
    proba = model.predict_proba(X * 3)
    assert (proba >= 0).all()
    assert (proba <= 1).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X * 3) == 1, proba[:, 1] > 0.5)
    with torch.no_grad():
        out = model.module_.double()(torch.tensor((X - model.mean_) / model.std_)).numpy()
    model.module_.float()
    g = out[:, 1] - out[:, 0] + model.intercept_
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(g))
    np.testing.assert_allclose(np.exp(model.log_ratio(X)).mean(), 1)


def test_same_seed_same_bits():
    X, _, y = two_gaussians(300)
    first, second = (GenPUClassifier(**TINY).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    np.testing.assert_array_equal(first.sample_negative(5, 0), second.sample_negative(5, 0))
    other = clone(first).set_params(random_state=1).fit(X, y)
    assert (other.decision_function(X) != first.decision_function(X)).any()


def test_fitting_and_sampling_leave_global_generators_alone():
    X, _, y = two_gaussians(200)
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    GenPUClassifier(**TINY).fit(X, y).sample_positive(5)
    assert torch.equal(before[0], torch.random.get_rng_state())
    fixed = GenPUClassifier(**TINY).fit(X, y)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    fixed.sample_positive(5, random_state=3)
    np.testing.assert_array_equal(state, np.random.get_state()[1])  # noqa: NPY002


def test_samples_follow_their_random_state(fitted):
    model, _, _, _ = fitted
    first, again, other = (model.sample_positive(20, random_state=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert first.shape == (20, 2)
    assert (model.sample_negative(20, random_state=0) != first).any()


def test_units_of_the_columns_do_not_matter():
    """Standardised inside: another unit of a column gives the same model and rows in that unit."""
    X, _, y = two_gaussians(300)
    unit = np.array([1024.0, 0.25])  # powers of two: nothing is rounded
    first, second = GenPUClassifier(**TINY).fit(X, y), GenPUClassifier(**TINY).fit(X * unit, y)
    np.testing.assert_allclose(
        first.decision_function(X), second.decision_function(X * unit), atol=1e-4
    )
    made = first.sample_negative(50, 0), second.sample_negative(50, 0)
    np.testing.assert_allclose(made[0] * unit, made[1], rtol=1e-4, atol=1e-3)


def test_raw_columns_stay_as_they_are():
    X, _, y = two_gaussians(200)
    model = GenPUClassifier(**{**TINY, "standardize": False}).fit(X, y)
    assert (model.mean_, model.std_) == (0, 1)


def test_spreads_show_a_collapse(fitted):
    model, X, _, _ = fitted
    # P has the deviation of its class; the marginal's first column is wider than a class by far.
    assert model.positive_spread_ == pytest.approx(1, abs=0.5)
    made = model.sample_negative(2000, random_state=1).std(axis=0) / X.std(axis=0)
    assert model.negative_spread_ == pytest.approx(made.mean(), rel=0.1)
    with torch.no_grad():
        last = model.positive_generator_[-1]
        kept = last.weight.clone()
        last.weight.zero_()
        assert model.sample_positive(50).std(axis=0) == pytest.approx([0, 0])  # one row, 50 times
        last.weight.copy_(kept)


def test_history_has_a_line_an_epoch(fitted):
    model, _, _, _ = fitted
    assert list(model.history_) == ["epoch", *GAMES]
    assert len(model.history_) == 20
    assert (model.history_[list(GAMES)] <= 0).all(axis=None)
    # In the end D_p and D_u can hardly tell, D_n can: G_n is far from P.
    end = model.history_.iloc[-1]
    assert end["positive_p"] == pytest.approx(-np.log(4), abs=0.25)
    assert end["negative_n"] > -0.3


@pytest.mark.parametrize("kind", ["bytes", "floats"])
def test_images_are_made_in_the_shape_and_type_they_came_in(kind):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(40, 1, 28, 28), dtype=np.uint8)
    if kind == "floats":
        images = images.astype(np.float32) / 255 * 4 + 3
    y = np.arange(40) < 15
    settings = {**TINY, "epochs": 1, "steps_per_epoch": 2, "classifier_epochs": 1, "batch_size": 8}
    model = GenPUClassifier(**settings).fit(images, y)
    for made in (model.sample_positive(3, 0), model.sample_negative(3, 0)):
        assert made.shape == (3, 1, 28, 28)
        assert made.dtype == images.dtype
        assert made.min() >= images.min()
        assert made.max() <= images.max()
    assert model.predict_proba(images).shape == (40, 2)
    with pytest.raises(PUInputError, match="expected images of shape"):
        model.predict(images.reshape(40, -1))


def test_images_of_a_shape_without_a_network_need_one():
    images = np.zeros((10, 1, 8, 8), dtype=np.uint8)
    y = np.arange(10) < 4
    with pytest.raises(PUInputError, match="there is no network for images of shape"):
        GenPUClassifier(**TINY).fit(images, y)

    def network():
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2))

    model = GenPUClassifier(**{**TINY, "epochs": 1, "steps_per_epoch": 2}, module=network)
    assert model.fit(images, y).sample_negative(2, 0).shape == (2, 1, 8, 8)


@pytest.mark.parametrize("images", [False, True])
def test_a_model_comes_back_from_its_file(tmp_path, images):
    X, _, y = two_gaussians(200)
    settings = {**TINY, "epochs": 1}
    if images:
        X = np.random.default_rng(0).integers(0, 256, size=(30, 1, 28, 28), dtype=np.uint8)
        y, settings = np.arange(30) < 9, {**settings, "steps_per_epoch": 2, "batch_size": 8}
    model = GenPUClassifier(**settings).fit(X, y)
    save(model, tmp_path / "genpu.varpu")
    back = load(tmp_path / "genpu.varpu")
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    for name in ("sample_positive", "sample_negative"):
        np.testing.assert_array_equal(getattr(back, name)(7, 0), getattr(model, name)(7, 0))
    assert back.weights_ == model.weights_
    assert back.intercept_ == model.intercept_
    assert back.prior_interval_ == model.prior_interval_
    assert (back.positive_spread_, back.negative_spread_) == (
        model.positive_spread_,
        model.negative_spread_,
    )
    pd.testing.assert_frame_equal(back.history_, model.history_)


def test_it_works_in_a_pipeline_and_with_frames():
    X, _, y = two_gaussians(300)
    frame = pd.DataFrame(X, columns=["volts", "amperes"])
    model = GenPUClassifier(**TINY).fit(frame, y)
    assert list(model.feature_names_in_) == ["volts", "amperes"]
    assert model.predict_proba(frame).shape == (300, 2)
    pipeline = make_pipeline(StandardScaler(), GenPUClassifier(**TINY))
    assert np.isfinite(cross_val_score(pipeline, X, y, cv=2, scoring="roc_auc")).all()


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), ("known not", "positive")])
def test_the_larger_label_is_positive(labels):
    X, _, y = two_gaussians(200)
    model = GenPUClassifier(**TINY).fit(X, np.array(labels)[y])
    assert set(model.predict(X)) <= set(labels)
    same = GenPUClassifier(**TINY).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))


BAD = [
    ({"positive_p": -1.0}, "positive_p must be a finite number of at least 0"),
    ({"negative_n": np.inf}, "negative_n must be a finite number"),
    ({"negative_u": "much"}, "negative_u must be a finite number"),
    ({"lr": 0}, "lr must be a finite number above 0"),
    ({"generator_lr": -1}, "generator_lr must be"),
    ({"classifier_lr": 0}, "classifier_lr must be"),
    ({"n_latent": 0}, "n_latent must be a whole number of at least 1"),
    ({"epochs": 2.5}, "epochs must be a whole number"),
    ({"classifier_epochs": 0}, "classifier_epochs must be"),
    ({"steps_per_epoch": 0}, "steps_per_epoch must be"),
    ({"batch_size": 0}, "batch_size must be"),
    ({"ramp": 1.5}, "ramp must be"),
    ({"average": 1.0}, "average must be"),
    ({"labelled_share": -0.1}, "labelled_share must be"),
    ({"betas": (0.5,)}, "betas must be two numbers"),
    ({"betas": (0.5, 1.0)}, "betas must be"),
    ({"hidden": (16, 0)}, "hidden must be"),
    ({"generator_hidden": (0,)}, "generator_hidden must be"),
    ({"module": "resnet"}, "module must be one of"),
    ({"scenario": "both"}, "scenario must be one of"),
    ({"precision": "fp16"}, "precision must be one of 'auto', 'fp32', 'tf32', 'bf16'"),
    ({"device": "abacus"}, "device must be"),
    ({"prior": 1.5}, "prior"),
    ({"prior": "guess"}, "prior"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_a_bad_parameter_is_named(changes, message):
    X, _, y = two_gaussians(40)
    with pytest.raises(PUInputError, match=message):
        GenPUClassifier(**{**TINY, **changes}).fit(X, y)


def test_a_bad_number_of_samples_is_named(fitted):
    with pytest.raises(PUInputError, match="n must be a whole number of at least 1; got 0"):
        fitted[0].sample_positive(0)


def test_a_training_that_diverges_says_so():
    X, _, y = two_gaussians(100)
    with pytest.raises(PUInputError, match="training diverged"):
        GenPUClassifier(**{**TINY, "lr": 1e30, "generator_lr": 1e30, "epochs": 3}).fit(X, y)


def test_tags_say_what_it_needs():
    tags = GenPUClassifier.pu_tags
    assert (tags.needs_prior, tags.needs_separability, tags.images) == (True, True, True)
    assert tags.reconstruction


def small_cnn():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(72, 2),
    )


def test_images_of_both_classes_are_made():
    """Positives are bright on the left, negatives on the right: so are the generated ones."""
    rng = np.random.default_rng(0)
    truth = rng.random(600) < 0.5
    images = rng.integers(0, 60, size=(600, 1, 8, 8), dtype=np.uint8)
    images[truth, :, :, :4] += 180
    images[~truth, :, :, 4:] += 180
    y = truth & (rng.random(600) < 0.5)
    settings = {**QUICK, "prior": 0.5, "epochs": 12, "batch_size": 32}
    model = GenPUClassifier(**settings, module=small_cnn).fit(images, y)
    for made, sign in ((model.sample_positive(200, 0), 1), (model.sample_negative(200, 0), -1)):
        left, right = (made[..., half].astype(float).mean() for half in (slice(4), slice(4, 8)))
        assert sign * (left - right) > 60
    assert (model.predict(images) == truth).mean() > 0.95
