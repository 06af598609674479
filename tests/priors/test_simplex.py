"""The quadratic program against exact and dense references, and its bounds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from varpu.priors.simplex import nearest_distribution


def gaussian_kernel(points, width):
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * width**2))


def signed_weights(n_u, n_p, lam):
    return np.concatenate([np.full(n_u, lam / n_u), np.full(n_p, (1 - lam) / n_p)])


def solve(kernel, u, gap=1e-9):
    n = len(u)
    return nearest_distribution(kernel, u, kernel @ u, np.full(n, 1 / n), gap)


def by_slsqp(kernel, u):
    n = len(u)
    found = minimize(
        lambda v: (v - u) @ kernel @ (v - u),
        np.full(n, 1 / n),
        jac=lambda v: 2 * kernel @ (v - u),
        bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1, "jac": lambda v: np.ones(n)},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return np.sqrt(max(found.fun, 0))


@pytest.mark.parametrize("width", [0.1, 1.0])
@pytest.mark.parametrize("lam", [1.1, 2.0, 5.0])
def test_against_a_dense_reference(width, lam):
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(size=(25, 2)), rng.normal(size=(15, 2)) + 1])
    kernel, u = gaussian_kernel(points, width), signed_weights(25, 15, lam)
    found = solve(kernel, u, gap=1e-7)
    assert found.high == pytest.approx(by_slsqp(kernel, u), abs=1e-5)


@pytest.mark.parametrize("u", [[0.5, 0.3, 0.2], [1.4, -0.2, -0.2], [0.9, 0.4, -0.3], [2, 1, -2]])
def test_unit_matrix_is_the_projection_on_the_simplex(u):
    """Euclidean: subtract a number from all, so that what stays above 0 sums to 1."""
    u = np.array(u, dtype=float)
    found = solve(np.eye(3), u, gap=1e-12)
    levels = np.linspace(-3, 3, 600_001)
    sums = np.maximum(u[:, None] - levels, 0).sum(axis=0)
    projected = np.maximum(u - levels[np.abs(sums - 1).argmin()], 0)
    np.testing.assert_allclose(found.weights, projected, atol=1e-5)


def test_two_points_by_hand():
    """With weights (1 + a, -a) the nearest is (1, 0), at a |x_1 - x_2|."""
    kernel = np.array([[1.0, 0.3], [0.3, 1.0]])
    found = solve(kernel, np.array([1.5, -0.5]))
    np.testing.assert_allclose(found.weights, [1, 0], atol=1e-12)
    assert found.high == pytest.approx(0.5 * np.sqrt(2 - 2 * 0.3))


@pytest.mark.parametrize("width", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("gap", [1e-2, 1e-4])
def test_bounds_hold_the_distance_between_them(width, gap):
    """Rough solutions must bound fine ones, in few points (smooth) and in many (rough)."""
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.normal(size=(400, 2)), rng.normal(size=(300, 2)) + 2])
    kernel, u = gaussian_kernel(points, width), signed_weights(400, 300, 1.8)
    rough, fine = solve(kernel, u, gap), solve(kernel, u, 1e-7)
    assert rough.low <= fine.high + 1e-9
    assert rough.high >= fine.high - 1e-9
    assert rough.high - fine.high < gap
    for found in (rough, fine):
        assert found.weights.min() >= 0
        assert found.weights.sum() == pytest.approx(1)


def test_the_line_stays_below_the_distance():
    rng = np.random.default_rng(2)
    points = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(40, 2)) + 2])
    kernel = gaussian_kernel(points, 0.5)
    here = solve(kernel, signed_weights(60, 40, 2.0), gap=1e-3)
    for lam in (1.2, 1.9, 2.1, 4.0):
        u = signed_weights(60, 40, lam)
        line = here.low + here.normal @ (u - signed_weights(60, 40, 2.0))
        assert line <= solve(kernel, u).high + 1e-9


def test_a_distribution_is_its_own_nearest():
    rng = np.random.default_rng(3)
    kernel = gaussian_kernel(rng.normal(size=(50, 2)), 0.3)
    u = rng.random(50)
    assert solve(kernel, u / u.sum(), gap=1e-6).high < 1e-3


def test_copies_of_points_change_nothing():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(30, 2))
    u = signed_weights(20, 10, 1.7)
    twice = gaussian_kernel(np.repeat(points, 2, axis=0), 0.5)
    once = solve(gaussian_kernel(points, 0.5), u, gap=1e-7)
    assert solve(twice, np.repeat(u, 2) / 2, gap=1e-7).high == pytest.approx(once.high, abs=1e-6)
