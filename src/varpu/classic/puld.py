"""PULD: each unlabelled row carries both labels until the margin decides for one."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from varpu.base import SCENARIOS, BasePUClassifier, arrays_under
from varpu.checks import one_of, real, whole
from varpu.classic.disambiguation import disambiguate
from varpu.classic.features import from_arrays, learn_features
from varpu.classic.squared_hinge import Machine
from varpu.crossfit import marginal_rows
from varpu.priors import check_prior, resolve_prior
from varpu.tags import PUTags

KERNELS = ("rbf", "linear")

Floats = NDArray[np.float64]


class PULDClassifier(BasePUClassifier):
    """Label disambiguation (Zhang, Ren, Liu, Yang and Gong, IJCAI 2019): a *reconstruction*.

    It was rebuilt from the publication's abstract, which says: each unlabelled row is taken as
    positive and negative at once, and the margin between the likelier and the less likely label is
    enlarged until one remains, for a known prior. The objective, its optimisation and the defaults
    are ours, so its results stand for the idea and not for the authors' program.

    Here a large-margin machine ``f`` minimises
    ``1/2 |w|^2 + C_P mean_P h(f) + C_U mean_U h(y f)`` with the squared hinge ``h``, where the
    labels ``y`` of the unlabelled rows are free but for the number of positives, which the prior
    gives. ``f`` and ``y`` are found in turn; ``C_U`` begins small, as the first labels are guesses,
    and is doubled each time the labels stay, up to ``C_U = C n``. ``C_P = prior C n``, so that
    labelled rows weigh as their class does in the marginal; with more, the boundary would move.

    In the case-control scenario the share ``prior_`` of the unlabelled rows is positive. In the
    single-set scenario that share of all rows is, of which the labelled ones are known.

    Its probabilities are ``1 / (1 + exp(-f))``: in order and on the right side of 1/2, but *not
    calibrated*, as the labels that one could calibrate on are those that the machine gave.

    Parameters
    ----------
    prior : float, "auto" or prior estimator, default="auto"
        The share of positives in the marginal; "auto" estimates it first.
    kernel : {"rbf", "linear"}, default="rbf"
        Features of the machine: the standardised columns, or an RBF kernel on them, by
        Nystroem's method on landmarks that are drawn from the rows. None are learned.
    C : float, default=0.3
        Cost of a row on the wrong side of the margin: the smaller, the smoother.
    gamma : float or None, default=None
        Of the RBF kernel; None: 1 / number of columns.
    n_components : int, default=200
        Landmarks of the RBF kernel, at most one a row.
    stages : int, default=5
        Values of ``C_U``.
    max_iter : int, default=200
        The most machines to fit. If the labels still move then, a ConvergenceWarning says so.
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether labelled rows were drawn from the sample itself, so that all rows are the marginal
        sample, or separately, so that only the unlabelled rows are.
    random_state : int, RandomState or None, default=None
        Decides the landmarks and the prior's estimate.

    Attributes
    ----------
    labels_ : array of shape (n,)
        The label that each training row came out with, in values of ``classes_``.
    n_iter_ : int
        The number of machines fitted.
    prior_, prior_interval_ : float, pair of float
        The prior that was used, and its 90% interval where it was estimated; else it twice.
    scale_, classes_, n_features_in_, feature_names_in_
        As in every classifier here.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from varpu.classic import PULDClassifier
    >>> X, truth = load_breast_cancer(return_X_y=True)
    >>> labelled = (truth == 1) & (np.arange(len(truth)) % 3 == 0)
    >>> model = PULDClassifier(prior=0.63, random_state=0).fit(X, labelled)
    >>> bool((model.predict(X) == truth).mean() > 0.9)
    True
    """

    pu_tags = PUTags(
        method="PULD",
        reference="Zhang et al., IJCAI 2019",
        needs_prior=True,
        needs_separability=False,
        learner="a kernel machine",
        images=False,
        cost="ten to a hundred kernel machines, each from the last",
        reconstruction=True,
    )

    labels_: NDArray[Any]
    n_iter_: int
    prior_interval_: tuple[float, float]

    def __init__(
        self,
        *,
        prior: Any = "auto",
        kernel: str = "rbf",
        C: float = 0.3,
        gamma: float | None = None,
        n_components: int = 200,
        stages: int = 5,
        max_iter: int = 200,
        scenario: str = "single-set",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.prior = prior
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.n_components = n_components
        self.stages = stages
        self.max_iter = max_iter
        self.scenario = scenario
        self.random_state = random_state

    def _check_params(self) -> None:
        check_prior(self.prior)
        one_of("scenario", self.scenario, SCENARIOS)
        one_of("kernel", self.kernel, KERNELS)
        real("C", self.C, 0, open_low=True)
        if self.gamma is not None:
            real("gamma", self.gamma, 0, open_low=True)
        whole("n_components", self.n_components, 1)
        whole("stages", self.stages, 1)
        whole("max_iter", self.max_iter, 1)

    def _fit(self, X: NDArray[Any], positive: NDArray[np.bool_]) -> None:
        random = check_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        prior, self.prior_interval_ = resolve_prior(self.prior, X, positive, self.scenario, seed)
        self._features = learn_features(X, self.kernel, self.gamma, self.n_components, random)
        features = self._features(X)
        cost = self.C * len(positive)
        found = disambiguate(
            features,
            positive,
            hidden_positives(positive, prior, self.scenario),
            cost_p=prior * cost,
            costs_u=[cost / 2**k for k in reversed(range(self.stages))],
            max_iter=self.max_iter,
        )
        if not found.settled:
            warnings.warn(
                f"labels still moved after {found.n_fits} machines: raise max_iter",
                ConvergenceWarning,
                stacklevel=3,
            )
        self._machine, self.n_iter_ = found.machine, found.n_fits
        self.labels_ = self.classes_[found.labels.astype(int)]
        marginal = marginal_rows(positive, self.scenario)
        self._take_probabilities(log_expit(found.machine(features[marginal])), prior)

    def _log_phi(self, X: NDArray[Any]) -> Floats:
        return np.asarray(log_expit(self._machine(self._features(X))))

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        fields, arrays = super()._to_state()
        fields |= {
            "n_iter": self.n_iter_,
            "intercept": self._machine.intercept,
        }
        # As flags, so that labels of any kind can be stored.
        arrays |= {"coef": self._machine.coef, "labels": self.labels_ == self.classes_[1]}
        features = self._features.to_arrays()
        return fields, arrays | {f"features.{name}": value for name, value in features.items()}

    def _from_state(self, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._from_state(fields, arrays)
        self.n_iter_ = fields["n_iter"]
        self.labels_ = self.classes_[arrays["labels"].astype(int)]
        self._machine = Machine(arrays["coef"], fields["intercept"])
        self._features = from_arrays(arrays_under("features.", arrays))


def hidden_positives(positive: NDArray[np.bool_], prior: float, scenario: str) -> int:
    """How many unlabelled rows are positive; at least one is not."""
    n_labelled, n_unlabelled = int(positive.sum()), int((~positive).sum())
    if scenario == "single-set":
        wanted = round(prior * len(positive)) - n_labelled
    else:
        wanted = round(prior * n_unlabelled)
    return int(np.clip(wanted, 0, n_unlabelled - 1))
