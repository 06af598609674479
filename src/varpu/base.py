"""The contract every classifier keeps: labels, checks, scenario, probabilities and decision."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from varpu.calibration import Recalibration
from varpu.checks import positive_last
from varpu.display import FittedDisplay
from varpu.exceptions import PUInputError
from varpu.scale import log_mean_exp, read_prior
from varpu.tags import PUTags

SCENARIOS = ("single-set", "case-control")


class BasePUClassifier(FittedDisplay, ClassifierMixin, BaseEstimator):
    """A classifier learned from labelled positives and unlabelled rows.

    A subclass stores its parameters in ``__init__``, checks them in ``_check_params``, learns in
    ``_fit`` and scores in ``_log_phi``; ``_fit`` must set ``scale_``, ``prior_`` and
    ``log_mean_phi_``. Everything a user calls is here.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The two values of ``y``; the larger marks labelled positives.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where the table had names.
    scale_ : float
        ``P(y=1|x) = min(1, Phi(x) / scale_)``.
    log_mean_phi_ : float
        ``log E_U[Phi]`` over the marginal rows, which turns ``Phi`` into a density ratio.
    prior_ : float
        The estimated share of positives in the marginal.
    recalibration_ : Recalibration or None
        What was learned on the pool of out-of-fold scores, and is applied to every score.
    """

    pu_tags: ClassVar[PUTags]
    _accepts_images = False

    classes_: NDArray[Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    image_shape_: tuple[int, ...]
    scale_: float
    log_mean_phi_: float
    prior_: float
    prior_interval_: tuple[float, float]
    recalibration_: Recalibration | None = None

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from a table whose labels say "positive" or "not known".

        Parameters
        ----------
        X : array or frame of shape (n, d), or images of shape (n, C, H, W)
        y : array of shape (n,) with two values
            The larger value marks labelled positives, the other unlabelled rows.
        """
        self._check_params()
        table = self._check_rows(X, fitting=True)
        positive = self._check_y(y, table.shape[0])
        self._fit(table, positive)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probability of each class, shape (n, 2), in the order of ``classes_``."""
        positive = np.exp(np.minimum(self._log_phi_of(X) - np.log(self.scale_), 0.0))
        return np.column_stack([1.0 - positive, positive])

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """The log-ratio ``log f_P(x)/f(x)``, shifted so that zero is where ``predict`` changes.

        Unlike the probability it does not saturate, so it ranks the surest rows too.
        """
        # P(y=1|x) > 1/2 exactly if Phi > scale / 2.
        return self._log_phi_of(X) - np.log(self.scale_ / 2)

    def log_ratio(self, X: ArrayLike) -> NDArray[np.float64]:
        """``log f_P(x)/f(x)``: how much likelier a row is among positives than in the marginal.

        This is what the variational loss determines; it needs neither scale nor prior.
        """
        return self._log_phi_of(X) - self.log_mean_phi_

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likelier class of each row, shape (n,)."""
        decision = self.decision_function(X)
        return self.classes_[(decision > 0).astype(int)]

    def _check_params(self) -> None:
        """Raise :class:`PUInputError` for a parameter that makes no sense."""

    def _fit(self, X: NDArray[Any], positive: NDArray[np.bool_]) -> None:
        raise TypeError(f"{type(self).__name__} must define _fit")

    def _log_phi(self, X: NDArray[Any]) -> NDArray[np.float64]:
        raise TypeError(f"{type(self).__name__} must define _log_phi")

    def _storable_params(self) -> dict[str, Any]:
        """The parameters as :func:`varpu.save` keeps them."""
        params: dict[str, Any] = self.get_params(deep=False)
        if isinstance(params.get("prior"), BaseEstimator):
            params["prior"] = self.prior_  # what that estimator found
        return params

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Fitted state as JSON values and arrays, for :func:`varpu.save`; subclasses add theirs."""
        fields: dict[str, Any] = {
            "classes": self.classes_.tolist(),
            "classes_dtype": self.classes_.dtype.str.replace("|O", "object"),
            "n_features_in": self.n_features_in_,
            "scale": self.scale_,
            "log_mean_phi": self.log_mean_phi_,
            "prior": self.prior_,
            "image_shape": list(getattr(self, "image_shape_", ())),
            "feature_names": [str(name) for name in getattr(self, "feature_names_in_", ())],
        }
        if hasattr(self, "prior_interval_"):
            fields["prior_interval"] = list(self.prior_interval_)
        curve = self.recalibration_
        if curve is None:
            return fields, {}
        return fields, {
            "recalibration.scores": curve.scores,
            "recalibration.log_ratios": curve.log_ratios,
        }

    def _from_state(self, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Take over what :meth:`_to_state` gave."""
        self.classes_ = np.array(fields["classes"], dtype=fields["classes_dtype"])
        self.n_features_in_ = fields["n_features_in"]
        self.scale_ = fields["scale"]
        self.log_mean_phi_ = fields["log_mean_phi"]
        self.prior_ = fields["prior"]
        if "prior_interval" in fields:
            low, high = fields["prior_interval"]
            self.prior_interval_ = (low, high)
        self.recalibration_ = None
        if "recalibration.scores" in arrays:
            self.recalibration_ = Recalibration(
                arrays["recalibration.scores"], arrays["recalibration.log_ratios"]
            )
        if fields["image_shape"]:
            self.image_shape_ = tuple(fields["image_shape"])
        if fields["feature_names"]:
            self.feature_names_in_ = np.array(fields["feature_names"], dtype=object)

    def _settle_prior(
        self,
        prior: float | None,
        log_ratio: NDArray[np.float64],
        weight_p: NDArray[np.float64],
        weight_u: NDArray[np.float64],
    ) -> None:
        """Set ``prior_`` and ``prior_interval_``: what the user knows, or what the pool shows."""
        if prior is not None:
            self.prior_ = float(prior)
            self.prior_interval_ = (self.prior_, self.prior_)
            return
        p, u = weight_p > 0, weight_u > 0
        reading = read_prior(log_ratio[p], log_ratio[u], weight_p[p], weight_u[u])
        self.prior_, self.prior_interval_ = reading.prior, reading.interval

    def _take_probabilities(
        self, log_phi_u: NDArray[np.float64], prior: float, scale: float = 1.0
    ) -> None:
        """For a method whose score is a probability: its marginal scores and its prior."""
        self.scale_, self.prior_ = scale, float(prior)
        self.log_mean_phi_ = log_mean_exp(log_phi_u)

    def _log_phi_of(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self._recalibrated(self._log_phi(self._check_rows(X, fitting=False)))

    def _recalibrated(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores if self.recalibration_ is None else self.recalibration_(scores)

    def _check_rows(self, X: Any, fitting: bool) -> NDArray[Any]:
        """A float table, or images as they came."""
        if getattr(X, "ndim", 2) == 4 and self._accepts_images:
            return self._check_images(X, fitting)
        if not fitting and hasattr(self, "image_shape_"):
            raise PUInputError(
                f"expected images of shape (n, {', '.join(map(str, self.image_shape_))}),"
                f" got shape {tuple(np.shape(X))}"
            )
        if fitting and hasattr(self, "image_shape_"):
            del self.image_shape_
        table: NDArray[Any] = validate_data(
            self, X, reset=fitting, dtype=[np.float64, np.float32], ensure_min_samples=1
        )
        return table

    def _check_images(self, X: Any, fitting: bool) -> NDArray[Any]:
        images = np.asarray(X)
        if images.dtype != np.uint8:
            images = images.astype(np.float32, copy=False)
            if not np.isfinite(images).all():
                raise PUInputError("Input X contains NaN or infinity; images must be finite")
        if 0 in images.shape:
            raise PUInputError(f"images must not be empty, got shape {images.shape}")
        if fitting:
            self.image_shape_ = tuple(images.shape[1:])
            self.n_features_in_ = int(np.prod(self.image_shape_))
        elif tuple(images.shape[1:]) != getattr(self, "image_shape_", None):
            wanted = getattr(self, "image_shape_", f"a table of {self.n_features_in_} columns")
            raise PUInputError(f"fitted on {wanted}, got images of shape {images.shape[1:]}")
        return images

    def _check_y(self, y: ArrayLike, n_rows: int) -> NDArray[np.bool_]:
        """Which rows are labelled positives; sets ``classes_``."""
        if y is None:
            raise PUInputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None"
            )
        labels = column_or_1d(y, warn=True)
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            what = "NaN" if np.isnan(labels).any() else "infinity"
            raise PUInputError(f"Input y contains {what}; labels must be two known values")
        check_classification_targets(labels)
        if len(labels) != n_rows:
            raise PUInputError(f"X has {n_rows} rows but y has {len(labels)}")
        classes = np.unique(labels)
        if len(classes) == 1:
            (only,) = classes.tolist()
            raise PUInputError(
                "y must have two classes, one for labelled positives and one for unlabelled rows;"
                f" got 1 class, {only!r}, so there is no positive or no unlabelled row"
            )
        if len(classes) > 2:
            raise PUInputError(
                "Only binary classification is supported. The type of the target is"
                f" {type_of_target(labels)}: y has {len(classes)} classes"
            )
        positive_last(classes)
        self.classes_ = classes
        positive: NDArray[np.bool_] = labels == classes[1]
        return positive

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def arrays_under(prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays whose names begin so, by the rest of their names."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
