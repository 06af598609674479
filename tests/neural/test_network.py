"""NetworkClassifier: an ordinary classifier with weights, for the methods that wrap one."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

import varpu
from varpu import NetworkClassifier
from varpu.exceptions import PUInputError

QUICK = {"hidden": (32, 32), "epochs": 10, "batch_size": 64, "random_state": 0}


def two_gaussians(n, prior=0.3, distance=2.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < prior
    X = rng.normal(size=(n, 2))
    X[y, 0] += distance
    return X, y


def true_probability(X, prior=0.3, distance=2.0):
    positive = prior * norm.pdf(X[:, 0] - distance)
    return positive / (positive + (1 - prior) * norm.pdf(X[:, 0]))


@parametrize_with_checks([NetworkClassifier(hidden=(16,), lr=3e-3, epochs=15, steps_per_epoch=15)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([NetworkClassifier()])
def test_scikit_learn_checks_of_the_defaults(estimator, check):
    check(estimator)


def test_probabilities_are_the_true_ones():
    X, y = two_gaussians(6000)
    model = NetworkClassifier(**QUICK | {"epochs": 15}).fit(X, y)
    X_test, _ = two_gaussians(5000, seed=1)
    errors = model.predict_proba(X_test)[:, 1] - true_probability(X_test)
    assert abs(errors).mean() < 0.03
    assert model.prior_ == pytest.approx(y.mean())


def test_weights_of_the_classes_are_a_prior():
    """Positives counted three times: the odds are three times as large."""
    X, y = two_gaussians(6000)
    weight = np.where(y, 3.0, 1.0)
    model = NetworkClassifier(**QUICK | {"epochs": 15}).fit(X, y, sample_weight=weight)
    share = 3 * y.mean() / (1 + 2 * y.mean())
    assert model.prior_ == pytest.approx(share)
    X_test, _ = two_gaussians(5000, seed=1)
    proba = model.predict_proba(X_test)[:, 1]
    assert abs(proba - true_probability(X_test, prior=share)).mean() < 0.03


def test_rows_of_large_weight_decide():
    """Two contradictory halves of a table; the weights say which one is right."""
    X, y = two_gaussians(2000, distance=4.0)
    both, labels = np.vstack([X, X + 1e-9]), np.concatenate([y, ~y])
    for right, weight in ((y, [9.0, 1.0]), (~y, [1.0, 9.0])):
        model = NetworkClassifier(**QUICK).fit(both, labels, np.repeat(weight, len(X)))
        assert (model.predict(X) == right).mean() > 0.9


def test_images():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.5
    images = rng.integers(0, 100, size=(200, 1, 6, 6)).astype(np.uint8)
    images[y] += 120

    def small():
        return nn.Sequential(nn.Flatten(), nn.Linear(36, 8), nn.ReLU(), nn.Linear(8, 1))

    model = NetworkClassifier(**QUICK | {"module": small, "lr": 1e-2})
    model.fit(images, y, np.where(y, 2.0, 1.0))
    assert (model.predict(images) == y).mean() > 0.95


def test_an_epoch_is_chosen_by_the_held_out_loss():
    X, y = two_gaussians(800)
    model = NetworkClassifier(**QUICK, validation_fraction=0.2).fit(X, y)
    assert np.isfinite(model.history_["held_out_loss"]).all()


def test_saved_and_loaded(tmp_path):
    X, y = two_gaussians(200)
    model = NetworkClassifier(**QUICK | {"epochs": 2}).fit(X, y)
    varpu.save(model, tmp_path / "model.varpu")
    again = varpu.load(tmp_path / "model.varpu")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_bad_input():
    X, y = two_gaussians(100)
    with pytest.raises(PUInputError, match="weight 0"):
        NetworkClassifier(**QUICK).fit(X, y, np.where(y, 0.0, 1.0))
    with pytest.raises(ValueError, match="Negative"):
        NetworkClassifier(**QUICK).fit(X, y, np.full(100, -1.0))
    with pytest.raises(PUInputError, match="weight_decay"):
        NetworkClassifier(**QUICK | {"weight_decay": -1.0}).fit(X, y)
