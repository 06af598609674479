"""The variational loss on XGBoost's trees."""

from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from varpu.base import SCENARIOS, BasePUClassifier
from varpu.boosting.rows import WeightedRows, rows_to_fit
from varpu.boosting.xgboost_growing import (
    GrownBooster,
    HeldOutLoss,
    Levels,
    as_matrix,
    feature_types,
    grow,
    import_xgboost,
    levels_of,
)
from varpu.calibration import recalibration
from varpu.checks import one_of, real, share, whole
from varpu.exceptions import PUInputError
from varpu.model_selection.rows import deal
from varpu.tables import check_table
from varpu.tags import PUTags

Floats = NDArray[np.float64]


class VPUXGBoostClassifier(BasePUClassifier):
    """Variational PU learning on XGBoost: one booster, with rows held out to stop it by.

    Grows trees on ``L_var = log E_U[Phi] - E_P[log Phi]`` until the loss of held-out rows does not
    fall any more; these rows also recalibrate its scores and show the prior. In memory
    :class:`varpu.VPUBoostingClassifier` uses each row better, as it cross-fits; this one has the
    form that grows with the table: :func:`varpu.scaleout.fit_trees_stream` makes it from a table
    larger than memory, on one machine or on many. Missing values and, in a pandas frame,
    categorical columns are XGBoost's own. It needs the extra ``xgboost``.

    Parameters
    ----------
    learning_rate : float, default=0.1
    num_leaves : int, default=15
    max_depth : int, default=0
        0: as deep as the leaves allow.
    min_child_weight : float, default=5.0
        The smallest sum of the rows' second derivatives in a leaf.
    reg_lambda : float, default=1.0
        L2 penalty on leaf values.
    max_delta_step : float, default=3.0
        The largest value of a leaf, before the learning rate: where ``Phi`` is small the stand-in
        for the second derivative is smaller still, and a full step would go too far.
    subsample, colsample_bytree : float, default=0.8
        Share of rows, and of columns, that each tree sees.
    max_bin : int, default=256
    max_rounds : int, default=500
    early_stopping_rounds : int, default=40
    held_out : float, default=0.2
        The share of the rows that is not trained on.
    prior : float or None, default=None
        The share of positives in the marginal, if known.
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether labelled rows were drawn from the sample itself, so that all rows are the marginal
        sample, or separately, so that only the unlabelled rows are.
    n_jobs : int or None, default=None
        Threads; None: one a core.
    random_state : int, RandomState or None, default=None
        Decides which rows are held out, and sampling.

    Attributes
    ----------
    booster_ : xgboost.Booster
        Of ``best_round_`` trees.
    best_round_ : int
    held_out_loss_ : float
        ``L_var`` of the held-out rows.
    out_of_fold_log_ratio_ : array of shape (n,)
        ``log f_P/f`` of the rows held out, NaN for those trained on; of a table that was read in
        pieces, the rows held out alone.
    prior_interval_ : pair of float
        A 90% bootstrap interval of ``prior_``; both ends are ``prior`` where that was given.
    feature_importances_ : array of shape (n_features,)
        Share of the gain in the loss.
    history_ : DataFrame
        The held-out loss of each round.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import roc_auc_score
    >>> from varpu import VPUXGBoostClassifier
    >>> X, truth = load_breast_cancer(return_X_y=True)
    >>> labelled = (truth == 1) & (np.arange(len(truth)) % 3 == 0)
    >>> model = VPUXGBoostClassifier(prior=0.63, random_state=0).fit(X, labelled)
    >>> bool(roc_auc_score(truth, model.decision_function(X)) > 0.95)
    True
    """

    pu_tags = PUTags(
        method="VPU on XGBoost",
        reference="the loss of Chen et al., NeurIPS 2020",
        needs_prior=False,
        needs_separability=False,
        learner="trees",
        images=False,
        cost="one booster",
    )

    booster_: Any
    best_round_: int
    held_out_loss_: float
    out_of_fold_log_ratio_: Floats
    prior_interval_: tuple[float, float]
    feature_importances_: Floats
    history_: pd.DataFrame

    def __init__(
        self,
        *,
        learning_rate: float = 0.1,
        num_leaves: int = 15,
        max_depth: int = 0,
        min_child_weight: float = 5.0,
        reg_lambda: float = 1.0,
        max_delta_step: float = 3.0,
        subsample: float = 0.8,
        colsample_bytree: float = 0.8,
        max_bin: int = 256,
        max_rounds: int = 500,
        early_stopping_rounds: int = 40,
        held_out: float = 0.2,
        prior: float | None = None,
        scenario: str = "single-set",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_weight = min_child_weight
        self.reg_lambda = reg_lambda
        self.max_delta_step = max_delta_step
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.max_bin = max_bin
        self.max_rounds = max_rounds
        self.early_stopping_rounds = early_stopping_rounds
        self.held_out = held_out
        self.prior = prior
        self.scenario = scenario
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from a table whose labels say "positive" or "not known".

        Parameters
        ----------
        X : array or frame of shape (n, d)
            Missing values are NaN; pandas categories are taken as such.
        y : array of shape (n,) with two values
            The larger value marks labelled positives, the other unlabelled rows.
        sample_weight : array of shape (n,), optional
            How many rows each row stands for. Rows of weight 0 are left out.
        """
        xgboost = import_xgboost()
        table, rows, used = rows_to_fit(self, X, y, sample_weight)
        random = check_random_state(self.random_state)
        is_out = self._held_out_rows(rows, random)
        params = self._booster_params(int(random.randint(2**31 - 1)))
        levels = levels_of(table)
        matrix = as_matrix(rows.X, levels)
        types = {
            "feature_types": feature_types(self.n_features_in_, levels),
            "enable_categorical": True,
        }
        data = xgboost.QuantileDMatrix(
            matrix[~is_out], max_bin=self.max_bin, nthread=params["nthread"], **types
        )
        other = xgboost.DMatrix(matrix[is_out], nthread=params["nthread"], **types)
        weights = rows.weight_p[is_out], rows.weight_u[is_out]
        grown = grow(
            params,
            data,
            rows.weight_p[~is_out],
            rows.weight_u[~is_out],
            HeldOutLoss(other, *weights, lambda sums: sums),
            self.max_rounds,
            self.early_stopping_rounds,
        )
        log_ratio = np.full(len(is_out), np.nan)
        log_ratio[is_out] = grown.predict(matrix[is_out])
        self.out_of_fold_log_ratio_ = np.full(len(used), np.nan)
        self.out_of_fold_log_ratio_[used] = log_ratio[rows.number]
        self._take_over(grown, levels, log_ratio[is_out], *weights)
        return self

    def _check_params(self) -> None:
        one_of("scenario", self.scenario, SCENARIOS)
        for name in ("learning_rate", "subsample", "colsample_bytree"):
            share(name, getattr(self, name), one_allowed=True)
        share("held_out", self.held_out)
        whole("num_leaves", self.num_leaves, 2)
        whole("max_depth", self.max_depth, 0)
        whole("max_bin", self.max_bin, 2)
        for name in ("max_rounds", "early_stopping_rounds"):
            whole(name, getattr(self, name), 1)
        for name in ("min_child_weight", "reg_lambda", "max_delta_step"):
            real(name, getattr(self, name), 0)
        if self.prior is not None:
            share("prior", self.prior, one_allowed=True)

    def _check_rows(self, X: Any, fitting: bool) -> Any:
        if scipy.sparse.issparse(X):
            raise PUInputError(
                "wanted a dense array or frame, got a sparse matrix: XGBoost would take its zeros"
                " for missing values"
            )
        return check_table(self, X, fitting)

    def _held_out_rows(
        self, rows: WeightedRows, random: np.random.RandomState
    ) -> NDArray[np.bool_]:
        """Which distinct rows are not trained on."""
        positive, marginal = rows.weight_p > 0, rows.weight_u > 0
        capacity = np.array([[1 - self.held_out] * 2, [self.held_out] * 2])
        if min(positive.sum(), marginal.sum()) >= 2:
            side = deal(positive, np.arange(len(positive)), capacity, random)
            # Of very few rows, a share may round to none or to all: one of them changes sides.
            for kind in (positive, ~positive if self.scenario == "case-control" else marginal):
                if len(set(side[kind])) == 1:
                    side[np.flatnonzero(kind)[0]] = 1 - side[kind][0]
            return np.asarray(side == 1)
        raise PUInputError(
            "holding rows out needs at least 2 distinct labelled rows and 2 distinct rows of the"
            f" marginal sample; there are {positive.sum()} and {marginal.sum()}"
            " (1 sample, or one class, leaves nothing to hold out)"
        )

    def _booster_params(self, seed: int) -> dict[str, Any]:
        return {
            "tree_method": "hist",
            "grow_policy": "lossguide",
            "learning_rate": self.learning_rate,
            "max_leaves": self.num_leaves,
            "max_depth": self.max_depth,
            "min_child_weight": self.min_child_weight,
            "reg_lambda": self.reg_lambda,
            "max_delta_step": self.max_delta_step,
            "subsample": self.subsample,
            "colsample_bytree": self.colsample_bytree,
            "max_bin": self.max_bin,
            "seed": seed,
            # 0 is one a core; a number below 0 means the same, as in scikit-learn.
            "nthread": 0 if self.n_jobs is None else max(self.n_jobs, 0),
            "verbosity": 0,
        }

    def _take_over(
        self,
        grown: GrownBooster,
        levels: Levels,
        log_ratio: Floats,
        weight_p: Floats,
        weight_u: Floats,
    ) -> None:
        """Take a booster, and what held-out rows show: their log-ratios by it, and weights."""
        self._grown, self._levels = grown, levels
        self.booster_ = grown.booster
        self.best_round_ = grown.booster.num_boosted_rounds()
        self.held_out_loss_ = grown.loss
        self.history_ = pd.DataFrame({"held_out_loss": grown.history})
        gain = np.zeros(self.n_features_in_)
        for name, value in grown.booster.get_score(importance_type="total_gain").items():
            gain[int(name.removeprefix("f"))] = value
        self.feature_importances_ = gain / (gain.sum() or 1.0)
        self.recalibration_ = recalibration(log_ratio, weight_p, weight_u)
        self._settle_prior(self.prior, log_ratio, weight_p, weight_u)
        # Scores are density ratios already, so Phi = f_P/f and P(y=1|x) = prior * f_P/f.
        self.log_mean_phi_, self.scale_ = 0.0, 1.0 / self.prior_

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        fields, arrays = super()._to_state()
        fields |= {
            "best_round": self.best_round_,
            "held_out_loss": self.held_out_loss_,
            "log_mean": self._grown.log_mean,
            "levels": self._levels,
        }
        arrays |= {
            "history": self.history_["held_out_loss"].to_numpy(),
            "out_of_fold_log_ratio": self.out_of_fold_log_ratio_,
            "feature_importances": self.feature_importances_,
            "booster": np.frombuffer(self.booster_.save_raw("ubj"), dtype=np.uint8),
        }
        return fields, arrays

    def _from_state(self, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._from_state(fields, arrays)
        self.best_round_ = fields["best_round"]
        self.held_out_loss_ = fields["held_out_loss"]
        self.out_of_fold_log_ratio_ = arrays["out_of_fold_log_ratio"]
        self.feature_importances_ = arrays["feature_importances"]
        self.history_ = pd.DataFrame({"held_out_loss": arrays["history"]})
        self.booster_ = import_xgboost().Booster(model_file=bytearray(arrays["booster"].tobytes()))
        self._levels = fields["levels"]
        self._grown = GrownBooster(
            self.booster_, fields["log_mean"], self.held_out_loss_, arrays["history"].tolist()
        )

    def _log_phi(self, X: Any) -> Floats:
        return self._grown.predict(as_matrix(X, self._levels))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
