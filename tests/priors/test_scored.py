"""Out-of-fold log-ratios: in one unit whatever the scorer, and of rows that were not seen."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from varpu import VPUBoostingClassifier
from varpu.exceptions import PUInputError
from varpu.priors import BBE
from varpu.priors.base import Sample
from varpu.priors.scored import out_of_fold_log_ratio


def sample_of(X, y, scenario="single-set"):
    positive = y == 1
    marginal = np.ones_like(positive) if scenario == "single-set" else ~positive
    return Sample(X, positive, marginal, scenario, is_image=False)


def scores_of(sample, estimator, n_folds=5):
    return out_of_fold_log_ratio(sample, estimator, n_folds, np.random.RandomState(0))


@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
def test_log_ratios_are_those_of_the_densities(samples, gaussians, scenario):
    """Two Gaussians, of which log f_P/f is known, and a scorer that takes any form."""
    if scenario == "single-set":
        X, _, y = gaussians(20_000, prior=0.4, distance=2.0, n_columns=1)
    else:
        X, y = samples(15_000, 5000, 0.4, 2.0, n_columns=1)
    found = scores_of(sample_of(X, y, scenario), KNeighborsClassifier(300))
    f_p = norm.pdf(X[:, 0], 2.0)
    f = 0.4 * f_p + 0.6 * norm.pdf(X[:, 0])
    middle = np.abs(X[:, 0] - 1.5) < 1.5
    assert np.abs(found - np.log(f_p / f))[middle].mean() < 0.12


def test_a_scorer_does_not_see_the_rows_it_scores():
    """One neighbour knows a row that it was fitted to; of noise it can know nothing else."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), (np.arange(400) % 2)
    found = scores_of(sample_of(X, y), KNeighborsClassifier(1))
    assert abs((found[y == 1] > 0).mean() - 0.5) < 0.1


def test_copies_are_scored_alike():
    """An unlabelled copy of a labelled row is in the same fold, so no scorer knows it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    doubled, y = np.vstack([X, X]), np.repeat([1, 0], 200)
    found = scores_of(sample_of(doubled, y), KNeighborsClassifier(1))
    np.testing.assert_array_equal(found[:200], found[200:])


def test_own_classifiers_are_scored_by_their_log_ratio(gaussians):
    X, truth, y = gaussians(800, distance=4.0)
    found = scores_of(sample_of(X, y), VPUBoostingClassifier(max_rounds=60, n_jobs=1), n_folds=2)
    assert np.exp(found).mean() == pytest.approx(1, abs=0.25)
    assert found[truth].mean() > found[~truth].mean() + 1


@pytest.mark.parametrize("wrong", [LinearSVC(), LogisticRegression, "forest"])
def test_bad_scorers(gaussians, wrong):
    X, _, y = gaussians(50)
    with pytest.raises(PUInputError, match="classifier with predict_proba"):
        BBE(estimator=wrong).fit(X, y)
    with pytest.raises(PUInputError, match="n_folds must be"):
        BBE(n_folds=1).fit(X, y)
