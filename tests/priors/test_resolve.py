"""A prior as users may give it: a number, an estimator, or "auto"."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from varpu.exceptions import PUInputError
from varpu.priors import BBE, KM2, TIcE, check_prior, resolve_prior

SCORED = BBE(estimator=LogisticRegression())


def test_a_number_is_taken_as_it_is(gaussians):
    X, _, y = gaussians(50)
    assert resolve_prior(0.3, X, y == 1, "single-set", 0) == (0.3, (0.3, 0.3))
    assert resolve_prior(np.float32(1), X, y == 1, "case-control") == (1.0, (1.0, 1.0))


def test_an_estimator_is_cloned_told_the_scenario_and_fitted(gaussians):
    X, _, y = gaussians(600, distance=4.0)
    given = BBE(estimator=LogisticRegression())
    for scenario in ("single-set", "case-control"):
        prior, interval = resolve_prior(given, X, y == 1, scenario, 0)
        direct = BBE(estimator=LogisticRegression(), scenario=scenario, random_state=0).fit(X, y)
        assert (prior, interval) == (direct.prior_, direct.prior_interval_)
    assert given.scenario == "single-set"
    assert not hasattr(given, "prior_")


def test_the_seed_of_the_estimator_comes_first(gaussians):
    X, _, y = gaussians(200)
    given = KM2(max_rows=60, n_bootstrap=2, random_state=3)
    found = resolve_prior(given, X, y == 1, "single-set", 0)
    assert found == resolve_prior(given, X, y == 1, "single-set", 1)


def test_auto_is_bbe(gaussians):
    X, truth, y = gaussians(800, distance=4.0)
    prior, interval = resolve_prior("auto", X, y == 1, "single-set", 0)
    assert prior == BBE(random_state=0).fit(X, y).prior_
    assert prior == pytest.approx(truth.mean(), abs=0.06)
    assert interval[0] <= prior <= interval[1]


@pytest.mark.parametrize(
    "wrong", [0, -0.1, 1.5, np.nan, True, "KM2", None, KM2, LogisticRegression()]
)
def test_bad_priors(wrong):
    with pytest.raises(PUInputError, match="prior must be"):
        check_prior(wrong)
    with pytest.raises(PUInputError, match="prior must be"):
        resolve_prior(wrong, np.ones((4, 1)), np.arange(4) < 2, "single-set")


def test_bad_data(gaussians):
    X, _, y = gaussians(50)
    with pytest.raises(PUInputError, match="scenario must be one of"):
        resolve_prior("auto", X, y == 1, "both")
    for labels in (np.zeros(50, dtype=bool), np.ones(50, dtype=bool)):
        with pytest.raises(PUInputError, match="positives and unlabelled rows"):
            resolve_prior(SCORED, X, labels, "single-set")


def test_the_prior_is_never_zero():
    """TIcE in two sets may find that no unlabelled row is positive; nobody can work with that."""
    X = np.repeat([[0.0], [1.0]], [50, 150], axis=0) + np.linspace(0, 0.01, 200)[:, None]
    prior, _ = resolve_prior(TIcE(delta=0.99), X, np.arange(200) < 50, "case-control", 0)
    assert 0 < prior < 0.02
