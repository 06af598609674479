"""What a setting is in LightGBM's words."""

import numpy as np
import pytest
from scipy import sparse

from varpu.boosting.settings import TreeSetting


@pytest.mark.parametrize(
    ("n_columns", "share"), [(1, 1.0), (4, 1.0), (5, 0.8), (500, 0.8), (1000, 0.4), (8000, 0.05)]
)
def test_trees_see_all_of_few_columns_and_at_most_400_of_many(n_columns, share):
    params = TreeSetting().for_lightgbm(7, np.zeros((2, n_columns)))
    assert params["feature_fraction"] == pytest.approx(share)
    assert params["seed"] == 7


def test_of_a_sparse_table_trees_see_as_large_a_share_as_ever():
    params = TreeSetting().for_lightgbm(0, sparse.csr_array((2, 8000)))
    assert params["feature_fraction"] == 0.8


def test_a_setting_is_taken_over():
    setting = TreeSetting(learning_rate=0.1, num_leaves=3, min_child_samples=2, reg_lambda=4.0)
    params = setting.for_lightgbm(0, np.zeros((2, 10)))
    names = ("learning_rate", "num_leaves", "min_data_in_leaf", "lambda_l2")
    assert tuple(params[name] for name in names) == (0.1, 3, 2, 4.0)
