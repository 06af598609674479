"""Invariants of the single split."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from varpu.exceptions import PUInputError
from varpu.model_selection import pu_train_test_split

X = np.random.default_rng(0).normal(size=(130, 2))
Y = np.repeat([1, 0], [27, 103])


@pytest.mark.parametrize("test_size", [0.01, 0.1, 0.25, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("seed", range(3))
def test_shares_are_kept_and_each_row_is_on_one_side(test_size, seed):
    X_train, X_test, y_train, y_test = pu_train_test_split(
        X, Y, test_size=test_size, random_state=seed
    )
    assert y_test.sum() == np.clip(round(test_size * 27), 1, 26)
    assert (1 - y_test).sum() == np.clip(round(test_size * 103), 1, 102)
    both = np.column_stack([np.vstack([X_train, X_test]), np.concatenate([y_train, y_test])])
    rows = np.column_stack([X, Y])
    assert np.array_equal(both[np.lexsort(both.T)], rows[np.lexsort(rows.T)])


def test_copies_stay_on_one_side():
    copied = X.copy()
    copied[27:60] = X[np.arange(33) % 10]  # unlabelled copies of ten labelled rows
    for seed in range(5):
        X_train, X_test, _, y_test = pu_train_test_split(copied, Y, random_state=seed)
        assert not {*map(tuple, X_train)} & {*map(tuple, X_test)}
        assert y_test.sum() == 7
        assert (1 - y_test).sum() == pytest.approx(26, abs=1)


def test_containers_come_back_as_they_were():
    expected = pu_train_test_split(X, Y, random_state=0)
    frame = pd.DataFrame(X, columns=["a", "b"], index=np.arange(130) + 7)
    y = pd.Series(Y, index=frame.index)
    for table, labels in ((frame, y), (pl.DataFrame(X), pl.Series(Y)), (sparse.csr_array(X), Y)):
        X_train, X_test, y_train, y_test = pu_train_test_split(table, labels, random_state=0)
        assert type(X_train) is type(X_test) is type(table)
        assert type(y_train) is type(y_test) is type(labels)
        dense = X_test.toarray() if sparse.issparse(X_test) else np.asarray(X_test)
        assert np.array_equal(dense, expected[1])
        assert np.array_equal(y_test, expected[3])
    X_train = pu_train_test_split(frame, y, random_state=0)[0]
    assert X_train.index.is_monotonic_increasing


def test_the_seed_decides_and_the_global_state_is_left_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = (pu_train_test_split(X, Y, random_state=seed)[1] for seed in (1, 1, 2))
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("rows", "labels", "test_size", "message"),
    [
        (X, Y, 0.0, "test_size must be a finite number above 0 and below 1; got 0.0"),
        (X, Y, 1.0, "test_size"),
        (X, Y, 20, "test_size"),
        (X, Y[:-1], 0.25, "X has 130 rows but y has 129"),
        (X, np.zeros(130), 0.25, "two values"),
        (X, np.arange(130) == 3, 0.25, "at least 2 labelled positives.*there are 1"),
        (np.ones((130, 2)), Y, 0.25, "there are 1, in 27 rows"),
    ],
)
def test_bad_input(rows, labels, test_size, message):
    with pytest.raises(PUInputError, match=message):
        pu_train_test_split(rows, labels, test_size=test_size, random_state=0)
