"""The prior from the label frequency (Elkan and Noto, 2008)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from varpu.calibration import recalibration
from varpu.checks import whole
from varpu.priors.base import Interval, Sample
from varpu.priors.scored import ScoredPriorEstimator

Floats = NDArray[np.float64]


class ElkanNotoPrior(ScoredPriorEstimator):
    """The prior from ``c = P(labelled | positive)``, the mean held-out score of positives.

    If classes do not overlap, ``P(labelled | x) = c`` for every positive ``x``. So the mean of that
    probability over positives that the classifier was not fitted to is ``c``. In the single-set
    scenario the prior is the share of labelled rows over ``c``. In the case-control scenario a
    positive ``x`` is labelled with the odds ``n_P / (n_U prior)``, and the prior is
    ``n_P (1 - c) / (n_U c)``.

    Overlap of the classes, and probabilities that are shrunken, make ``c`` too small and the prior
    too large: it is an upper bound for a classifier that is calibrated. It costs the cross-fit of
    the scorer.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Its ``predict_proba``, fitted to tell labelled from unlabelled rows, is taken as it is.
        None: boosted trees and models of distances on the variational loss, blended and
        recalibrated out of fold, which take missing values, categories and sparse matrices too.
        Images are projected on 50 principal components.
    n_folds : int, default=5
        Identical rows share a fold. Fewer are made where there are not that many distinct labelled
        rows.
    n_bootstrap : int, default=200
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether all rows are the marginal sample, or the unlabelled rows alone.
    random_state : int, RandomState or None, default=None
        Decides folds, scorers and draws.

    Attributes
    ----------
    prior_ : float
    prior_interval_ : pair of float
        90% by the bootstrap of the scores; the scorer is not fitted again.
    label_frequency_ : float
        ``c``.
    out_of_fold_log_ratio_ : array of shape (n,)
        ``log f_P/f`` of each row by the model that did not see it.

    References
    ----------
    Elkan and Noto, "Learning Classifiers from Only Positive and Unlabeled Data", KDD 2008 (its
    estimator ``e1``). The form for the case-control scenario is ours.
    """

    label_frequency_: float

    def __init__(
        self,
        *,
        estimator: Any = None,
        n_folds: int = 5,
        n_bootstrap: int = 200,
        scenario: str = "single-set",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_folds = n_folds
        self.n_bootstrap = n_bootstrap
        self.scenario = scenario
        self.random_state = random_state

    def _check_params(self) -> None:
        super()._check_params()
        whole("n_bootstrap", self.n_bootstrap, 2)

    def _read(
        self,
        scores_p: Floats,
        scores_u: Floats,
        sample: Sample,
        random: np.random.RandomState,
    ) -> tuple[float, Interval]:
        if self.estimator is None:
            curve = recalibration(
                self.out_of_fold_log_ratio_,
                sample.positive.astype(np.float64),
                sample.marginal.astype(np.float64),
            )
            scores_p = scores_p if curve is None else curve(scores_p)
        n_p, n_u = sample.n_positive, sample.n_marginal
        labelled = label_probability(scores_p, n_p / n_u, sample.scenario)
        self.label_frequency_ = float(labelled.mean())
        prior = prior_from_frequency(self.label_frequency_, n_p / n_u, sample.scenario)
        weights = random.multinomial(n_p, np.full(n_p, 1 / n_p), size=self.n_bootstrap) / n_p
        # In one set it is chance, too, how many rows are labelled; in two it is a choice.
        single = sample.scenario == "single-set"
        ratios = (
            random.binomial(n_u, n_p / n_u, size=self.n_bootstrap) / n_u if single else n_p / n_u
        )
        drawn = prior_from_frequency(weights @ labelled, ratios, sample.scenario)
        low, high = np.quantile(drawn, [0.05, 0.95])
        return float(prior), (float(low), float(high))


def label_probability(log_ratio: Floats, ratio: float, scenario: str) -> Floats:
    """``P(labelled | x)`` from ``log f_P/f`` and ``n_P / n_U``, U being the marginal sample."""
    odds = ratio * np.exp(np.minimum(log_ratio, 500.0))
    # In one set the labelled rows are among the marginal, and this is no odds but a probability.
    return np.minimum(odds, 1.0) if scenario == "single-set" else odds / (1.0 + odds)


def prior_from_frequency(c: Any, ratio: Any, scenario: str) -> Any:
    """The prior from ``c = P(labelled | positive)`` and ``n_P / n_U``; numbers or arrays."""
    return ratio / c if scenario == "single-set" else ratio * (1 - c) / c
