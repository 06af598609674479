"""Checks that every metric shares: what was wanted, what came."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from varpu.base import SCENARIOS
from varpu.checks import one_of, positive_last
from varpu.exceptions import PUInputError

Values = NDArray[np.float64]


def check_labels(y_pu: ArrayLike | None) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The two classes of PU labels, and which rows are labelled positives."""
    if y_pu is None:
        raise PUInputError("PU labels are needed to tell positives from unlabelled rows; got None")
    try:
        labels = column_or_1d(y_pu, warn=True)
        with np.errstate(invalid="ignore"):  # NaN is reported as such, not as a failed cast
            check_classification_targets(labels)
        classes = np.unique(labels)
    except (TypeError, ValueError) as error:
        raise PUInputError(f"PU labels must be one column with two values: {error}") from None
    if len(classes) != 2:
        raise PUInputError(
            "PU labels must have two values, the larger for labelled positives and the other for"
            f" unlabelled rows; got {len(classes)}: {classes[:5].tolist()}"
        )
    positive_last(classes)
    return classes, labels == classes[1]


def check_scores(
    scores: ArrayLike, name: str = "score", low: float = -np.inf, log: bool = False
) -> Values:
    """One finite number a row, none below ``low``; ``-inf`` is let through where ``log``."""
    try:
        values = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        raise PUInputError(f"{name} must be one number a row; got {type(scores)}") from None
    if values.ndim != 1:
        raise PUInputError(
            f"{name} must be one number a row; got shape {values.shape}"
            " (of predict_proba's two columns give the last)"
        )
    strange = ~np.isfinite(values) & ~(log & (values == -np.inf))
    if strange.any():
        raise PUInputError(f"{name} must be finite; {strange.sum()} of {len(values)} are not")
    if len(values) and values.min() < low:
        raise PUInputError(f"{name} must be at least {low}; the least is {values.min()}")
    return values


def check_predictions(y_pu: ArrayLike, y_pred: ArrayLike) -> Values:
    """One where the larger class is predicted, zero elsewhere."""
    classes, _ = check_labels(y_pu)
    predicted = np.asarray(y_pred)
    if predicted.ndim != 1:
        raise PUInputError(f"y_pred must be one class a row; got shape {predicted.shape}")
    strange = np.unique(predicted[~np.isin(predicted, classes)])
    if len(strange):
        raise PUInputError(
            f"y_pred must hold the classes of the labels, {classes.tolist()};"
            f" got {strange[:5].tolist()} as well"
        )
    return (predicted == classes[1]).astype(np.float64)


def positives_and_marginal(y_pu: ArrayLike, values: Values, scenario: str) -> tuple[Values, Values]:
    """The values of labelled positives (``P``) and of the sample of the marginal (``M``)."""
    one_of("scenario", scenario, SCENARIOS)
    _, positive = check_labels(y_pu)
    if len(positive) != len(values):
        raise PUInputError(f"there are {len(positive)} labels but {len(values)} scores")
    return values[positive], values if scenario == "single-set" else values[~positive]
