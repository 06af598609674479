"""How good a classifier is, told from labelled positives and unlabelled rows alone.

Each function takes PU labels first: two values, the larger marks labelled positives. ``P`` below is
the labelled rows; ``M`` is the sample of the marginal: all rows in the ``"single-set"`` scenario,
where labelled rows were drawn from the same sample, and the unlabelled rows alone in
``"case-control"``. Labelled positives are taken to be a random sample of all positives.

Scorers have scikit-learn's signature ``(estimator, X, y)`` and work for any classifier.
"""

from varpu.metrics.calibration import pu_calibration_error
from varpu.metrics.decision import lee_liu_score, pu_accuracy
from varpu.metrics.ranking import pu_average_precision, pu_roc_auc
from varpu.metrics.scorers import (
    lee_liu_scorer,
    make_lee_liu_scorer,
    make_neg_variational_scorer,
    make_pu_accuracy_scorer,
    make_pu_average_precision_scorer,
    make_pu_calibration_scorer,
    make_pu_roc_auc_scorer,
    neg_variational_scorer,
    pu_roc_auc_scorer,
)
from varpu.metrics.variational import variational_loss

__all__ = [
    "variational_loss",
    "pu_accuracy",
    "lee_liu_score",
    "pu_roc_auc",
    "pu_average_precision",
    "pu_calibration_error",
    "neg_variational_scorer",
    "lee_liu_scorer",
    "pu_roc_auc_scorer",
    "make_neg_variational_scorer",
    "make_lee_liu_scorer",
    "make_pu_roc_auc_scorer",
    "make_pu_accuracy_scorer",
    "make_pu_average_precision_scorer",
    "make_pu_calibration_scorer",
]
