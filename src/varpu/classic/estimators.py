"""The classifier inside a wrapper: checked, made afresh, given weights, and scored out of fold."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from varpu.crossfit import assign_folds
from varpu.exceptions import PUInputError

# Of the default estimator: its kernel's gamma times the number of columns, landmarks, penalty.
_WIDTH = 0.3
_LANDMARKS = 200
_INVERSE_PENALTY = 10.0

Floats = NDArray[np.float64]


def default_estimator(n_rows: int, n_columns: int) -> Pipeline:
    """Logistic regression on an RBF kernel of standardised columns.

    The wrappers take means of its probabilities, so these must be right before they are sharp. It
    is fitted by likelihood and smooth, so a handful of positives does not mislead it as it does
    trees, and it bends where a linear model cannot. For large tables with many positives and
    features that interact, a random forest with leaves of a few rows is worth a try.
    """
    kernel = Nystroem(gamma=_WIDTH / n_columns, n_components=max(1, min(_LANDMARKS, n_rows // 2)))
    return make_pipeline(
        StandardScaler(), kernel, LogisticRegression(C=_INVERSE_PENALTY, max_iter=1000)
    )


def check_estimator_for(method: str, estimator: Any, *, weighted: bool) -> None:
    """``estimator`` must be a classifier that gives probabilities and, if asked, takes weights."""
    is_instance = hasattr(estimator, "fit") and not isinstance(estimator, type)
    if not (is_instance and is_classifier(estimator)):
        raise PUInputError(
            f"estimator must be an instance of a scikit-learn classifier; got {estimator!r}"
        )
    if not hasattr(estimator, "predict_proba"):
        raise PUInputError(
            f"{method} takes means of probabilities, but {estimator!r} has no predict_proba:"
            " wrap it in sklearn.calibration.CalibratedClassifierCV"
        )
    if weighted and weight_parameter(estimator) is None:
        raise PUInputError(
            f"{method} weighs rows, but the fit of {estimator!r} takes no sample_weight:"
            " choose an estimator that does"
        )


def weight_parameter(estimator: Any) -> str | None:
    """The name by which ``fit`` takes weights; a pipeline takes them for its last step."""
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        name = weight_parameter(last)
        return None if name is None else f"{step}__{name}"
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        return weight_parameter(estimator.estimator)
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def fit_fresh(
    estimator: Any,
    X: Any,
    labels: NDArray[Any],
    random: np.random.RandomState,
    weight: Floats | None = None,
) -> Any:
    """A fitted copy of ``estimator``.

    Where it, or a part of it, has a ``random_state`` that is None, ``random`` gives it one; a
    number that the user has set stays.
    """
    model = clone(estimator)
    open_states = sorted(
        name
        for name, value in model.get_params(deep=True).items()
        if value is None and name.split("__")[-1] == "random_state"
    )
    model.set_params(**{name: int(random.randint(2**31 - 1)) for name in open_states})
    fit_params = {} if weight is None else {str(weight_parameter(model)): weight}
    return model.fit(X, labels.astype(np.int64), **fit_params)


def probability(model: Any, X: Any) -> Floats:
    """``P(1|x)`` by a model that was fitted to labels 0 and 1."""
    found = np.asarray(model.predict_proba(X), dtype=np.float64)[:, 1]
    if not np.isfinite(found).all():
        raise PUInputError(f"{model!r} gave probabilities that are no finite numbers")
    return np.clip(found, 0.0, 1.0)


def out_of_fold(
    estimator: Any,
    X: Any,
    positive: NDArray[np.bool_],
    n_folds: int,
    random: np.random.RandomState,
) -> tuple[Floats, NDArray[np.int64]]:
    """``P(s=1|x)`` of each row by a model that did not see it nor its copies; and its fold."""
    fold = assign_folds(X, positive, n_folds, random)
    found = np.empty(len(positive))
    for k in range(fold.max() + 1):
        train, held_out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        model = fit_fresh(estimator, _safe_indexing(X, train), positive[train], random)
        found[held_out] = probability(model, _safe_indexing(X, held_out))
    return found, fold
