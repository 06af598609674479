"""The metrics as scorers: ``(estimator, X, y) -> float``, more is better.

They go into ``scoring=`` of ``cross_val_score``, ``GridSearchCV`` and ``permutation_importance``,
for any classifier with ``predict_proba``. Estimators with a ``log_ratio`` method, which all of
varpu's have, are ranked and scored by it (also as the last step of a pipeline): unlike a
probability it is not capped at 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from varpu.base import SCENARIOS
from varpu.checks import one_of, share
from varpu.exceptions import PUInputError
from varpu.metrics.calibration import pu_calibration_error
from varpu.metrics.checks import Values
from varpu.metrics.decision import lee_liu_score, pu_accuracy
from varpu.metrics.ranking import pu_average_precision, pu_roc_auc
from varpu.metrics.variational import variational_loss

# Odds of probabilities nearer to 1 than this are held, so that one sure row does not rule the mean.
_NEAREST_TO_ONE = 1e-6


@dataclass(frozen=True)
class PUScorer:
    """A metric, what to ask of the estimator for it, and the sign that makes more better.

    A class of named functions and not a closure, so that it can be sent to other processes.
    """

    metric: Callable[[Any, Any], float]
    response: Callable[[Any, Any], NDArray[Any]]
    sign: int = 1

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Score a fitted estimator on rows and their PU labels."""
        return self.sign * self.metric(y, self.response(estimator, X))


def make_neg_variational_scorer(scenario: str = "single-set", *, odds: bool = False) -> PUScorer:
    """Scorer of ``-L_var``; see :func:`variational_loss`.

    Parameters
    ----------
    scenario : "single-set" or "case-control"
    odds : bool
        Score ``p / (1 - p)`` instead of ``p``: right for an ordinary classifier that learned
        labelled against unlabelled rows in the case-control scenario. Estimators with ``log_ratio``
        are not concerned.
    """
    one_of("scenario", scenario, SCENARIOS)
    metric = partial(variational_loss, log=True, scenario=scenario)
    return PUScorer(metric, partial(_log_phi, odds=odds), sign=-1)


def make_lee_liu_scorer(scenario: str = "single-set") -> PUScorer:
    """Scorer of :func:`lee_liu_score`, on what the estimator predicts."""
    one_of("scenario", scenario, SCENARIOS)
    return PUScorer(partial(lee_liu_score, scenario=scenario), _classes)


def make_pu_roc_auc_scorer(prior: float | None = None, scenario: str = "single-set") -> PUScorer:
    """Scorer of :func:`pu_roc_auc`: corrected if a prior is given, else against the marginal."""
    one_of("scenario", scenario, SCENARIOS)
    if prior is not None:
        share("prior", prior)
    return PUScorer(partial(pu_roc_auc, prior=prior, scenario=scenario), _ranks)


def make_pu_accuracy_scorer(prior: float, scenario: str = "single-set") -> PUScorer:
    """Scorer of :func:`pu_accuracy`, on what the estimator predicts."""
    return PUScorer(_with_prior(pu_accuracy, prior, scenario), _classes)


def make_pu_average_precision_scorer(prior: float, scenario: str = "single-set") -> PUScorer:
    """Scorer of :func:`pu_average_precision`."""
    return PUScorer(_with_prior(pu_average_precision, prior, scenario), _ranks)


def make_pu_calibration_scorer(
    prior: float, scenario: str = "single-set", *, n_bins: int = 10
) -> PUScorer:
    """Scorer of *minus* :func:`pu_calibration_error`, so that more is better."""
    metric = partial(_with_prior(pu_calibration_error, prior, scenario), n_bins=n_bins)
    return PUScorer(metric, _probabilities, sign=-1)


def _with_prior(metric: Callable[..., float], prior: float, scenario: str) -> Callable[..., float]:
    share("prior", prior, one_allowed=True)
    one_of("scenario", scenario, SCENARIOS)
    return partial(metric, prior=prior, scenario=scenario)


def _classes(estimator: Any, X: Any) -> NDArray[Any]:
    return np.asarray(estimator.predict(X))


def _probabilities(estimator: Any, X: Any) -> Values:
    """Probability of the larger class."""
    if not hasattr(estimator, "predict_proba"):
        raise PUInputError(
            f"{type(estimator).__name__} has no predict_proba, which this scorer needs"
        )
    proba: Values = np.asarray(estimator.predict_proba(X), dtype=np.float64)
    if proba.ndim != 2 or proba.shape[1] != 2:
        raise PUInputError(
            f"predict_proba must give two columns, got shape {proba.shape}: was"
            f" {type(estimator).__name__} fitted on labels of two classes?"
        )
    return proba[:, 1]


def _log_phi(estimator: Any, X: Any, odds: bool) -> Values:
    log_ratio = _log_ratio(estimator, X)
    if log_ratio is not None:
        return log_ratio
    proba = _probabilities(estimator, X)
    with np.errstate(divide="ignore"):  # a probability of 0 is the metric's to judge
        log_phi: Values = np.log(proba)
    return log_phi - np.log1p(-np.minimum(proba, 1 - _NEAREST_TO_ONE)) if odds else log_phi


def _ranks(estimator: Any, X: Any) -> Values:
    log_ratio = _log_ratio(estimator, X)
    if log_ratio is not None:
        return log_ratio
    if not hasattr(estimator, "predict_proba") and hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(X))
    return _probabilities(estimator, X)


def _log_ratio(estimator: Any, X: Any) -> Values | None:
    """What ``log_ratio`` says, where the estimator or the last step of its pipeline has one."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    if isinstance(estimator, Pipeline) and hasattr(estimator[-1], "log_ratio"):
        rows = estimator[:-1].transform(X) if len(estimator) > 1 else X
        return np.asarray(estimator[-1].log_ratio(rows))
    return np.asarray(estimator.log_ratio(X)) if hasattr(estimator, "log_ratio") else None


neg_variational_scorer = make_neg_variational_scorer()
lee_liu_scorer = make_lee_liu_scorer()
pu_roc_auc_scorer = make_pu_roc_auc_scorer()
