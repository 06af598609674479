"""How trees are grown: one setting, and what it is in LightGBM's words."""

from typing import Any, NamedTuple

import scipy.sparse

# Trees that see two of three columns each never see what these say together.
_FEW_COLUMNS = 4
# A tree that looks through thousands of columns costs as much more.
_MOST_COLUMNS = 400


class TreeSetting(NamedTuple):
    """The knobs that matter; names and meanings are those of :class:`VPUBoostingClassifier`."""

    learning_rate: float = 0.05
    num_leaves: int = 31
    min_child_samples: int = 5
    reg_lambda: float = 1.0
    subsample: float = 0.8
    colsample_bytree: float = 0.8

    def for_lightgbm(self, seed: int, X: Any) -> dict[str, Any]:
        """Parameters of a booster on a table (array, frame or sparse matrix)."""
        return {
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "min_data_in_leaf": self.min_child_samples,
            "lambda_l2": self.reg_lambda,
            "bagging_fraction": self.subsample,
            "bagging_freq": 1,
            "feature_fraction": self._share_of_columns(X),
            "seed": seed,
            "deterministic": True,
            "force_row_wise": True,
            # Small tables: LightGBM would else drop columns with few distinct values.
            "feature_pre_filter": False,
            "min_data_in_bin": 1,
            "verbose": -1,
            "num_threads": 1,
        }

    def _share_of_columns(self, X: Any) -> float:
        """How many of the columns a tree sees."""
        n_columns = X.shape[1]
        if n_columns <= _FEW_COLUMNS:
            return 1.0
        if scipy.sparse.issparse(X):  # most of its columns say nothing of most rows
            return self.colsample_bytree
        return min(self.colsample_bytree, _MOST_COLUMNS / n_columns)
