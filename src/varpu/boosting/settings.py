"""How trees are grown: one setting, and what it is in LightGBM's words."""

from typing import Any, NamedTuple


class TreeSetting(NamedTuple):
    """The knobs that matter; names and meanings are those of :class:`VPUBoostingClassifier`."""

    learning_rate: float = 0.05
    num_leaves: int = 31
    min_child_samples: int = 5
    reg_lambda: float = 1.0
    subsample: float = 0.8
    colsample_bytree: float = 0.8

    def for_lightgbm(self, seed: int) -> dict[str, Any]:
        """Parameters of a booster."""
        return {
            "learning_rate": self.learning_rate,
            "num_leaves": self.num_leaves,
            "min_data_in_leaf": self.min_child_samples,
            "lambda_l2": self.reg_lambda,
            "bagging_fraction": self.subsample,
            "bagging_freq": 1,
            "feature_fraction": self.colsample_bytree,
            "seed": seed,
            "deterministic": True,
            "force_row_wise": True,
            # Small tables: LightGBM would else drop columns with few distinct values.
            "feature_pre_filter": False,
            "min_data_in_bin": 1,
            "verbose": -1,
            "num_threads": 1,
        }
