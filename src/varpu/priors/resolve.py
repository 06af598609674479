"""One way for every method that needs a prior to get one."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from varpu.base import SCENARIOS
from varpu.checks import one_of, share
from varpu.exceptions import PUInputError
from varpu.priors.base import BasePriorEstimator, Interval
from varpu.priors.bbe import BBE

Prior = float | str | BasePriorEstimator


def check_prior(prior: Any) -> None:
    """``prior`` must be a share, ``"auto"`` or an estimator of one; for ``_check_params``."""
    if isinstance(prior, Real):
        share("prior", prior, one_allowed=True)
    elif not isinstance(prior, BasePriorEstimator) and not _is_auto(prior):
        raise PUInputError(
            "prior must be a number above 0 and at most 1, 'auto', or an estimator of varpu.priors"
            f" such as KM2(); got {prior!r}"
        )


def _is_auto(prior: Any) -> bool:
    return isinstance(prior, str) and prior == "auto"


def resolve_prior(
    prior: Any,
    X: ArrayLike,
    positive: NDArray[np.bool_],
    scenario: str,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[float, Interval]:
    """The prior as a number, and its interval.

    Parameters
    ----------
    prior : float, ``"auto"`` or prior estimator
        A number is taken as it is. An estimator is cloned, told the scenario, and fitted; if its
        ``random_state`` is None it gets the one given here. ``"auto"`` is :class:`BBE`.
    X : array or frame of shape (n, d), or images of shape (n, C, H, W)
    positive : bool array of shape (n,)
        Which rows are labelled.
    scenario : {"single-set", "case-control"}
    random_state : int, RandomState or None

    Returns
    -------
    prior : float
        Above 0 and at most 1.
    interval : pair of float
        90%; where the prior was given, that number twice.
    """
    check_prior(prior)
    one_of("scenario", scenario, SCENARIOS)
    if not isinstance(prior, str | BasePriorEstimator):
        return float(prior), (float(prior), float(prior))
    estimator = BBE() if isinstance(prior, str) else clone(prior)
    estimator.set_params(scenario=scenario)
    if estimator.random_state is None:
        estimator.set_params(random_state=random_state)
    labels = np.asarray(positive, dtype=bool)
    if not labels.any() or labels.all():
        raise PUInputError(
            f"a prior needs positives and unlabelled rows; {labels.sum()} of {len(labels)} rows are"
            " labelled"
        )
    estimator.fit(X, labels.astype(int))
    # No method can work with a prior of 0: one row is the least that a sample can show.
    return max(estimator.prior_, 1.0 / len(labels)), estimator.prior_interval_
