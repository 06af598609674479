"""Priors read off scores: every row is scored by a model that did not see it."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing

from varpu.checks import whole
from varpu.crossfit import fold_splits
from varpu.exceptions import PUInputError, ScaleWarning
from varpu.priors.base import BasePriorEstimator, Interval, Sample
from varpu.priors.coordinates import coordinates
from varpu.tables import check_table

_COMPONENTS = 50
# Probabilities of exactly 0 and 1 have no log-odds.
_SUREST = 1e-9

Floats = NDArray[np.float64]


class ScoredPriorEstimator(BasePriorEstimator):
    """A prior from out-of-fold log-ratios; a subclass reads it off in ``_read``.

    Attributes
    ----------
    out_of_fold_log_ratio_ : array of shape (n,)
        ``log f_P/f`` of each row by the model that did not see it.
    """

    estimator: Any
    n_folds: int

    out_of_fold_log_ratio_: Floats

    def _check_params(self) -> None:
        whole("n_folds", self.n_folds, 2)
        if self.estimator is not None:
            check_scorer(self.estimator)

    def _check_table(self, X: Any) -> Any:
        # The default scorer takes gaps and categories; what a given one takes it knows itself.
        return check_table(self, X, fitting=True)

    def _estimate(self, sample: Sample, random: np.random.RandomState) -> tuple[float, Interval]:
        scores = out_of_fold_log_ratio(sample, self.estimator, self.n_folds, random)
        self.out_of_fold_log_ratio_ = scores
        return self._read(scores[sample.positive], scores[sample.marginal], sample, random)

    def _read(
        self,
        scores_p: Floats,
        scores_u: Floats,
        sample: Sample,
        random: np.random.RandomState,
    ) -> tuple[float, Interval]:
        raise TypeError(f"{type(self).__name__} must define _read")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def check_scorer(estimator: Any) -> None:
    """A scorer is a classifier with ``predict_proba``, not yet fitted or to be fitted anew."""
    if (
        isinstance(estimator, type)
        or not isinstance(estimator, BaseEstimator)
        or not hasattr(estimator, "predict_proba")
    ):
        raise PUInputError(
            f"estimator must be a classifier with predict_proba, or None; got {estimator!r}"
        )


def out_of_fold_log_ratio(
    sample: Sample, estimator: Any, n_folds: int, random: np.random.RandomState
) -> Floats:
    """``log f_P/f`` of each row by a model that did not see it, nor a copy of it.

    Parameters
    ----------
    sample : Sample
    estimator : classifier or None
        None: boosted trees and models of distances on the variational loss, blended by their pooled
        loss. Any other is fitted to tell labelled from unlabelled rows.
    n_folds : int
    random : RandomState
    """
    rows = coordinates(sample.rows, False, _COMPONENTS) if sample.is_image else sample.rows
    if estimator is None:
        from varpu.auto import PUClassifier  # here, for it uses networks, which use priors

        model = PUClassifier(
            families=("trees", "kernels"),
            scenario=sample.scenario,
            n_folds=n_folds,
            random_state=random,
            progress=False,
        )
        with warnings.catch_warnings():
            # Its own prior is not asked for.
            warnings.simplefilter("ignore", ScaleWarning)
            return model.fit(rows, sample.positive).out_of_fold_log_ratio_
    scores = np.empty(len(sample.positive))
    labels = sample.positive.astype(int)
    for split in fold_splits(rows, sample.positive, n_folds, sample.scenario, random):
        held_out = np.union1d(split.held_out_p, split.held_out_u)
        trained = np.union1d(split.p, split.u)
        model = clone(estimator)
        for name in ("scenario", "random_state"):
            if name in model.get_params(deep=False):
                value = sample.scenario if name == "scenario" else random.randint(2**31 - 1)
                model.set_params(**{name: value})
        model.fit(_safe_indexing(rows, trained), labels[trained])
        unseen = _safe_indexing(rows, held_out)
        scores[held_out] = _log_ratio(model, unseen, labels[trained], sample)
    return scores


def _log_ratio(model: Any, rows: Any, labels: NDArray[np.int64], sample: Sample) -> Floats:
    if hasattr(model, "log_ratio"):  # one of varpu's own; its probabilities saturate
        return np.asarray(model.log_ratio(rows))
    labelled = np.clip(model.predict_proba(rows)[:, 1], _SUREST, 1 - _SUREST)
    n_p, n_rest = labels.sum(), len(labels) - labels.sum()
    if sample.scenario == "single-set":  # P(labelled|x) = P(labelled) f_P/f
        return np.log(labelled) - np.log(n_p / len(labels))
    # The odds of being labelled are n_P f_P / (n_U f).
    return np.log(labelled) - np.log1p(-labelled) - np.log(n_p / n_rest)
