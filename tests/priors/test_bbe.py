"""BBE on out-of-fold scores: known mixtures, ranks only, real data."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from varpu.exceptions import PUInputError, ScaleWarning
from varpu.priors import BBE
from varpu.scale import estimate_prior, read_prior


@pytest.mark.parametrize("prior", [0.1, 0.5, 0.85])
def test_known_mixtures(samples, prior):
    X, y = samples(2000, 800, prior, 4.0)
    found = BBE(estimator=LogisticRegression(), scenario="case-control", random_state=0).fit(X, y)
    assert found.prior_ == pytest.approx(prior, abs=0.05)


def test_known_mixture_with_the_default_scorer(gaussians):
    X, truth, y = gaussians(1500, distance=4.0)
    found = BBE(random_state=0).fit(X, y)
    assert found.prior_ == pytest.approx(truth.mean(), abs=0.05)
    assert len(found.out_of_fold_log_ratio_) == 1500


def test_it_is_the_reading_of_its_own_scores(gaussians):
    X, _, y = gaussians(600)
    scorer = LogisticRegression()
    leaning = BBE(estimator=scorer, random_state=0).fit(X, y)
    scores = leaning.out_of_fold_log_ratio_
    reading = read_prior(scores[y == 1], scores, np.ones(y.sum()), np.ones(600))
    assert leaning.prior_ == reading.prior
    published = BBE(estimator=scorer, lean_on_bound=False, random_state=0).fit(X, y)
    assert published.prior_ == estimate_prior(scores[y == 1], scores)


class Distorted(ClassifierMixin, BaseEstimator):
    """A logistic regression whose probabilities went through an increasing function."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.model_ = LogisticRegression().fit(X, y)
        return self

    def predict_proba(self, X):
        proba = self.model_.predict_proba(X)[:, 1] ** self.power / 2
        return np.column_stack([1 - proba, proba])


@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
def test_as_published_it_sees_ranks_only(gaussians, scenario):
    X, _, y = gaussians(2000)
    # Folds that share rows and labels evenly put their scores in one unit, whatever that is.
    rows = np.concatenate([np.flatnonzero(y == 1)[:200], np.flatnonzero(y == 0)[:600]])
    settings = {"lean_on_bound": False, "scenario": scenario, "n_folds": 2, "random_state": 0}
    plain, bent = (
        BBE(estimator=Distorted(power), **settings).fit(X[rows], y[rows]).prior_
        for power in (1.0, 3.0)
    )
    assert bent == pytest.approx(plain, abs=1e-12)


def test_few_positives_are_warned_about(gaussians):
    X, truth, _ = gaussians(400, distance=5.0)
    y = np.zeros(400, dtype=int)
    y[np.flatnonzero(truth)[:8]] = 1
    with pytest.warns(ScaleWarning, match="rests on 8 labelled positives"):
        BBE(estimator=LogisticRegression(), random_state=0).fit(X, y)


def test_categories_and_gaps():
    rng = np.random.default_rng(0)
    truth = rng.random(1500) < 0.4
    frame = pd.DataFrame(
        {
            "amount": np.where(rng.random(1500) < 0.1, np.nan, 6 * truth + rng.normal(size=1500)),
            "kind": pd.Categorical(np.where(truth, "a", "b")),
        }
    )
    found = BBE(random_state=0).fit(frame, truth & (rng.random(1500) < 0.5))
    assert found.prior_ == pytest.approx(truth.mean(), abs=0.04)


def test_page_blocks(data_dir):
    frame = pd.read_csv(data_dir / "page-blocks" / "page-blocks.data", sep=r"\s+", header=None)
    truth = (frame[10] != 1).to_numpy()
    y = np.zeros(len(truth), dtype=int)
    y[np.random.default_rng(0).choice(np.flatnonzero(truth), 200, replace=False)] = 1
    found = BBE(random_state=0).fit(frame.iloc[:, :10].to_numpy(float), y)
    assert found.prior_ == pytest.approx(truth.mean(), abs=0.04)


def test_bad_parameters(gaussians):
    X, _, y = gaussians(50)
    with pytest.raises(PUInputError, match="lean_on_bound must be one of"):
        BBE(lean_on_bound="yes").fit(X, y)
