"""Rocchio-SVM: reliable negatives by centroids, then support vector machines until none is left."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from varpu.base import SCENARIOS, BasePUClassifier
from varpu.checks import one_of, real, whole
from varpu.classic.estimators import fit_fresh, probability
from varpu.classic.wrapper import EDGE
from varpu.crossfit import marginal_rows
from varpu.exceptions import PUInputError
from varpu.tags import PUTags

# Share of the labelled rows that the last machine may call negative before the first is taken.
_MOST_LOST = 0.05
# Share of the unlabelled rows to begin with where the centroids name no negative at all.
_FALLBACK = 0.05

Floats = NDArray[np.float64]


class RocchioSVMClassifier(BasePUClassifier):
    """Rocchio-SVM (Li and Liu, IJCAI 2003): a method for texts, in two steps.

    Rows, word counts or TF-IDF, are scaled to length 1. The centroids are
    ``alpha mean_P - beta mean_U`` for positives and ``alpha mean_U - beta mean_P`` for negatives;
    an unlabelled row whose cosine with the latter is at least that with the former is a reliable
    negative. A linear SVM is fitted to labelled rows against these; what it calls negative among
    the other unlabelled rows joins them, and so on until nothing joins. If the last SVM calls more
    than 5% of the labelled rows negative, it has gone astray, and the first is used.

    Where the centroids name no row at all, the 5% of the unlabelled rows that lean most to the
    negative one are taken; the publication leaves this case open. Its optional clustering of the
    reliable negatives is left out. Columns of a table in different units should be standardised
    first, as lengths and cosines mean nothing otherwise.

    It needs no prior, and is consistent only if the classes do not overlap: it looks for a gap
    between them. Its probabilities are ``1 / (1 + exp(-f))`` for the SVM's ``f``: in order and on
    the right side of 1/2, but *not calibrated*. There are no known negatives to calibrate on, and
    the rows that the SVM itself has named would only say what it said.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Another classifier in place of the linear SVM: one with ``decision_function`` or
        ``predict_proba``, of which the log-odds are taken.
    C : float, default=1.0
        Of the SVM: the smaller, the smoother.
    alpha, beta : float, default=16 and 4
        How much a centroid is drawn to its own rows, and pushed from the others.
    max_iter : int, default=100
        The most SVMs to fit.
    scenario : {"single-set", "case-control"}, default="single-set"
        Which rows ``prior_`` is about: all of them, or the unlabelled ones alone.
    random_state : int, RandomState or None, default=None
        Decides the order in which the SVM's solver takes the rows, where it needs one.

    Attributes
    ----------
    centroids_ : array of shape (2, d)
        Of negatives and of positives.
    reliable_negatives_ : bool array of shape (n,)
        What the centroids named, before the first SVM.
    negatives_ : bool array of shape (n,)
        What the SVM in use was fitted to as negatives.
    n_iter_ : int
        The number of SVMs fitted.
    fell_back_ : bool
        Whether the first was used as the last had lost too many labelled rows.
    estimator_ : classifier
        The one in use, for rows of length 1.
    prior_ : float
        The share of the marginal rows that are labelled or called positive.
    scale_, classes_, n_features_in_, feature_names_in_
        As in every classifier here.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from varpu.classic import RocchioSVMClassifier
    >>> texts = ["goal match team", "team wins match", "match goal wins", "goal team wins"]
    >>> texts += ["vote party law", "party loses vote", "law of the vote", "party law"]
    >>> X = CountVectorizer().fit_transform(texts)
    >>> RocchioSVMClassifier().fit(X, [1, 1, 0, 0, 0, 0, 0, 0]).predict(X)
    array([1, 1, 1, 1, 0, 0, 0, 0])
    """

    pu_tags = PUTags(
        method="Rocchio-SVM",
        reference="Li and Liu, IJCAI 2003",
        needs_prior=False,
        needs_separability=True,
        learner="a linear SVM, or any classifier",
        images=False,
        cost="one linear SVM a round, a few rounds",
        reconstruction=True,
    )

    centroids_: Floats
    reliable_negatives_: NDArray[np.bool_]
    negatives_: NDArray[np.bool_]
    n_iter_: int
    fell_back_: bool
    estimator_: Any

    def __init__(
        self,
        *,
        estimator: Any = None,
        C: float = 1.0,
        alpha: float = 16.0,
        beta: float = 4.0,
        max_iter: int = 100,
        scenario: str = "single-set",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.C = C
        self.alpha = alpha
        self.beta = beta
        self.max_iter = max_iter
        self.scenario = scenario
        self.random_state = random_state

    def _check_params(self) -> None:
        one_of("scenario", self.scenario, SCENARIOS)
        real("C", self.C, 0, open_low=True)
        real("alpha", self.alpha, 0, open_low=True)
        real("beta", self.beta, 0)
        whole("max_iter", self.max_iter, 1)
        if self.estimator is not None and not (
            hasattr(self.estimator, "decision_function") or hasattr(self.estimator, "predict_proba")
        ):
            raise PUInputError(
                "estimator must be a classifier with decision_function or predict_proba;"
                f" got {self.estimator!r}"
            )

    def _check_rows(self, X: Any, fitting: bool) -> Any:
        return validate_data(
            self, X, reset=fitting, accept_sparse="csr", dtype=[np.float64, np.float32]
        )

    def _fit(self, X: Any, positive: NDArray[np.bool_]) -> None:
        rows = normalize(X)
        self.centroids_ = rocchio_centroids(rows, positive, self.alpha, self.beta)
        self.reliable_negatives_ = reliable_negatives(rows, positive, self.centroids_)
        self._separate(rows, positive, check_random_state(self.random_state))
        self._settle(rows, positive)

    def _separate(
        self, rows: Any, positive: NDArray[np.bool_], random: np.random.RandomState
    ) -> None:
        """Fit machines while negatives are found, and choose the last or the first."""
        wanted = self.estimator
        if wanted is None:
            wanted = LinearSVC(C=self.C, dual="auto", max_iter=10_000)
        negative = self.reliable_negatives_
        machines: list[tuple[Any, NDArray[np.bool_]]] = []
        while len(machines) < self.max_iter:
            used = np.flatnonzero(positive | negative)
            machine = fit_fresh(wanted, rows[used], positive[used], random)
            called_positive = decision(machine, rows) > 0
            machines.append((machine, negative))
            found = ~positive & ~negative & ~called_positive
            if not found.any():
                break
            negative = negative | found
        self.n_iter_ = len(machines)
        self.fell_back_ = bool(np.mean(~called_positive[positive]) > _MOST_LOST)
        self.estimator_, self.negatives_ = machines[0 if self.fell_back_ else -1]

    def _settle(self, rows: Any, positive: NDArray[np.bool_]) -> None:
        marginal = marginal_rows(positive, self.scenario)
        values = decision(self.estimator_, rows)[marginal]
        called = (values > 0) | positive[marginal]
        self._take_probabilities(log_expit(values), prior=called.mean())

    def _log_phi(self, X: Any) -> Floats:
        return np.asarray(log_expit(decision(self.estimator_, normalize(X))))

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        if self.estimator is not None:
            raise PUInputError(
                "a model that wraps another estimator cannot be stored without pickle, which runs"
                f" whatever a file says; this one wraps {self.estimator!r}"
            )
        fields, arrays = super()._to_state()
        fields |= {name: getattr(self, f"{name}_") for name in _FIELDS}
        arrays |= {name: getattr(self, f"{name}_") for name in _ARRAYS}
        arrays |= {"coef": self.estimator_.coef_, "intercept": self.estimator_.intercept_}
        return fields, arrays

    def _from_state(self, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._from_state(fields, arrays)
        for names, values in ((_FIELDS, fields), (_ARRAYS, arrays)):
            for name in names:
                setattr(self, f"{name}_", values[name])
        self.estimator_ = LinearSVC(C=self.C, dual="auto", max_iter=10_000)
        self.estimator_.classes_ = np.array([0, 1])
        self.estimator_.coef_ = arrays["coef"]
        self.estimator_.intercept_ = arrays["intercept"]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


_FIELDS = ("n_iter", "fell_back")
_ARRAYS = ("centroids", "reliable_negatives", "negatives")


def decision(machine: Any, rows: Any) -> Floats:
    """The decision value of each row: positive where the machine says positive."""
    if hasattr(machine, "decision_function"):
        return np.asarray(machine.decision_function(rows), dtype=np.float64)
    p = np.clip(probability(machine, rows), EDGE, 1 - EDGE)
    return np.asarray(np.log(p) - np.log1p(-p))


def rocchio_centroids(rows: Any, positive: NDArray[np.bool_], alpha: float, beta: float) -> Floats:
    """Centroids of negatives and of positives, shape (2, d), from rows of length 1."""
    mean_p, mean_u = (
        np.asarray(rows[np.flatnonzero(which)].mean(axis=0), dtype=np.float64).ravel()
        for which in (positive, ~positive)
    )
    return np.array([alpha * mean_u - beta * mean_p, alpha * mean_p - beta * mean_u])


def reliable_negatives(
    rows: Any, positive: NDArray[np.bool_], centroids: Floats
) -> NDArray[np.bool_]:
    """The unlabelled rows that are at least as close to the first centroid as to the second."""
    # Rows have length 1, or 0 where there is no word in them: then both cosines are 0.
    leaning = np.asarray(rows @ (normalize(centroids) * [[1.0], [-1.0]]).sum(axis=0)).ravel()
    found = np.asarray(~positive & (leaning >= 0))
    if not found.any():
        unlabelled = np.flatnonzero(~positive)
        n = max(1, round(_FALLBACK * len(unlabelled)))
        found[unlabelled[np.argsort(-leaning[unlabelled], kind="stable")[:n]]] = True
    return found
