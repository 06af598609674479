"""The objective's derivatives, against the loss itself."""

import numpy as np
import pytest
from scipy.special import expit, log_expit, logsumexp

from varpu.boosting import variational_derivatives


def loss(scores, weight_p, weight_u):
    """``L_var`` of weighted rows, times half the number of rows."""
    log_phi = log_expit(scores)
    value = logsumexp(log_phi, b=weight_u / weight_u.sum())
    value -= (weight_p / weight_p.sum()) @ log_phi
    return value * (np.count_nonzero(weight_p) + np.count_nonzero(weight_u)) / 2


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    weight_u = rng.integers(0, 3, 60).astype(float)
    weight_p = np.where(rng.random(60) < 0.3, rng.integers(1, 4, 60), 0).astype(float)
    return rng.normal(0, 2, 60), weight_p, weight_u


def test_gradient_against_finite_differences(rows):
    scores, weight_p, weight_u = rows
    gradient, _ = variational_derivatives(scores, weight_p, weight_u)
    step = 1e-6
    for i in range(len(scores)):
        move = np.zeros_like(scores)
        move[i] = step
        slope = loss(scores + move, weight_p, weight_u) - loss(scores - move, weight_p, weight_u)
        assert gradient[i] == pytest.approx(slope / (2 * step), abs=1e-7)


def test_hessian_is_positive_and_the_stated_one(rows):
    scores, weight_p, weight_u = rows
    _, hessian = variational_derivatives(scores, weight_p, weight_u)
    phi = expit(scores)
    w = weight_u * phi / (weight_u @ phi)
    a = weight_p / weight_p.sum()
    size = (np.count_nonzero(weight_p) + np.count_nonzero(weight_u)) / 2
    np.testing.assert_allclose(hessian, np.maximum(size * (w + a) * phi * (1 - phi), 1e-6))
    assert (hessian > 0).all()


def test_a_row_on_both_sides_is_two_rows():
    """One row with both weights has the sum of the gradients of a labelled and a marginal copy."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=20)
    labelled = np.arange(20) < 8
    both, _ = variational_derivatives(scores, labelled.astype(float), np.ones(20))
    apart, _ = variational_derivatives(
        np.concatenate([scores, scores[labelled]]),
        np.concatenate([np.zeros(20), np.ones(8)]),
        np.concatenate([np.ones(20), np.zeros(8)]),
    )
    together = apart[:20].copy()
    together[labelled] += apart[20:]
    np.testing.assert_allclose(both, together)


def test_gradient_vanishes_at_the_density_ratio():
    """On atoms with known masses, Phi proportional to f_P / f is where nothing is to be gained."""
    rng = np.random.default_rng(2)
    f_p, f = rng.dirichlet(np.ones(10)), rng.dirichlet(np.ones(10))
    phi = 0.3 * f_p / f / (f_p / f).max()
    gradient, _ = variational_derivatives(np.log(phi / (1 - phi)), f_p, f)
    np.testing.assert_allclose(gradient, 0, atol=1e-12)


def test_extreme_scores_stay_finite():
    scores = np.array([-1e4, -50.0, 0.0, 50.0, 1e4])
    for part in variational_derivatives(scores, np.array([1.0, 0, 1, 0, 1]), np.ones(5)):
        assert np.isfinite(part).all()
