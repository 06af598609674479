"""What the methods that wrap another classifier have in common."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from varpu.base import SCENARIOS, BasePUClassifier
from varpu.checks import one_of, whole
from varpu.classic.estimators import check_estimator_for, default_estimator, probability
from varpu.exceptions import PUInputError

Floats = NDArray[np.float64]

# Probabilities are kept this far from 0 and 1, so that their logarithms and odds are finite.
EDGE = 1e-12


class WrapperPUClassifier(BasePUClassifier):
    """A PU method around any classifier, which is fitted to "labelled" against "unlabelled".

    Tables go to the wrapped classifier as they came, images unflattened; whether it takes missing
    values, categories or sparse matrices is its own affair.

    Attributes
    ----------
    estimator_ : classifier
        The wrapped classifier, fitted.
    """

    _accepts_images = True

    estimator: Any
    cv: int
    scenario: str
    estimator_: Any

    def _check_params(self) -> None:
        one_of("scenario", self.scenario, SCENARIOS)
        whole("cv", self.cv, 2)
        if self.estimator is not None:
            check_estimator_for(type(self).__name__, self.estimator, weighted=self._weighs())

    def _check_rows(self, X: Any, fitting: bool) -> Any:
        if getattr(X, "ndim", 2) == 4:
            if self.estimator is None:
                raise PUInputError(
                    "the default estimator takes tables, got images of shape"
                    f" {tuple(np.shape(X))}: give estimator=, a classifier that takes images"
                )
            return self._check_images(X, fitting)
        if hasattr(self, "image_shape_"):
            if not fitting:
                raise PUInputError(
                    f"fitted on images of shape {self.image_shape_}, got shape {np.shape(X)}"
                )
            del self.image_shape_  # of an earlier fit
        check = self._check_frame if hasattr(X, "columns") else self._check_array
        return check(X, fitting)

    def _check_frame(self, X: Any, fitting: bool) -> Any:
        """A frame stays one: the wrapped classifier may want columns by name, or categories."""
        validate_data(self, X, reset=fitting, skip_check_array=True)
        if 0 in X.shape:
            raise PUInputError(f"Found array with 0 sample(s) or 0 feature(s), shape {X.shape}")
        return X

    def _check_array(self, X: Any, fitting: bool) -> Any:
        return validate_data(
            self,
            X,
            reset=fitting,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )

    def _weighs(self) -> bool:
        """Whether the wrapped classifier is given weights."""
        return True

    def _estimator_for(self, X: Any) -> Any:
        return default_estimator(*X.shape) if self.estimator is None else self.estimator

    def _probability(self, X: Any) -> Floats:
        """The fitted classifier's, away from 0 and 1."""
        return np.clip(probability(self.estimator_, X), EDGE, 1 - EDGE)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            wrapped = get_tags(self.estimator).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = wrapped.sparse, wrapped.allow_nan
        return tags


def log_posterior(p: Floats, hidden: float, scenario: str) -> Floats:
    """``log P(y=1|x)`` in the marginal, from the probability ``p`` in the pool of all rows.

    Single-set, the pool is the marginal. Case-control, the marginal is the unlabelled rows alone:
    all negatives are among them, but of the positives only the share ``hidden``. So the odds
    of the pool times ``hidden`` are the odds of the marginal.
    """
    if scenario == "single-set":
        return np.log(p)
    odds = max(hidden, EDGE) * p / (1 - p)
    return np.log(odds) - np.log1p(odds)
