"""DEDPUL: densities and their ratio against closed forms, the search, known mixtures."""

import numpy as np
import pytest
from scipy.stats import gaussian_kde, norm
from sklearn.linear_model import LogisticRegression

from varpu.exceptions import PUInputError
from varpu.priors import DEDPUL
from varpu.priors.dedpul import _density, density_ratio, prior_from_ratio


def test_density_is_the_kernel_density():
    scores = np.random.default_rng(0).normal(size=500)
    at = np.linspace(-2, 2, 50)
    exact = gaussian_kde(scores, 0.1)
    # The library's factor is of the deviation with n - 1.
    found = _density(scores, scores.min(), scores.max(), 0.1, at)
    np.testing.assert_allclose(found, exact(at), rtol=0.01)


def test_ratio_follows_the_true_one_and_never_falls():
    rng = np.random.default_rng(0)
    scores_p, truth = rng.normal(3, 1, 5000), rng.random(20_000) < 0.4
    scores_u = np.where(truth, rng.normal(3, 1, 20_000), rng.normal(0, 1, 20_000))
    found = density_ratio(scores_p, scores_u, 0.1, 0.05)
    at = np.sort(scores_u)
    exact = norm.pdf(at, 3) / (0.4 * norm.pdf(at, 3) + 0.6 * norm.pdf(at))
    assert (np.diff(found) >= 0).all()
    assert np.abs(found - exact).mean() < 0.12


@pytest.mark.parametrize("prior", [0.1, 0.4, 0.8])
def test_prior_of_an_exact_ratio_without_overlap(prior):
    """f_P/f is 1 / prior on positives and 0 on negatives."""
    n = 10_000
    ratio = np.where(np.arange(n) < (1 - prior) * n, 0.0, 1 / prior)
    assert prior_from_ratio(ratio) == pytest.approx(prior, abs=0.005)


def test_prior_of_equal_densities_is_one():
    assert prior_from_ratio(np.ones(1000)) == pytest.approx(1.0, abs=0.01)


def test_prior_does_not_exceed_what_the_largest_ratio_allows_by_much():
    """The prior is at most 1 / max f_P/f if the ratio is exact."""
    x = np.sort(np.random.default_rng(0).normal(size=20_000) + 2 * (np.arange(20_000) % 2))
    ratio = norm.pdf(x, 2) / (0.5 * norm.pdf(x, 2) + 0.5 * norm.pdf(x))
    assert prior_from_ratio(ratio) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("prior", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("distance", [3.0, 5.0])
def test_known_mixtures(samples, prior, distance):
    X, y = samples(2000, 1000, prior, distance)
    found = DEDPUL(
        estimator=LogisticRegression(), scenario="case-control", n_bootstrap=10, random_state=0
    ).fit(X, y)
    assert found.prior_ == pytest.approx(prior, abs=0.07)


def test_one_score_for_all_is_refused():
    with pytest.raises(PUInputError, match="one and the same score"):
        density_ratio(np.ones(10), np.ones(30), 0.1, 0.05)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bandwidth_u": 0.0}, "bandwidth_u must be"),
        ({"bandwidth_p": -1}, "bandwidth_p must be"),
        ({"n_bootstrap": 1}, "n_bootstrap must be"),
    ],
)
def test_bad_parameters(gaussians, settings, message):
    X, _, y = gaussians(50)
    with pytest.raises(PUInputError, match=message):
        DEDPUL(**settings).fit(X, y)
