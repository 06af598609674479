"""When identical rows are copies, and when they are alike by chance."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from varpu.model_selection.rows import alike_by_chance, row_hashes


def by_chance(X, n_labelled):
    n = X.shape[0]
    return alike_by_chance(X, row_hashes(X), np.arange(n) < n_labelled)


@pytest.fixture
def random():
    return np.random.default_rng(0)


@pytest.mark.parametrize(("n_columns", "n_values"), [(1, 2), (1, 30), (2, 2), (3, 4), (6, 2)])
def test_few_kinds_of_rows_and_many_of_each_are_alike_by_chance(random, n_columns, n_values):
    X = random.integers(0, n_values, (300, n_columns))
    assert by_chance(X, 50)
    assert by_chance(pd.DataFrame(X).astype("category"), 50)
    assert by_chance(sparse.csr_array(X), 50) == (len(np.unique(X[50:], axis=0)) <= 50)


def test_rows_of_many_columns_are_hardly_ever_alike(random):
    assert not by_chance(random.integers(0, 2, (300, 12)), 50)


@pytest.mark.parametrize("times", [2, 3, 4])
def test_a_table_that_stands_there_several_times_is_copies(random, times):
    X = np.tile(random.normal(size=(100, 3)), (times, 1))
    assert not by_chance(random.permutation(X), 30)


def test_labelled_rows_copied_on_purpose_are_copies(random):
    X = random.integers(0, 2, (300, 12))
    assert not by_chance(np.vstack([np.repeat(X[:20], 50, axis=0), X]), 1000)  # to weigh more
    assert not by_chance(np.vstack([X[:100], X]), 100)  # into the unlabelled sample


def test_one_kind_of_unlabelled_rows_leaves_nothing_to_tell():
    assert not by_chance(np.ones((40, 2)), 10)
