"""Elkan and Noto's method: the probability of a label, divided by the share of labels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state

from varpu.checks import one_of
from varpu.classic.estimators import fit_fresh, out_of_fold
from varpu.classic.wrapper import EDGE, WrapperPUClassifier, log_posterior
from varpu.tags import PUTags

VARIANTS = ("scaled", "weighted")

Floats = NDArray[np.float64]


class ElkanNotoClassifier(WrapperPUClassifier):
    """Elkan and Noto's method (KDD 2008), in both variants and both scenarios.

    If labelled rows are drawn at random from the positives among all rows, then
    ``g(x) = P(s=1|x) = c P(y=1|x)``, where ``c = P(s=1|y=1)`` is one number. Where a row is surely
    positive ``g = c``, so ``c_`` is the mean of out-of-fold ``g`` over labelled rows. That is right
    only if the classes do not overlap; else ``c_`` is too low and ``prior_`` too high.

    ``variant="scaled"`` gives ``P(y=1|x) = min(1, g(x) / c)``. ``variant="weighted"`` fits the
    classifier once more: a labelled row counts as a positive, and an unlabelled row as a positive
    of weight ``w(x) = P(y=1|x, s=0) = (1-c)/c g(x)/(1-g(x))`` and as a negative of weight
    ``1 - w(x)``, ``g`` being that of a model that did not see the row.

    In the case-control scenario ``n_P`` labelled rows stand beside ``n_U`` rows of the marginal, so
    ``g/(1-g) = n_P f_P / (n_U f)``. Where a row is surely positive ``f_P/f = 1/prior``, so ``g`` is
    one number there too, with ``c/(1-c) = n_P / (n_U prior)``: odds take the place of
    probabilities. ``P(y=1|x) = min(1, (g/(1-g)) / (c/(1-c)))``, and ``prior_`` is
    ``n_P (1-c) / (n_U c)`` where the single-set scenario has ``n_P / (n c)``. The classifier of the
    weighted variant is fitted to all rows; of their positives the share ``1-c`` is in the marginal,
    so its odds are multiplied by that.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Must give ``predict_proba``, good in the mean: where it does not, wrap it in
        ``CalibratedClassifierCV``. For the weighted variant it must take ``sample_weight`` (a
        pipeline: its last step). Parts of it without a ``random_state`` of their own get one.
        None: logistic regression on an RBF kernel of standardised columns, which few positives do
        not mislead (tables only).
    variant : {"scaled", "weighted"}, default="scaled"
    cv : int, default=5
        Folds; fewer are made where there are not that many distinct labelled rows.
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether labelled rows were drawn from the sample itself, so that all rows are the marginal
        sample, or separately, so that only the unlabelled rows are.
    random_state : int, RandomState or None, default=None
        Decides folds and, where it has no seed of its own, the estimator.

    Attributes
    ----------
    c_ : float
        The share of positives, among all rows, that are labelled.
    confidence_ : array of shape (n,)
        Out-of-fold ``P(s=1|x)`` of each training row.
    positive_weight_ : array of shape (n,)
        The weight of each training row as a positive: 1 for labelled rows, ``w(x)`` for others.
    estimator_ : classifier
        Of the scaled variant, ``P(s=1|x)``; of the weighted, ``P(y=1|x)`` among all rows.
    scale_, prior_, classes_, n_features_in_, feature_names_in_
        As in every classifier here.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from varpu.classic import ElkanNotoClassifier
    >>> X, truth = load_breast_cancer(return_X_y=True)
    >>> labelled = (truth == 1) & (np.arange(len(truth)) % 3 == 0)
    >>> model = ElkanNotoClassifier(random_state=0).fit(X, labelled)
    >>> bool((model.predict(X) == truth).mean() > 0.9)
    True
    """

    pu_tags = PUTags(
        method="Elkan-Noto",
        reference="Elkan and Noto, KDD 2008",
        needs_prior=False,
        needs_separability=True,
        learner="any classifier",
        images=True,
        cost="one classifier a fold, and one more",
    )

    c_: float
    confidence_: Floats
    positive_weight_: Floats

    def __init__(
        self,
        *,
        estimator: Any = None,
        variant: str = "scaled",
        cv: int = 5,
        scenario: str = "single-set",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.variant = variant
        self.cv = cv
        self.scenario = scenario
        self.random_state = random_state

    def _check_params(self) -> None:
        one_of("variant", self.variant, VARIANTS)
        super()._check_params()

    def _weighs(self) -> bool:
        return self.variant == "weighted"

    def _fit(self, X: Any, positive: NDArray[np.bool_]) -> None:
        random = check_random_state(self.random_state)
        estimator = self._estimator_for(X)
        self.confidence_, _ = out_of_fold(estimator, X, positive, self.cv, random)
        self.c_ = float(np.clip(self.confidence_[positive].mean(), EDGE, 1 - EDGE))
        self.positive_weight_ = np.where(positive, 1.0, hidden_weight(self.confidence_, self.c_))
        if self.variant == "scaled":
            self.estimator_ = fit_fresh(estimator, X, positive, random)
        else:
            self.estimator_ = self._fit_weighted(estimator, X, positive, random)
        n_labelled, n_unlabelled = int(positive.sum()), int((~positive).sum())
        if self.scenario == "single-set":
            marginal, scale = np.arange(len(positive)), self.c_
            prior = n_labelled / (len(positive) * self.c_)
        else:
            marginal, scale = np.flatnonzero(~positive), self.c_ / (1 - self.c_)
            prior = n_labelled / (n_unlabelled * scale)
        self._take_probabilities(
            self._log_phi(_safe_indexing(X, marginal)),
            prior=min(prior, 1.0),
            scale=scale if self.variant == "scaled" else 1.0,
        )

    def _fit_weighted(
        self,
        estimator: Any,
        X: Any,
        positive: NDArray[np.bool_],
        random: np.random.RandomState,
    ) -> Any:
        labelled, unlabelled = np.flatnonzero(positive), np.flatnonzero(~positive)
        weight = self.positive_weight_[unlabelled]
        rows = np.concatenate([labelled, unlabelled, unlabelled])
        label = np.repeat([True, True, False], [len(labelled), len(weight), len(weight)])
        weights = np.concatenate([np.ones(len(labelled)), weight, 1 - weight])
        return fit_fresh(estimator, _safe_indexing(X, rows), label, random, weights)

    def _log_phi(self, X: Any) -> Floats:
        p = self._probability(X)
        if self.variant == "weighted":
            return log_posterior(p, 1 - self.c_, self.scenario)
        return np.log(p) if self.scenario == "single-set" else np.log(p) - np.log1p(-p)


def hidden_weight(p: Floats, c: float) -> Floats:
    """``P(y=1|x, s=0) = (1-c)/c p/(1-p)``, at most 1, where ``p = P(s=1|x)``."""
    p = np.minimum(p, 1 - EDGE)
    return np.minimum((1 - c) / c * p / (1 - p), 1.0)
