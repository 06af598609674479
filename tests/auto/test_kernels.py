"""Kernel machines against scikit-learn's own parts, put together anew."""

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from varpu.auto import kernels
from varpu.crossfit import fold_splits, pooled_loss

SCENARIOS = ("single-set", "case-control")


def folds_of(X, y, scenario="single-set", n_folds=3):
    return fold_splits(X, y == 1, n_folds, scenario, np.random.RandomState(0))


def fit(X, splits, scenario="single-set", gamma=0.3, c=10.0, power=1.0, seed=7):
    setting = kernels.KernelSetting("scores", gamma, c, power)
    random = np.random.RandomState(seed)
    return kernels.fit_machines(X, splits, setting, scenario == "single-set", random)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize(("gamma", "c"), [(0.3, 10.0), (1.0, 1.0)])
def test_against_parts_of_scikit_learn(two_gaussians, scenario, gamma, c):
    X, _, y = two_gaussians(300)
    new, _, _ = two_gaussians(50, seed=1)
    splits = folds_of(X, y, scenario)
    machines, log_ratio = fit(X, splits, scenario, gamma, c)
    kernel = Nystroem(gamma=gamma / 3, n_components=150, random_state=np.random.RandomState(7))
    features, of_new = kernel.fit(X).transform(X), kernel.transform(new)
    of_folds = []
    for split in splits:
        # Single-set: is a row labelled? Case-control: is it of P or of U?
        others = np.setdiff1d(split.u, split.p)
        rows, label = (
            np.concatenate([split.p, others]),
            np.repeat([1, 0], [len(split.p), len(others)]),
        )
        logistic = LogisticRegression(C=c, max_iter=300).fit(features[rows], label)

        def phi(inputs, logistic=logistic):
            p = logistic.predict_proba(inputs)[:, 1]
            return p if scenario == "single-set" else p / (1 - p)

        mean = phi(features[split.u]).mean()
        held_out = np.union1d(split.held_out_p, split.held_out_u)
        expected = np.log(phi(features[held_out]) / mean)
        np.testing.assert_allclose(log_ratio[held_out], expected, atol=1e-6)
        of_folds.append(np.log(phi(of_new) / mean))
    np.testing.assert_allclose(machines.log_ratios(new), of_folds, atol=1e-6)
    np.testing.assert_allclose(machines.predict(new), np.mean(of_folds, axis=0), atol=1e-6)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_ratio_of_each_fold_has_mean_one_on_the_rows_held_out(two_gaussians, scenario):
    X, _, y = two_gaussians(2000)
    splits = folds_of(X, y, scenario)
    _, log_ratio = fit(X, splits, scenario)
    assert np.isfinite(log_ratio).all()
    for split in splits:
        ratio = np.exp(log_ratio[split.held_out_u])
        error = ratio.std() * np.sqrt(1 / len(split.held_out_u) + 1 / len(split.u))
        assert ratio.mean() == pytest.approx(1, abs=3 * error)
        assert error < 0.1


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_ratio_is_that_of_the_densities(known_ratio, scenario):
    X, y, ratio = known_ratio(scenario, 1.5)
    _, log_ratio = fit(X, folds_of(X, y, scenario), scenario)
    assert np.abs(log_ratio - np.log(ratio)).mean() < 0.12


def test_rows_beyond_the_most_are_left_out_of_both_kinds_alike(two_gaussians, monkeypatch):
    X, _, y = two_gaussians(2000)
    splits = folds_of(X, y)
    whole, of_all = fit(X, splits)
    monkeypatch.setattr(kernels, "_MOST_ROWS", 500)
    part, of_part = fit(X, splits)
    # The odds of a label stay what they are, so the intercepts do; the unit is still E_U = 1.
    np.testing.assert_allclose(part.log_means, whole.log_means, atol=0.15)
    assert (part.weights != whole.weights).all()
    assert np.exp(of_part).mean() == pytest.approx(1, abs=0.06)
    p, u = y * 1.0, np.ones(2000)
    assert pooled_loss(of_part, p, u) == pytest.approx(pooled_loss(of_all, p, u), abs=0.02)


def test_few_rows_have_few_landmarks():
    X, y = np.arange(6.0).reshape(-1, 1), np.array([1, 0, 0, 1, 0, 0])
    machines, log_ratio = fit(X, folds_of(X, y, n_folds=2))
    assert machines.landmarks.shape == (3, 1)
    assert np.isfinite(log_ratio).all()


def test_it_learns_what_is_not_linear():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    truth = (X**2).sum(axis=1) < 1
    y = (truth & (rng.random(1500) < 0.5)).astype(int)
    _, log_ratio = fit(X, folds_of(X, y), gamma=1.0)
    assert roc_auc_score(truth, log_ratio) > 0.95


def test_the_features_of_a_power_have_that_power_of_the_kernel(two_gaussians):
    """With a landmark a row, features are those of the kernel itself, not of an approximation."""
    X, _, _ = two_gaussians(60)
    kernel = Nystroem(gamma=0.1, n_components=60, random_state=0)
    features = kernel.fit_transform(X)
    gram = features @ features.T
    np.testing.assert_allclose(gram, kernels.rbf_kernel(X, gamma=0.1), atol=1e-8)
    largest = np.linalg.eigvalsh(gram)[-1]
    for power in (1.0, 2.0, 3.0):
        damped = features @ kernels._damping(features, power)
        expected = np.linalg.matrix_power(gram, int(power)) / largest ** (power - 1)
        np.testing.assert_allclose(damped @ damped.T, expected, atol=1e-8)


def test_a_power_tells_a_shell_from_its_core():
    """In ten dimensions hardly a row is near another: only the density of the rows tells them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 10))
    truth = (X**2).sum(axis=1) > 9.34  # the median
    y = (truth & (rng.random(2000) < 0.1)).astype(int)
    of_kernel, of_power = (
        roc_auc_score(truth, fit(X, folds_of(X, y), gamma=1.0, power=power)[1])
        for power in (1.0, 2.0)
    )
    assert of_power > 0.95
    assert of_power > of_kernel + 0.05
