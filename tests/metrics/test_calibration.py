"""Calibration error on PU data against the one the true classes give."""

import numpy as np
import pytest

from varpu.exceptions import PUInputError
from varpu.metrics import pu_calibration_error


def supervised_error(truth, proba, n_bins=10):
    """The textbook form: bins weighted by their share of rows."""
    which = np.digitize(proba, np.linspace(0, 1, n_bins + 1)[1:-1])
    return sum(
        (which == b).mean() * abs(truth[which == b].mean() - proba[which == b].mean())
        for b in np.unique(which)
    )


@pytest.mark.parametrize("n_bins", [1, 4, 10])
def test_equals_the_supervised_error_on_exact_samples(population, n_bins):
    truth, prior = population.truth, population.prior
    proba = population.score - 0.03  # off the edges of the bins
    expected = supervised_error(truth, proba, n_bins)
    assert pu_calibration_error(truth, proba, prior, n_bins=n_bins) == pytest.approx(expected)
    y, proba_pu = population.case_control(proba)
    error = pu_calibration_error(y, proba_pu, prior, n_bins=n_bins, scenario="case-control")
    assert error == pytest.approx(expected)


def test_true_posterior_is_calibrated_and_distorted_ones_are_not(big, draw_labels):
    prior, _, truth, posterior = big
    y = draw_labels(truth, 0.3, seed=1)
    assert pu_calibration_error(y, posterior, prior) < 0.02
    for distorted in (posterior**2, np.sqrt(posterior), 1 - posterior, 0.3 * posterior):
        error = pu_calibration_error(y, distorted, prior)
        assert error > 0.08
        assert error == pytest.approx(supervised_error(truth, distorted), abs=0.02)


def test_true_posterior_is_calibrated_in_case_control(big):
    prior, x, _, posterior = big
    x_p = np.random.default_rng(1).normal(1.5, size=4000)
    odds = prior / (1 - prior) * np.exp(1.5 * x_p - 1.125)
    y = np.repeat([1, 0], [len(x_p), len(x)])
    proba = np.concatenate([odds / (1 + odds), posterior])
    assert pu_calibration_error(y, proba, prior, scenario="case-control") < 0.02
    assert pu_calibration_error(y, proba**2, prior, scenario="case-control") > 0.08


def test_noise_of_few_positives_is_as_documented(big, draw_labels):
    prior, _, truth, posterior = big
    share = 100 / truth.sum()
    errors = [
        pu_calibration_error(draw_labels(truth, share, seed), posterior, prior)
        for seed in range(50)
    ]
    assert 0.02 < np.mean(errors) < 0.8 * prior * np.sqrt(10 / 100)


def test_ends_of_the_range_and_bins_without_marginal_rows():
    assert pu_calibration_error([1, 0, 0, 1], [1, 0, 0, 1], 0.5) == 0
    # Positives in a bin where the marginal has nobody: all of the prior is in the wrong place.
    assert pu_calibration_error([1, 0], [1.0, 0.0], 0.4, scenario="case-control") == 0.4


@pytest.mark.parametrize(
    ("proba", "prior", "n_bins", "message"),
    [
        ([0.2, 1.5, 0.1], 0.5, 10, "at most 1; the largest is 1.5"),
        ([0.2, -0.5, 0.1], 0.5, 10, "at least 0.0"),
        ([0.2, np.nan, 0.1], 0.5, 10, "finite"),
        ([0.2, 0.5, 0.1], 0.0, 10, "prior"),
        ([0.2, 0.5, 0.1], 0.5, 0, "n_bins must be a whole number of at least 1; got 0"),
        ([0.2, 0.5, 0.1], 0.5, 2.5, "n_bins"),
    ],
)
def test_bad_input(proba, prior, n_bins, message):
    with pytest.raises(PUInputError, match=message):
        pu_calibration_error([1, 0, 0], proba, prior, n_bins=n_bins)
