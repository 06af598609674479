"""Rank pruning: unlabelled rows are negatives with wrong labels among them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state

from varpu.classic.estimators import fit_fresh, out_of_fold
from varpu.classic.wrapper import WrapperPUClassifier, log_posterior
from varpu.tags import PUTags

Floats = NDArray[np.float64]

# As published: so many unlabelled rows are kept whatever the rates say, and no rate is 1.
_FEWEST_NEGATIVES = 10
_LARGEST_RATE = 0.9999


class NoiseRates(NamedTuple):
    """What the confident rows say about the labels.

    Attributes
    ----------
    rho1 : float
        ``P(s=0|y=1)``, the share of positives that are unlabelled.
    positives : float
        ``P(y=1)``, the share of positives among all rows.
    pi0 : float
        ``P(y=1|s=0)``, the share of positives among unlabelled rows.
    """

    rho1: float
    positives: float
    pi0: float


class RankPruningClassifier(WrapperPUClassifier):
    """Rank pruning (Northcutt, Wu and Chuang, UAI 2017) with perfect positive labels.

    Scores each row out of fold by ``p = P(s=1|x)``. An unlabelled row that scores at least as high
    as labelled rows do in the mean is a confident positive, and the share of unlabelled rows among
    all that score so high is ``rho1``, the share of positives that were not labelled. As many
    unlabelled rows as that makes positives, those of the highest scores, are left out, and the
    classifier is fitted to the rest, with the weight ``1 / (1 - rho1)`` on labelled rows.

    It needs no prior, but is consistent only if the classes do not overlap. Its weak spot is a
    large prior: few unlabelled rows are left to stand for the negatives, and an estimator that
    clings to the labelled rows, as networks do, rates ``rho1`` too low and leaves positives among
    them. Chen et al. (NeurIPS 2020) saw it do worse than chance so, at priors of 0.64 and 0.90.

    The rates are about the training labels. With ``n_P`` labelled rows, ``n_P / (1 - rho1)`` of all
    ``n`` rows are positive. In the single-set scenario all rows are the marginal, so ``prior_`` is
    ``n_P / (n (1 - rho1))``, and the probability that was fitted stays. In the case-control
    scenario the unlabelled rows are: ``prior_`` is what is left of these positives for them,
    ``n_P rho1 / (n_U (1 - rho1))``, and the fitted odds are multiplied by ``rho1``.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Must give ``predict_proba`` and take ``sample_weight`` (a pipeline: its last step). Parts
        of it without a ``random_state`` of their own get one. None: logistic regression on an
        RBF kernel of standardised columns, which few positives do not mislead (tables only).
    cv : int, default=3
        Folds; fewer are made where there are not that many distinct labelled rows.
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether labelled rows were drawn from the sample itself, so that all rows are the marginal
        sample, or separately, so that only the unlabelled rows are.
    random_state : int, RandomState or None, default=None
        Decides folds and, where it has no seed of its own, the estimator.

    Attributes
    ----------
    rho1_ : float
        The share of positives, among all rows, that are unlabelled.
    label_frequency_ : float
        ``1 - rho1_``.
    confidence_ : array of shape (n,)
        Out-of-fold ``P(s=1|x)`` of each training row.
    kept_ : bool array of shape (n,)
        The rows that the last fit saw; labelled ones all are.
    estimator_ : classifier
        The one of the last fit.
    scale_, prior_, classes_, n_features_in_, feature_names_in_
        As in every classifier here.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from varpu.classic import RankPruningClassifier
    >>> X, truth = load_breast_cancer(return_X_y=True)
    >>> labelled = (truth == 1) & (np.arange(len(truth)) % 3 == 0)
    >>> model = RankPruningClassifier(random_state=0).fit(X, labelled)
    >>> bool((model.predict(X) == truth).mean() > 0.9)
    True
    """

    pu_tags = PUTags(
        method="rank pruning",
        reference="Northcutt, Wu and Chuang, UAI 2017",
        needs_prior=False,
        needs_separability=True,
        learner="any classifier",
        images=True,
        cost="one classifier a fold, and one more",
    )

    rho1_: float
    label_frequency_: float
    confidence_: Floats
    kept_: NDArray[np.bool_]

    def __init__(
        self,
        *,
        estimator: Any = None,
        cv: int = 3,
        scenario: str = "single-set",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.scenario = scenario
        self.random_state = random_state

    def _fit(self, X: Any, positive: NDArray[np.bool_]) -> None:
        random = check_random_state(self.random_state)
        estimator = self._estimator_for(X)
        self.confidence_, fold = out_of_fold(estimator, X, positive, self.cv, random)
        rates = noise_rates(self.confidence_, positive, fold)
        self.rho1_, self.label_frequency_ = rates.rho1, 1 - rates.rho1
        self.kept_ = rows_to_keep(self.confidence_, positive, rates.pi0)
        kept = np.flatnonzero(self.kept_)
        weight = np.where(positive[kept], 1 / self.label_frequency_, 1.0)
        self.estimator_ = fit_fresh(
            estimator, _safe_indexing(X, kept), positive[kept], random, weight
        )
        single_set = self.scenario == "single-set"
        marginal = np.arange(len(positive)) if single_set else np.flatnonzero(~positive)
        self._take_probabilities(
            self._log_phi(_safe_indexing(X, marginal)),
            prior=rates.positives if single_set else rates.pi0,
        )

    def _log_phi(self, X: Any) -> Floats:
        return log_posterior(self._probability(X), self.rho1_, self.scenario)


def noise_rates(p: Floats, positive: NDArray[np.bool_], fold: NDArray[np.int64]) -> NoiseRates:
    """The rates of wrong labels by counting confident rows, in the mean over folds.

    Parameters
    ----------
    p : array of shape (n,)
        Out-of-fold ``P(s=1|x)``.
    positive : bool array of shape (n,)
        Which rows are labelled.
    fold : int array of shape (n,)
        Each must have labelled rows.
    """
    rates = []
    for k in range(fold.max() + 1):
        in_fold = fold == k
        labelled = p[in_fold & positive]
        # The mean of equal numbers can come out above all of them, by a rounding.
        bound = min(labelled.mean(), labelled.max())
        confident = in_fold & (p >= bound)
        rates.append((confident & ~positive).sum() / confident.sum())
    rho1 = min(float(np.mean(rates)), _LARGEST_RATE)
    labelled_share = float(positive.mean())
    positives = labelled_share / (1 - rho1)
    pi0 = min(rho1 * positives / (1 - labelled_share), _LARGEST_RATE)
    return NoiseRates(rho1, min(positives, 1.0), pi0)


def rows_to_keep(p: Floats, positive: NDArray[np.bool_], pi0: float) -> NDArray[np.bool_]:
    """All rows but the share ``pi0`` of the unlabelled ones that scores highest; ties are kept."""
    scores = p[~positive]
    n_pruned = max(min(int(pi0 * len(scores)), len(scores) - _FEWEST_NEGATIVES), 0)
    if n_pruned == 0:
        return np.ones_like(positive)
    threshold = np.sort(scores)[::-1][n_pruned]
    return np.asarray(positive | (p <= threshold))
