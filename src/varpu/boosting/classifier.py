"""The variational loss on boosted trees."""

from typing import Any, Self

import lightgbm
import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from varpu.base import SCENARIOS, BasePUClassifier
from varpu.boosting.crossfit import (
    GrownTrees,
    booster_from_bytes,
    booster_to_bytes,
    grow,
)
from varpu.boosting.rows import WeightedRows, rows_to_fit
from varpu.boosting.settings import TreeSetting
from varpu.calibration import recalibration
from varpu.checks import one_of, real, share, whole
from varpu.exceptions import PUInputError
from varpu.model_selection.rows import deal
from varpu.tables import check_table
from varpu.tags import PUTags

Floats = NDArray[np.float64]


class VPUBoostingClassifier(BasePUClassifier):
    """Variational PU learning on LightGBM: no prior, no negatives, no scaling of columns.

    Grows one booster a fold on ``L_var = log E_U[Phi] - E_P[log Phi]``, stops them all at the round
    with the least ``L_var`` over the pool of out-of-fold scores, recalibrates on that pool, reads
    the prior off it and predicts with the mean of the boosters' log-ratios. Missing values and, in
    a pandas frame, categorical columns are LightGBM's own.

    Parameters
    ----------
    learning_rate : float, default=0.05
    num_leaves : int, default=31
    min_child_samples : int, default=5
        The fewest rows in a leaf, copies of a row counted once.
    reg_lambda : float, default=1.0
        L2 penalty on leaf values.
    subsample, colsample_bytree : float, default=0.8
        Share of rows, and of columns, that each tree sees; but all of up to four columns, and at
        most 400 of a dense table.
    max_rounds : int, default=1000
    early_stopping_rounds : int, default=20
        Stop after that many rounds without a better pooled loss.
    n_folds : int, default=5
        Fewer are made where there are not that many distinct labelled rows.
    prior : float or None, default=None
        The share of positives in the marginal, if known.
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether labelled rows were drawn from the sample itself, so that all rows are the marginal
        sample, or separately, so that only the unlabelled rows are.
    n_jobs : int or None, default=None
        Folds grown side by side; None: one a core.
    random_state : int, RandomState or None, default=None
        Decides folds and sampling.

    Attributes
    ----------
    boosters_ : list of lightgbm.Booster
        One a fold; ``predict`` takes the mean of their log-ratios after ``best_round_`` trees.
    booster_ : lightgbm.Booster
        One booster of ``best_round_`` trees on all rows: a single model to inspect or to explain,
        which ``predict`` does not use.
    best_round_ : int
    held_out_loss_ : float
        Pooled out-of-fold ``L_var``.
    out_of_fold_log_ratio_ : array of shape (n,)
        ``log f_P/f`` of each training row by the booster that did not see it; NaN where the
        weight was 0.
    prior_interval_ : pair of float
        A 90% bootstrap interval of ``prior_``; both ends are ``prior`` where that was given.
    feature_importances_ : array of shape (n_features,)
        Share of the gain in the loss.
    history_ : DataFrame
        The pooled loss of each round.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from varpu import VPUBoostingClassifier
    >>> X, truth = load_breast_cancer(return_X_y=True)
    >>> labelled = (truth == 1) & (np.arange(len(truth)) % 3 == 0)
    >>> model = VPUBoostingClassifier(prior=0.63, random_state=0).fit(X, labelled)
    >>> bool((model.predict(X) == truth).mean() > 0.9)
    True
    """

    pu_tags = PUTags(
        method="VPU on boosted trees",
        reference="the loss of Chen et al., NeurIPS 2020",
        needs_prior=False,
        needs_separability=False,
        learner="trees",
        images=False,
        cost="one booster a fold",
    )

    boosters_: list[lightgbm.Booster]
    booster_: lightgbm.Booster
    best_round_: int
    held_out_loss_: float
    out_of_fold_log_ratio_: Floats
    prior_interval_: tuple[float, float]
    feature_importances_: Floats
    history_: pd.DataFrame

    def __init__(
        self,
        *,
        learning_rate: float = 0.05,
        num_leaves: int = 31,
        min_child_samples: int = 5,
        reg_lambda: float = 1.0,
        subsample: float = 0.8,
        colsample_bytree: float = 0.8,
        max_rounds: int = 1000,
        early_stopping_rounds: int = 20,
        n_folds: int = 5,
        prior: float | None = None,
        scenario: str = "single-set",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.min_child_samples = min_child_samples
        self.reg_lambda = reg_lambda
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.max_rounds = max_rounds
        self.early_stopping_rounds = early_stopping_rounds
        self.n_folds = n_folds
        self.prior = prior
        self.scenario = scenario
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table whose labels say "positive" or "not known".

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n, d)
            Missing values are NaN; pandas categories are taken as such.
        y : array of shape (n,) with two values
            The larger value marks labelled positives, the other unlabelled rows.
        sample_weight : array of shape (n,), optional
            How many rows each row stands for. Rows of weight 0 are left out.
        """
        _, rows, used = rows_to_fit(self, X, y, sample_weight)
        random = check_random_state(self.random_state)
        fold = self._folds(rows, random)
        setting = TreeSetting(*(getattr(self, name) for name in TreeSetting._fields))
        params = setting.for_lightgbm(int(random.randint(2**31 - 1)), rows.X)
        n_threads = effective_n_jobs(-1 if self.n_jobs is None else self.n_jobs)
        trees = grow(
            rows,
            fold,
            params,
            self.max_rounds,
            self.early_stopping_rounds,
            n_threads,
            on_all_rows=True,
        )
        self.out_of_fold_log_ratio_ = np.full(len(used), np.nan)
        self.out_of_fold_log_ratio_[used] = trees.log_ratio[rows.number]
        self._take_over(trees, rows)
        return self

    def _check_params(self) -> None:
        one_of("scenario", self.scenario, SCENARIOS)
        for name in ("learning_rate", "subsample", "colsample_bytree"):
            share(name, getattr(self, name), one_allowed=True)
        whole("num_leaves", self.num_leaves, 2)
        whole("n_folds", self.n_folds, 2)
        for name in ("min_child_samples", "max_rounds", "early_stopping_rounds"):
            whole(name, getattr(self, name), 1)
        real("reg_lambda", self.reg_lambda, 0)
        if self.prior is not None:
            share("prior", self.prior, one_allowed=True)

    def _check_rows(self, X: Any, fitting: bool) -> Any:
        return check_table(self, X, fitting)

    def _folds(self, rows: WeightedRows, random: np.random.RandomState) -> NDArray[np.int64]:
        """The fold of each distinct row."""
        positive = rows.weight_p > 0
        marginal = rows.weight_u > 0
        n_folds = min(self.n_folds, int(positive.sum()), int(marginal.sum()))
        if n_folds < 2:
            raise PUInputError(
                "cross-fitting needs at least 2 distinct labelled rows and 2 distinct rows of the"
                f" marginal sample; there are {positive.sum()} and {marginal.sum()}"
                " (1 sample, or one class, leaves nothing to hold out)"
            )
        return deal(positive, np.arange(len(positive)), np.ones((n_folds, 2)), random)

    def _take_over(self, trees: GrownTrees, rows: WeightedRows) -> None:
        assert trees.whole is not None
        self._trees, self.booster_ = trees, trees.whole
        self.boosters_ = trees.boosters
        self.best_round_ = trees.round
        self.held_out_loss_ = trees.loss
        self.history_ = pd.DataFrame({"held_out_loss": trees.history})
        gain = self.booster_.feature_importance("gain").astype(np.float64)
        self.feature_importances_ = gain / (gain.sum() or 1.0)
        self.recalibration_ = recalibration(trees.log_ratio, rows.weight_p, rows.weight_u)
        self._settle_prior(self.prior, trees.log_ratio, rows.weight_p, rows.weight_u)
        # Scores are density ratios already, so Phi = f_P/f and P(y=1|x) = prior * f_P/f.
        self.log_mean_phi_, self.scale_ = 0.0, 1.0 / self.prior_

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        fields, arrays = super()._to_state()
        fields |= {
            "best_round": self.best_round_,
            "held_out_loss": self.held_out_loss_,
            "n_boosters": len(self.boosters_),
        }
        arrays |= {
            "log_means": self._trees.log_means,
            "history": self.history_["held_out_loss"].to_numpy(),
            "out_of_fold_log_ratio": self.out_of_fold_log_ratio_,
            "feature_importances": self.feature_importances_,
            "booster": booster_to_bytes(self.booster_),
        }
        arrays |= {f"booster.{i}": booster_to_bytes(b) for i, b in enumerate(self.boosters_)}
        return fields, arrays

    def _from_state(self, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._from_state(fields, arrays)
        self.best_round_ = fields["best_round"]
        self.held_out_loss_ = fields["held_out_loss"]
        self.history_ = pd.DataFrame({"held_out_loss": arrays["history"]})
        self.out_of_fold_log_ratio_ = arrays["out_of_fold_log_ratio"]
        self.feature_importances_ = arrays["feature_importances"]
        self.booster_ = booster_from_bytes(arrays["booster"])
        self.boosters_ = [
            booster_from_bytes(arrays[f"booster.{i}"]) for i in range(fields["n_boosters"])
        ]
        self._trees = GrownTrees(
            self.boosters_,
            arrays["log_means"],
            self.best_round_,
            self.out_of_fold_log_ratio_,
            self.held_out_loss_,
            arrays["history"].tolist(),
            self.booster_,
        )

    def _log_phi(self, X: Any) -> Floats:
        return self._trees.predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
