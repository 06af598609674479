"""Best bin estimation (Garg et al., 2021) on out-of-fold scores."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from varpu.checks import one_of
from varpu.priors.base import Interval, Sample
from varpu.priors.scored import ScoredPriorEstimator
from varpu.scale import estimate_prior, prior_interval, read_prior

Floats = NDArray[np.float64]


class BBE(ScoredPriorEstimator):
    """The prior by best bin estimation: the purest top of the ranking tells it.

    Over thresholds ``t`` on a score, ``q_U(t) / q_P(t)``, the share of the marginal above ``t``
    over that of positives, is at least the prior, and equals it where only positives score above
    ``t``. The least ratio, weighed against its sampling error, is the estimate.

    It needs some region that holds positives only; where there is none it reads too high, and so
    it does where the score ranks badly. Under selection bias it reads too low. It costs the
    cross-fit of the scorer, and nothing beside.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Scores rows by ``predict_proba``, fitted to tell labelled from unlabelled ones. None:
        boosted trees and models of distances on the variational loss, blended by their pooled loss,
        which take missing values, categories and sparse matrices too. Images are projected on 50
        principal components.
    lean_on_bound : bool, default=True
        Draw the estimate towards the upper bound ``1 / E_P[f_P/f]`` where it is uncertain and
        nearly all rows seem positive, and take the bound where ranks tell nothing
        (:func:`varpu.scale.read_prior`). False: best bin estimation as published, which sees ranks
        only.
    n_folds : int, default=5
        Identical rows share a fold. Fewer are made where there are not that many distinct labelled
        rows.
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether all rows are the marginal sample, or the unlabelled rows alone.
    random_state : int, RandomState or None, default=None
        Decides folds and scorers.

    Attributes
    ----------
    prior_ : float
    prior_interval_ : pair of float
        90% by the bootstrap of the scores; the scorer is not fitted again.
    out_of_fold_log_ratio_ : array of shape (n,)
        ``log f_P/f`` of each row by the model that did not see it.

    References
    ----------
    Garg, Wu, Smola, Balakrishnan and Lipton, "Mixture Proportion Estimation and PU Learning: A
    Modern Approach", NeurIPS 2021; bound and constants are those of the authors' program.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from varpu.priors import BBE
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(2000) < 0.4
    >>> X = rng.normal(size=(2000, 2)) + np.where(positive, 4, 0)[:, None]
    >>> y = positive & (rng.random(2000) < 0.5)
    >>> found = BBE(estimator=LogisticRegression(), random_state=0).fit(X, y)
    >>> bool(abs(found.prior_ - 0.4) < 0.05)
    True
    """

    def __init__(
        self,
        *,
        estimator: Any = None,
        lean_on_bound: bool = True,
        n_folds: int = 5,
        scenario: str = "single-set",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.lean_on_bound = lean_on_bound
        self.n_folds = n_folds
        self.scenario = scenario
        self.random_state = random_state

    def _check_params(self) -> None:
        super()._check_params()
        one_of("lean_on_bound", self.lean_on_bound, (True, False))

    def _read(
        self,
        scores_p: Floats,
        scores_u: Floats,
        sample: Sample,
        random: np.random.RandomState,
    ) -> tuple[float, Interval]:
        if self.lean_on_bound:
            ones_p, ones_u = np.ones(len(scores_p)), np.ones(len(scores_u))
            reading = read_prior(scores_p, scores_u, ones_p, ones_u)
            return reading.prior, reading.interval
        seed = int(random.randint(2**31 - 1))
        return estimate_prior(scores_p, scores_u), prior_interval(scores_p, scores_u, seed=seed)
