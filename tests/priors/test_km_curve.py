"""The curve d(lam), the kernel it is drawn with, and where it is found to rise."""

import numpy as np
import pytest

from varpu.exceptions import PUInputError
from varpu.priors.km_curve import Curve, best_kernel


def curve_of(n=300, prior=0.4, distance=4.0, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(2 * n, 2))
    points[: round(prior * n), 0] += distance
    points[n:, 0] += distance
    kernel, _ = best_kernel(points, n)
    return Curve(kernel, np.full(n, 1 / n), np.full(n, 1 / n), n)


def slow_kernel(points, n_u):
    """The definition, width by width."""
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    difference = np.repeat([1 / n_u, -1 / (len(points) - n_u)], [n_u, len(points) - n_u])
    found = []
    for factor in 10.0 ** np.array([-1, -0.5, 0, 0.5, 1]):
        width = np.sqrt(np.median(squares)) * factor
        kernel = np.exp(-squares / (2 * width**2))
        found.append((difference @ kernel @ difference, width, kernel))
    return max(found, key=lambda one: one[0])


@pytest.mark.parametrize("n_columns", [1, 5, 40])
def test_kernel_is_that_of_the_largest_mmd(n_columns):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(150, n_columns))
    points[90:] += 0.5
    square, width, kernel = slow_kernel(points, 90)
    found, found_width = best_kernel(points, 90)
    assert found_width == pytest.approx(width)
    np.testing.assert_allclose(found, kernel, atol=1e-10)
    curve = Curve(found, np.full(90, 1 / 90), np.full(60, 1 / 60), 60)
    assert curve.mmd == pytest.approx(np.sqrt(square))


def test_identical_rows_have_no_kernel():
    with pytest.raises(PUInputError, match="all rows are identical"):
        best_kernel(np.ones((20, 3)), 10)


def test_mostly_copies_still_have_a_kernel():
    points = np.zeros((40, 1))
    points[:6] = 1.0
    kernel, width = best_kernel(points, 20)
    assert 0 < width < np.inf
    assert np.isfinite(kernel).all()


def test_the_curve_is_convex_rises_and_starts_at_zero():
    curve = curve_of()
    lams = np.array([1.05, 1.3, 1.6, 2.0, 3.0, 5.0])
    heights = np.array([curve.at(lam, 1e-6).high for lam in lams])
    slopes = np.diff(heights) / np.diff(lams)
    assert heights[0] < 0.01 * curve.mmd
    assert (np.diff(slopes) > 0).all()
    assert slopes[-1] < curve.mmd


def test_slopes_are_between_those_of_the_lines_at_their_ends():
    curve = curve_of()
    here, there = curve.at(1.9, 1e-7), curve.at(1.92, 1e-7)
    slope = (there.high - here.high) / 0.02
    assert here.slope - 1e-5 <= slope <= there.slope + 1e-5


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7])
def test_found_cell_holds_the_threshold_and_does_not_depend_on_the_guess(share):
    curve = curve_of()
    threshold = share * curve.mmd
    lam = curve.lambda_at(threshold)
    cell = 7 / 256
    assert not curve.rises_faster(threshold, lam - cell)
    assert curve.rises_faster(threshold, lam + cell)
    # A fresh curve starts elsewhere, so a slope that is all but the threshold may fall either way.
    for guess in (1.0, lam, 3.0, 8.0):
        assert curve_of().lambda_at(threshold, guess) == pytest.approx(lam, abs=1.01 * cell)


@pytest.mark.parametrize(("threshold", "expected"), [(-1.0, 1.0), (2.0, 8.0)])
def test_a_threshold_that_is_never_or_always_passed_gives_an_end(threshold, expected):
    curve = curve_of(n=60)
    assert curve.lambda_at(threshold * curve.mmd) == pytest.approx(expected, abs=0.02)


def test_draws_have_rows_of_both_samples_and_no_more_than_asked():
    curve = curve_of(n=100)
    drawn = curve.drawn(np.random.RandomState(0), 40)
    assert drawn.n_fewest == 40
    assert drawn.mmd == pytest.approx(curve.mmd, rel=0.3)
    assert curve.drawn(np.random.RandomState(0), 1000).n_fewest == 100
