import numpy as np
import pytest
from scipy.special import expit

from varpu.generative import matched_intercept


@pytest.mark.parametrize("prior", [1e-3, 0.1, 0.5, 0.97])
@pytest.mark.parametrize("scale", [0.01, 1.0, 300.0])
def test_the_mean_probability_becomes_the_prior(prior, scale):
    logits = np.random.default_rng(0).normal(size=5000) * scale + 7
    assert expit(logits + matched_intercept(logits, prior)).mean() == pytest.approx(prior, abs=1e-6)


def test_calibrated_logits_need_no_intercept():
    """Between N(1, 1) and N(-1, 1) with prior 0.3 the true log odds already match."""
    rng = np.random.default_rng(0)
    truth = rng.random(200_000) < 0.3
    x = rng.normal(size=200_000) + np.where(truth, 1, -1)
    assert matched_intercept(2 * x + np.log(0.3 / 0.7), 0.3) == pytest.approx(0, abs=0.02)


def test_equal_logits_all_get_the_prior():
    logits = np.full(9, 3.0)
    assert expit(logits + matched_intercept(logits, 0.2)) == pytest.approx(np.full(9, 0.2))


def test_a_shift_of_all_logits_changes_nothing():
    logits = np.random.default_rng(1).normal(size=50)
    shift = matched_intercept(logits + 40, 0.3) + 40 - matched_intercept(logits, 0.3)
    assert shift == pytest.approx(0, abs=1e-9)
