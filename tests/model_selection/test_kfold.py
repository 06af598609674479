"""Invariants of the folds."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

from varpu.exceptions import PUInputError
from varpu.metrics import neg_variational_scorer
from varpu.model_selection import PUStratifiedKFold


def folds_of(splitter, X, y, groups=None):
    """The fold of each row; fails unless each row is tested once and trained on otherwise."""
    fold = np.full(len(y), -1)
    for number, (train, test) in enumerate(splitter.split(X, y, groups)):
        assert (fold[test] == -1).all()
        fold[test] = number
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(y)))
    assert (fold >= 0).all()
    return fold


def make(seed, n_p=23, n_u=114, copies=0):
    """Rows and labels; ``copies`` unlabelled rows are copies of labelled ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_p + n_u, 3))
    X[n_p : n_p + copies] = X[rng.integers(0, n_p, copies)]
    order = rng.permutation(len(X))
    return X[order], np.repeat([1, 0], [n_p, n_u])[order]


def spread(fold, which, n_splits):
    return np.ptp(np.bincount(fold[which], minlength=n_splits))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_splits", [2, 5, 7])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("copies", [0, 40])
def test_each_row_once_shares_kept_and_copies_together(seed, n_splits, shuffle, copies):
    X, y = make(seed, copies=copies)
    splitter = PUStratifiedKFold(n_splits, shuffle=shuffle, random_state=0 if shuffle else None)
    fold = folds_of(splitter, X, y)
    assert spread(fold, y == 1, n_splits) <= 1
    assert spread(fold, y == 0, n_splits) <= 1
    if not copies:
        assert spread(fold, y >= 0, n_splits) <= 1
    rows = pd.DataFrame(X).assign(fold=fold)
    assert (rows.groupby([0, 1, 2])["fold"].nunique() == 1).all()
    assert len(rows.drop_duplicates([0, 1, 2])) == len(X) - copies


def test_heavy_copies_stay_together_and_labelled_rows_even():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)).repeat(4, axis=0)
    y = (rng.random(600) < 0.2).astype(int)
    fold = folds_of(PUStratifiedKFold(3, random_state=0), X, y)
    assert (pd.DataFrame(X).assign(fold=fold).groupby([0, 1, 2])["fold"].nunique() == 1).all()
    assert spread(fold, y == 1, 3) <= 8
    assert spread(fold, y == 0, 3) <= 60


def test_same_folds_for_every_container():
    X, y = make(0, copies=30)
    X[np.abs(X) < 0.5] = 0.0
    splitter = PUStratifiedKFold(random_state=0)
    expected = folds_of(splitter, X, y)
    frame = pd.DataFrame(X, columns=list("abc"))
    for table in (X.tolist(), frame, pl.DataFrame(X), sparse.csr_matrix(X), sparse.csc_array(X)):
        assert np.array_equal(folds_of(splitter, table, y), expected)
    assert np.array_equal(folds_of(splitter, X.reshape(-1, 1, 3, 1), y), expected)
    for labels in (y.tolist(), pd.Series(y), pl.Series(y), np.array(["a", "b"])[y], y * 2 - 1):
        assert np.array_equal(folds_of(splitter, X, labels), expected)


def test_sparse_rows_are_equal_whatever_the_storage():
    # Rows 0 and 1 are (1, 2); row 0 stores its columns backwards, row 1 with a zero and a sum.
    data, indices = [2.0, 1.0, 0.5, 0.5, 2.0, 0.0, 3.0], [1, 0, 0, 0, 1, 2, 0]
    X = sparse.csr_array((data, indices, [0, 2, 6, 7, 7, 7]), shape=(5, 3))
    y = np.array([1, 0, 0, 1, 0])
    fold = folds_of(PUStratifiedKFold(2, random_state=0), X, y)
    assert fold[0] == fold[1]
    assert fold[3] == fold[4]  # two empty rows are equal too
    assert X.nnz == 7  # the caller's matrix is as it was


