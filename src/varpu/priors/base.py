"""What every prior estimator shares: labels, rows, scenario, and what a fit leaves behind."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils.validation import validate_data

from varpu.base import SCENARIOS
from varpu.checks import one_of
from varpu.crossfit import marginal_rows
from varpu.exceptions import PUInputError
from varpu.metrics.checks import check_labels

Interval = tuple[float, float]


@dataclass(frozen=True)
class Sample:
    """What a prior is estimated from.

    Attributes
    ----------
    rows : array, frame or sparse matrix of shape (n, d)
        Images come flattened, bytes as numbers in [0, 1].
    positive, marginal : bool arrays of shape (n,)
        Labelled positives, and the rows that are a sample of the marginal.
    scenario : {"single-set", "case-control"}
    is_image : bool
    """

    rows: Any
    positive: NDArray[np.bool_]
    marginal: NDArray[np.bool_]
    scenario: str
    is_image: bool

    @property
    def n_positive(self) -> int:
        """The number of labelled positives."""
        return int(self.positive.sum())

    @property
    def n_marginal(self) -> int:
        """The number of rows of the marginal sample."""
        return int(self.marginal.sum())


class BasePriorEstimator(BaseEstimator):
    """An estimator of the share of positives in the marginal.

    A subclass stores its parameters in ``__init__``, checks them in ``_check_params`` and computes
    in ``_estimate``. It has the parameters ``scenario`` and ``random_state``.

    Attributes
    ----------
    prior_ : float
        The share of positives in the marginal sample, in [0, 1].
    prior_interval_ : pair of float
        A 90% bootstrap interval. It shows the sampling error, not the error of an assumption that
        does not hold.
    classes_ : array of shape (2,)
        The two values of ``y``; the larger marks labelled positives.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where the table had names.
    """

    scenario: str
    random_state: int | np.random.RandomState | None

    prior_: float
    prior_interval_: Interval
    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Estimate the prior.

        Parameters
        ----------
        X : array or frame of shape (n, d), or images of shape (n, C, H, W)
        y : array of shape (n,) with two values
            The larger value marks labelled positives, the other unlabelled rows.
        """
        one_of("scenario", self.scenario, SCENARIOS)
        self._check_params()
        is_image = getattr(X, "ndim", 2) == 4
        rows = self._check_images(X) if is_image else self._check_table(X)
        positive = self._check_y(y, rows.shape[0])
        marginal = marginal_rows(positive, self.scenario)
        sample = Sample(rows, positive, marginal, self.scenario, is_image)
        prior, (low, high) = self._estimate(sample, check_random_state(self.random_state))
        self.prior_ = _to_share(prior)
        self.prior_interval_ = (
            min(_to_share(low), self.prior_),
            max(_to_share(high), self.prior_),
        )
        return self

    def _check_params(self) -> None:
        """Raise :class:`PUInputError` for a parameter that makes no sense."""

    def _estimate(self, sample: Sample, random: np.random.RandomState) -> tuple[float, Interval]:
        raise TypeError(f"{type(self).__name__} must define _estimate")

    def _check_table(self, X: Any) -> Any:
        return validate_data(self, X, dtype=[np.float64, np.float32])

    def _check_images(self, X: Any) -> NDArray[np.float32]:
        """Images as a table of pixels."""
        images = np.asarray(X)
        if 0 in images.shape:
            raise PUInputError(f"images must not be empty, got shape {images.shape}")
        scale = 255.0 if images.dtype == np.uint8 else 1.0
        pixels = images.reshape(len(images), -1).astype(np.float32) / np.float32(scale)
        if not np.isfinite(pixels).all():
            raise PUInputError("Input X contains NaN or infinity; images must be finite")
        self.n_features_in_ = pixels.shape[1]
        return pixels

    def _check_y(self, y: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
        if y is None:
            raise PUInputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        if n_rows == 1:
            raise PUInputError("a prior needs positives and unlabelled rows; got 1 sample")
        self.classes_, positive = check_labels(y)
        if len(positive) != n_rows:
            raise PUInputError(f"X has {n_rows} rows but y has {len(positive)}")
        return positive

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # No classifier, but its y has two values as that of a binary one.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


def _to_share(value: float) -> float:
    return float(np.clip(value, 0.0, 1.0))
