"""Elkan and Noto's constant by hand, and what overlap does to it."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from varpu.exceptions import PUInputError
from varpu.priors import ElkanNotoPrior
from varpu.priors.elkan_noto import label_probability, prior_from_frequency


class FromColumn(ClassifierMixin, BaseEstimator):
    """Its probability of a label is the first column."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def by_hand():
    """Labelled rows have the scores 0.3, 0.5 and 0.7 in turn, whose mean is 0.5."""
    y = np.repeat([1, 0], [60, 240])
    X = np.random.default_rng(0).random((300, 2))
    X[:60, 0] = np.tile([0.3, 0.5, 0.7], 20)
    return X, y


def test_constant_and_prior_by_hand_in_one_set():
    found = ElkanNotoPrior(estimator=FromColumn(), random_state=0).fit(*by_hand())
    assert found.label_frequency_ == pytest.approx(0.5)
    assert found.prior_ == pytest.approx((60 / 300) / 0.5)


def test_constant_and_prior_by_hand_in_two_sets():
    found = ElkanNotoPrior(estimator=FromColumn(), scenario="case-control", random_state=0)
    found.fit(*by_hand())
    assert found.label_frequency_ == pytest.approx(0.5)
    # 60 labelled at odds of 1 to 1: 60 of the 240 unlabelled rows are positive.
    assert found.prior_ == pytest.approx(60 / 240)


@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
def test_perfect_classifier_gives_the_true_prior(scenario):
    """A positive has f_P/f = 1 / prior, so its probability of a label is c exactly."""
    prior, ratio = 0.35, 0.2
    c = label_probability(np.log(np.array([1 / prior])), ratio, scenario)[0]
    assert prior_from_frequency(c, ratio, scenario) == pytest.approx(prior)


@pytest.mark.parametrize("prior", [0.2, 0.6])
def test_known_mixtures(gaussians, prior):
    X, truth, y = gaussians(4000, prior=prior, distance=5.0)
    found = ElkanNotoPrior(estimator=KNeighborsClassifier(50), random_state=0).fit(X, y)
    assert found.prior_ == pytest.approx(truth.mean(), abs=0.04)
    assert found.label_frequency_ == pytest.approx(0.4, abs=0.04)


def test_default_scorer(gaussians):
    X, truth, y = gaussians(1500, distance=5.0)
    found = ElkanNotoPrior(random_state=0).fit(X, y)
    assert found.prior_ == pytest.approx(truth.mean(), abs=0.05)


def test_overlap_makes_it_too_high(gaussians):
    X, truth, y = gaussians(4000, distance=1.0)
    found = ElkanNotoPrior(estimator=LogisticRegression(), random_state=0).fit(X, y)
    assert found.prior_ > truth.mean() + 0.1


def test_interval_is_that_of_the_label_count_where_scores_are_one():
    """All positives score 0.5, so only their number varies: binomial."""
    X, y = by_hand()
    X[:60, 0] = 0.5
    low, high = ElkanNotoPrior(estimator=FromColumn(), random_state=0).fit(X, y).prior_interval_
    deviation = np.sqrt(0.2 * 0.8 / 300) / 0.5
    assert (high - low) / (2 * 1.645) == pytest.approx(deviation, rel=0.2)
    two = ElkanNotoPrior(estimator=FromColumn(), scenario="case-control").fit(X, y)
    assert two.prior_interval_ == pytest.approx((0.25, 0.25))


def test_bad_parameters():
    with pytest.raises(PUInputError, match="n_bootstrap must be"):
        ElkanNotoPrior(n_bootstrap=0).fit(*by_hand())