def test_rows_that_are_alike_by_chance_are_dealt_out_as_others_are():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (600, 3))  # 27 kinds of rows
    y = (rng.random(600) < 0.2).astype(int)
    fold = folds_of(PUStratifiedKFold(3, random_state=0), X, y)
    assert (pd.DataFrame(X).assign(fold=fold).groupby([0, 1, 2])["fold"].nunique() == 3).all()
    for which in (y == 1, y == 0):
        assert spread(fold, which, 3) <= 1
    groups = np.arange(600) // 2
    fold = folds_of(PUStratifiedKFold(3, random_state=0), X, y, groups)
    assert np.array_equal(fold[::2], fold[1::2])


def test_frames_with_text_categories_and_missing_values():
    rows = [("a", 1.0), ("a", None), ("b", 2.0), ("b", 3.0)]
    frame = pd.DataFrame(rows * 4, columns=["text", "number"])
    frame["kind"] = pd.Categorical(frame["text"])
    y = np.tile([1, 1, 0, 0], 4)
    fold = folds_of(PUStratifiedKFold(2, random_state=0), frame, y)
    assert all(len(set(fold[start::4])) == 1 for start in range(4))


def test_groups_are_kept_together_with_copies():
    X, y = make(0, copies=20)
    groups = np.array([f"person {number}" for number in np.arange(len(y)) // 2])
    fold = folds_of(PUStratifiedKFold(3, random_state=0), X, y, groups)
    rows = pd.DataFrame(X).assign(fold=fold, group=groups)
    assert (rows.groupby("group")["fold"].nunique() == 1).all()
    assert (rows.groupby([0, 1, 2])["fold"].nunique() == 1).all()


def test_the_seed_decides_and_the_global_state_is_left_alone():
    X, y = make(0)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = (
        folds_of(PUStratifiedKFold(random_state=seed), X, y) for seed in (1, 1, 2)
    )
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_inside_scikit_learn():
    X, y = make(0)
    cv = PUStratifiedKFold(4, random_state=0)
    assert cv.get_n_splits() == cv.get_n_splits(X, y) == 4
    assert repr(cv) == "PUStratifiedKFold(n_splits=4, random_state=0, shuffle=True)"
    scores = cross_val_score(LogisticRegression(), X, y, cv=cv, scoring=neg_variational_scorer)
    assert scores.shape == (4,)
    GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=cv).fit(pd.DataFrame(X), y)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.arange(20)[:, None], np.repeat([1, 0], [4, 16]), "5 labelled positives.*there are 4"),
        (np.arange(20)[:, None], np.repeat([1, 0], [16, 4]), "5 unlabelled rows.*there are 4"),
        (np.ones((20, 1)), np.repeat([1, 0], 10), "there are 1, in 10 rows"),
        (np.arange(20)[:, None], np.ones(20), "two values"),
        (np.arange(20)[:, None], None, "got None"),
        (np.arange(20)[:, None], np.repeat([1, 0], 9), "X has 20 rows but y has 18"),
    ],
)
def test_bad_rows(X, y, message):
    with pytest.raises(PUInputError, match=message):
        next(PUStratifiedKFold().split(X, y))


def test_bad_groups():
    X, y = make(0)
    with pytest.raises(PUInputError, match="groups has 3"):
        next(PUStratifiedKFold().split(X, y, [1, 2, 3]))


def test_copies_that_leave_a_fold_without_unlabelled_rows():
    # The three copies fill one fold's share of labelled rows, and the rest takes all others.
    X = np.array([[0], [0], [0], [1], [1], [2], [2]])
    y = np.array([1, 1, 1, 1, 0, 1, 0])
    with pytest.raises(PUInputError, match="without any unlabelled row"):
        folds_of(PUStratifiedKFold(2, shuffle=False), X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_splits": 1}, "n_splits must be a whole number of at least 2; got 1"),
        ({"n_splits": 2.5}, "n_splits"),
        ({"n_splits": True}, "n_splits"),
        ({"shuffle": False, "random_state": 3}, "shuffle is False"),
    ],
)
def test_bad_settings(options, message):
    with pytest.raises(PUInputError, match=message):
        PUStratifiedKFold(**options)
