"""PULD: the prior is kept to the row, and the classes are found, separated or not."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning

import varpu
from varpu.classic import PULDClassifier
from varpu.classic.disambiguation import highest
from varpu.classic.puld import hidden_positives
from varpu.exceptions import PUInputError
from varpu.priors import KM2

KERNELS = ["rbf", "linear"]


def test_hidden_positives_by_hand():
    positive = np.arange(20) < 4
    assert hidden_positives(positive, 0.5, "single-set") == 6  # ten of twenty, four are known
    assert hidden_positives(positive, 0.5, "case-control") == 8  # half of sixteen
    assert hidden_positives(positive, 0.1, "single-set") == 0  # more are labelled than there are
    assert hidden_positives(positive, 1.0, "single-set") == 15  # one negative is left
    assert hidden_positives(positive, 1.0, "case-control") == 15


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("prior", [0.15, 0.5, 0.8])
def test_separated_classes(two_gaussians, kernel, prior):
    X, truth, y = two_gaussians(800, prior, distance=8.0)
    model = PULDClassifier(prior=truth.mean(), kernel=kernel, random_state=0).fit(X, y)
    assert (model.predict(X) == truth).mean() > 0.99
    np.testing.assert_array_equal(model.labels_, truth)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
def test_overlapping_classes_come_near_the_best_there_is(two_gaussians, kernel, scenario):
    prior, distance = 0.4, 2.0
    n_positive = 1000 if scenario == "case-control" else None
    X, _, y = two_gaussians(3000, prior, distance, n_positive=n_positive)
    model = PULDClassifier(
        prior=prior, kernel=kernel, C=0.03, scenario=scenario, random_state=0
    ).fit(X, y)
    new, truth, _ = two_gaussians(20_000, prior, distance, seed=1)
    boundary = distance / 2 - np.log(prior / (1 - prior)) / distance
    best = ((new[:, 0] > boundary) == truth).mean()
    assert (model.predict(new) == truth).mean() > best - 0.025


@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
@pytest.mark.parametrize("prior", [0.25, 0.5, 0.7])
def test_the_prior_is_kept_to_the_row(two_gaussians, scenario, prior):
    """Whatever the classes look like: the share that is labelled positive is the prior."""
    X, _, y = two_gaussians(400, 0.4, distance=2.0, labelled=0.3)
    model = PULDClassifier(prior=prior, scenario=scenario, random_state=0).fit(X, y)
    marginal = np.ones(400, dtype=bool) if scenario == "single-set" else y == 0
    assert model.labels_[marginal].sum() == round(prior * marginal.sum())
    assert (model.labels_[y == 1] == 1).all()
    assert model.prior_ == prior
    assert model.prior_interval_ == (prior, prior)


def test_labels_are_a_fixed_point(two_gaussians):
    X, _, y = two_gaussians(600, distance=2.0)
    model = PULDClassifier(prior=0.4, random_state=0).fit(X, y)
    labels = model.labels_ == 1
    n_hidden = int(labels[y == 0].sum())
    found = highest(model.decision_function(X), y == 1, n_hidden)
    np.testing.assert_array_equal(found, labels)
    assert 1 + model.stages <= model.n_iter_ <= model.max_iter


def test_a_kernel_sees_what_a_line_cannot():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1500, 2))
    truth = X.prod(axis=1) > 0
    y = truth & (rng.random(1500) < 0.4)
    kernel, line = (
        PULDClassifier(prior=0.5, kernel=kernel, C=3.0, gamma=gamma, random_state=0).fit(X, y)
        for kernel, gamma in (("rbf", 2.0), ("linear", None))
    )
    assert (kernel.predict(X) == truth).mean() > 0.93
    assert (line.predict(X) == truth).mean() < 0.7


def test_probabilities_follow_the_machine(two_gaussians):
    X, _, y = two_gaussians(300, distance=2.0)
    model = PULDClassifier(prior=0.4, random_state=0).fit(X, y)
    decision = model._machine(model._features(X))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(decision))
    np.testing.assert_array_equal(model.predict(X), decision > 0)
    assert np.isfinite(model.log_ratio(X * 1e6)).all()


def test_the_unit_of_a_column_does_not_matter(two_gaussians):
    X, _, y = two_gaussians(300)
    first, second = (
        PULDClassifier(prior=0.4, random_state=0).fit(table, y).predict_proba(table)
        for table in (X, X * [1e-3, 1.0, 1e4] + [7.0, 0.0, -3.0])
    )
    np.testing.assert_allclose(first, second, atol=1e-6)


@pytest.mark.filterwarnings("ignore::varpu.exceptions.ScaleWarning")
@pytest.mark.parametrize("prior", ["auto", KM2()])
def test_an_estimated_prior(two_gaussians, prior):
    X, truth, y = two_gaussians(800, 0.3, distance=6.0)
    model = PULDClassifier(prior=prior, random_state=0).fit(X, y)
    assert model.prior_ == pytest.approx(truth.mean(), abs=0.08)
    low, high = model.prior_interval_
    assert low <= model.prior_ <= high
    assert low < high
    assert (model.labels_ == 1).sum() == round(model.prior_ * 800)


def test_it_says_that_labels_still_move(two_gaussians):
    X, _, y = two_gaussians(300, distance=1.0)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        PULDClassifier(prior=0.4, max_iter=1, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("load", "is_positive", "least"),
    [(load_breast_cancer, lambda t: t == 1, 0.9), (load_digits, lambda t: t < 2, 0.94)],
)
def test_real_tables(load, is_positive, least):
    X, target = load(return_X_y=True)
    truth = is_positive(target)
    y = truth & (np.random.default_rng(0).random(len(truth)) < 0.4)
    model = PULDClassifier(prior=truth.mean(), random_state=0).fit(X[::2], y[::2])
    assert (model.predict(X[1::2]) == truth[1::2]).mean() > least


@pytest.mark.parametrize("kernel", KERNELS)
def test_save_and_load(two_gaussians, kernel, tmp_path):
    X, _, y = two_gaussians(200)
    labels = np.where(y == 1, "yes", "no")
    model = PULDClassifier(prior=0.4, kernel=kernel, random_state=0).fit(X, labels)
    varpu.save(model, tmp_path / "puld.varpu")
    again = varpu.load(tmp_path / "puld.varpu")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.labels_, model.labels_)
    assert again.n_iter_ == model.n_iter_
    assert again.prior_interval_ == model.prior_interval_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior": 0.0}, "prior must be"),
        ({"prior": 2.0}, "prior must be"),
        ({"prior": "half"}, "prior must be"),
        ({"kernel": "poly"}, "kernel must be one of"),
        ({"C": 0}, "C must be"),
        ({"gamma": -1.0}, "gamma must be"),
        ({"n_components": 0}, "n_components must be"),
        ({"stages": 0}, "stages must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"scenario": "none"}, "scenario must be one of"),
    ],
)
def test_bad_parameters(two_gaussians, settings, message):
    X, _, y = two_gaussians(50)
    with pytest.raises(PUInputError, match=message):
        PULDClassifier(**settings).fit(X, y)
