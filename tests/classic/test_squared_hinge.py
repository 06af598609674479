"""The machine with the squared hinge: against a general solver, and by its conditions."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

from varpu.classic.squared_hinge import Machine, fit_machine, objective


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(80, 4)), rng.random(80) < 0.4
    features[labels, 0] += 1.5
    return features, labels, rng.uniform(0.1, 2.0, 80)


def test_objective_by_hand():
    features, labels = np.array([[1.0], [2.0], [0.0]]), np.array([True, False, False])
    machine = Machine(np.array([0.5]), -0.5)
    # f = 0, 1/2, -1/2; margins 0, -1/2, 1/2; hinges 1, 3/2, 1/2.
    expected = 0.5**2 / 2 + 2 * 1 + 3 * 1.5**2 + 4 * 0.5**2
    assert objective(features, labels, np.array([2.0, 3.0, 4.0]), machine) == pytest.approx(
        expected
    )


def test_it_is_the_minimum(problem):
    features, labels, weight = problem
    machine = fit_machine(features, labels, weight)

    def value(w):
        return objective(features, labels, weight, Machine(w[:-1], w[-1]))

    reference = minimize(value, np.zeros(5), method="BFGS", options={"gtol": 1e-4})
    assert objective(features, labels, weight, machine) <= reference.fun + 1e-9
    np.testing.assert_allclose(np.append(machine.coef, machine.intercept), reference.x, atol=1e-4)


def test_it_is_what_liblinear_finds(problem):
    features, labels, weight = problem
    machine = fit_machine(features, labels, weight)
    solver = LinearSVC(dual=False, tol=1e-10, intercept_scaling=1e3)
    solver.fit(features, labels, sample_weight=weight)
    np.testing.assert_allclose(machine(features), solver.decision_function(features), atol=1e-4)


def test_the_gradient_is_zero(problem):
    features, labels, weight = problem
    machine = fit_machine(features, labels, weight)
    y = np.where(labels, 1, -1)
    pull = 2 * weight * y * np.maximum(0, 1 - y * machine(features))
    np.testing.assert_allclose(machine.coef, features.T @ pull, atol=1e-6)
    assert pull.sum() == pytest.approx(0, abs=1e-6)


def test_the_start_does_not_matter(problem):
    features, labels, weight = problem
    first = fit_machine(features, labels, weight)
    second = fit_machine(features, labels, weight, start=Machine(np.full(4, 30.0), -50.0))
    np.testing.assert_allclose(first(features), second(features), atol=1e-6)


def test_features_that_say_nothing():
    labels = np.array([True, False, False, False])
    machine = fit_machine(np.zeros((4, 2)), labels, np.ones(4))
    # h(b) + 3 h(-b) is least at b = -1/2.
    assert machine.intercept == pytest.approx(-0.5)
    np.testing.assert_array_equal(machine.coef, 0)
