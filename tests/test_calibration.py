"""The curve from scores to log-ratios, on scores whose true log-ratio is known."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_expit
from scipy.stats import norm

from varpu.calibration import Recalibration, recalibration

PRIOR, DISTANCE = 0.4, 2.0


def two_gaussians(n, scenario="single-set", seed=0):
    """True log-ratios, and which rows are in P and in U."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < PRIOR
    x = rng.normal(size=n) + DISTANCE * truth
    in_p, in_u = (truth & (rng.random(n) < 0.5)).astype(float), np.ones(n)
    if scenario == "case-control":
        x = np.concatenate([x, rng.normal(size=n // 4) + DISTANCE])
        in_p, in_u = np.repeat([0.0, 1.0], [n, n // 4]), np.repeat([1.0, 0.0], [n, n // 4])
    odds = norm.pdf(x - DISTANCE) / norm.pdf(x)
    return np.log(odds / (PRIOR * odds + 1 - PRIOR)), in_p, in_u


def logistic_loss(log_ratio, in_p, in_u):
    """Of telling P from U by the log-ratio and the best constant."""

    def loss(constant):
        return -(in_p @ log_expit(log_ratio + constant) + in_u @ log_expit(-log_ratio - constant))

    return minimize_scalar(loss, bracket=(-2, 2)).fun / (in_p.sum() + in_u.sum())


@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
@pytest.mark.parametrize("shrunk", [0.3, 0.5, 1.0, 1.5])
def test_shrunken_and_stretched_scores_are_made_true(shrunk, scenario):
    true, in_p, in_u = two_gaussians(20_000, scenario)
    scores = shrunk * true + 0.7  # and in another unit
    found = recalibration(scores, in_p, in_u)(scores)
    low = np.quantile(true[in_p > 0], 0.05)
    bulk = true > low
    assert np.abs(found - true)[bulk].max() < 0.1
    # As probabilities, everywhere.
    assert PRIOR * np.abs(np.exp(found) - np.exp(true)).mean() < 0.02


def test_scores_that_are_bent_are_made_true():
    """The truth is a parabola of the score, as it is where the largest ones shrank most."""
    true, in_p, in_u = two_gaussians(20_000)
    top = true.max() + 0.1
    scores = -np.sqrt(top - true)
    found = recalibration(scores, in_p, in_u)(scores)
    assert PRIOR * np.abs(np.exp(found) - np.exp(true)).mean() < 0.01


@pytest.mark.parametrize("seed", range(12))
def test_whatever_the_scores(seed):
    """Normal, heavy tails or one-sided; P depends on them rising, falling or by waves."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(100, 2000))
    draws = (
        rng.normal,
        lambda size: rng.standard_t(2, size),
        lambda size: -rng.exponential(2, size),
    )
    scores = draws[seed % 3](size=n) * rng.uniform(0.3, 3)
    rise, bend, wave = rng.normal(0, (1.5, 0.3, 1))
    odds = rise * scores + bend * np.minimum(scores**2, 9) + wave * np.sin(3 * scores)
    in_p, in_u = (rng.random(n) < np.exp(log_expit(odds))).astype(float), np.ones(n)
    curve = recalibration(scores, in_p, in_u)
    found = curve(scores)
    assert logistic_loss(found, in_p, in_u) <= logistic_loss(scores, in_p, in_u) + 1e-9
    # A density ratio; the curve is linear between 256 knots, so it is nearly one.
    assert np.exp(found).mean() == pytest.approx(1, abs=3e-3)
    # Strictly in the order of the scores, beyond the last knot too.
    order = np.sort(np.concatenate([scores, [-1e3, -30.0, 30.0, 1e3]]))
    assert (np.diff(curve(order)) > 0).all()
    assert (np.diff(curve.log_ratios) >= 0).all()
    assert len(curve.scores) <= 256


@pytest.mark.parametrize("seed", range(5))
def test_true_scores_are_not_made_worse(seed):
    true, in_p, in_u = two_gaussians(1000, seed=seed)
    found = recalibration(true, in_p, in_u)(true)
    assert logistic_loss(found, in_p, in_u) <= logistic_loss(true, in_p, in_u) + 1e-9
    assert PRIOR * np.abs(np.exp(found) - np.exp(true)).mean() < 0.05


def test_scores_that_say_the_opposite_are_levelled():
    true, in_p, in_u = two_gaussians(2000)
    found = recalibration(-true, in_p, in_u)(-true)
    np.testing.assert_allclose(found, 0, atol=0.02)
    assert (np.argsort(found) == np.argsort(-true)).all()


def test_weights_are_copies():
    rng = np.random.default_rng(0)
    true, _, _ = two_gaussians(400)
    scores = 0.5 * true
    in_u = rng.integers(1, 4, 400)
    in_p = rng.binomial(in_u, 0.5 * PRIOR * np.exp(true))
    weighted = recalibration(scores, in_p * 1.0, in_u * 1.0)
    numbers = np.repeat(np.arange(400), in_u)
    first = np.concatenate([np.arange(k) for k in in_u])
    copied = recalibration(scores[numbers], (first < in_p[numbers]) * 1.0, np.ones(len(numbers)))
    np.testing.assert_allclose(weighted(scores), copied(scores), atol=1e-3)


def test_too_few_positives_or_nothing_to_see():
    rng = np.random.default_rng(0)
    scores, in_u = rng.normal(size=200), np.ones(200)
    for positives, enough in ((29, False), (30, True)):
        in_p = (np.arange(200) < positives) * 1.0
        assert (recalibration(scores, in_p, in_u) is not None) is enough
    in_p = (np.arange(200) < 50) * 1.0
    assert recalibration(np.full(200, 0.3), in_p, in_u) is None
    assert recalibration(0.3 + 1e-9 * scores, in_p, in_u) is None
    # Fifteen rows that each stand for two are thirty.
    assert recalibration(scores, (np.arange(200) < 15) * 2.0, in_u + 1) is not None


def test_a_curve_by_hand():
    curve = Recalibration(np.array([0.0, 1.0, 3.0]), np.array([-1.0, 1.0, 1.0]))
    found = curve(np.array([-5.0, 0.0, 0.5, 2.0, 9.0]))
    np.testing.assert_allclose(found, [-1, -1, 0, 1, 1], atol=1e-5)
    assert (np.diff(found) > 0).all()


def test_far_scores_do_not_bend_the_curve():
    true, in_p, in_u = two_gaussians(2000)
    plain = recalibration(true, in_p, in_u)
    far = true.copy()
    far[np.argmin(true)] = -1e6
    near = true[true > -6]
    np.testing.assert_allclose(recalibration(far, in_p, in_u)(near), plain(near), atol=0.01)
