"""Tables as users have them come through whole, or are refused in one clear sentence."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator

from varpu import VPUBoostingClassifier
from varpu.exceptions import PUInputError
from varpu.tables import check_table, is_category


def check(X, fitting=True, estimator=None):
    return check_table(estimator or BaseEstimator(), X, fitting)


def test_arrays_are_numbers_and_gaps_stay():
    found = check([[1, 2], [np.nan, 4]])
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [[1, 2], [np.nan, 4]])
    assert check(np.ones((2, 2), np.float32)).dtype == np.float32


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse_tables_come_as_rows(form, kind):
    table = np.array([[0.0, 1.0], [2.0, 0.0]])
    found = check(getattr(scipy.sparse, f"{form}_{kind}")(table))
    assert isinstance(found, scipy.sparse.csr_matrix)
    np.testing.assert_array_equal(found.toarray(), table)


def usual_frame():
    return pd.DataFrame(
        {
            "number": [1.5, np.nan, 2.0],
            "whole": [1, 2, 3],
            "flag": [True, False, True],
            "gaps": pd.array([1, None, 3], dtype="Int64"),
            "kind": pd.Categorical(["b", None, "a"]),
            "code": pd.Categorical([7, 7, 9]),
        }
    )


def test_a_frame_comes_through_as_it_is():
    frame, estimator = usual_frame(), BaseEstimator()
    found = check(frame, estimator=estimator)
    pd.testing.assert_frame_equal(found, usual_frame())
    pd.testing.assert_frame_equal(frame, usual_frame())
    assert list(estimator.feature_names_in_) == list(frame.columns)
    assert estimator.n_features_in_ == 6
    assert [name for name in frame if is_category(frame[name])] == ["kind", "code"]


def test_names_that_lightgbm_would_refuse():
    """pandas makes such names itself: pd.get_dummies(pd.cut(...))."""
    frame = pd.DataFrame(np.ones((2, 3)), columns=["a[", "a]", "plain"])
    estimator = BaseEstimator()
    found = check(frame, estimator=estimator)
    assert found.columns.is_unique
    assert not any(set(name) & set('[]{},:"') for name in found)
    np.testing.assert_array_equal(found, frame)
    assert list(frame.columns) == ["a[", "a]", "plain"]
    assert list(estimator.feature_names_in_) == list(frame.columns)
    assert list(check(frame, False, estimator)) == list(found)


def test_levels_that_no_file_can_hold_become_strings():
    frame = pd.DataFrame(
        {
            "range": pd.cut([0.5, 1.5, np.nan], [0, 1, 2]),
            "day": pd.Categorical(pd.to_datetime(["2020-01-01", "2021-05-05", "2020-01-01"])),
            "plain": pd.Categorical(["x", "y", "x"]),
        }
    )
    found = check(frame)
    assert found["range"].tolist()[:2] == ["(0, 1]", "(1, 2]"]
    assert found["range"].isna().tolist() == [False, False, True]
    assert found["day"].nunique() == 2
    assert all(is_category(found[name]) for name in found)
    pd.testing.assert_series_equal(found["plain"], frame["plain"])
    assert isinstance(frame["range"].cat.categories, pd.IntervalIndex)  # theirs is left alone
    numbered = check(frame.set_axis([0, 1, 2], axis=1))
    assert numbered[0].tolist()[:2] == ["(0, 1]", "(1, 2]"]


def test_trees_take_such_a_frame():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x: {}": rng.normal(size=300), "range, of x": pd.cut(x, 5)})
    y = (x > 0) & (rng.random(300) < 0.5)
    model = VPUBoostingClassifier(max_rounds=5, n_jobs=1, random_state=0, prior=0.5).fit(frame, y)
    assert model.feature_importances_[1] > 0.5
    assert np.isfinite(model.decision_function(frame)).all()


def complex_frame():
    return pd.DataFrame({"z": [1j, 2.0]})


def string_frame():
    return pd.DataFrame({"a": [1.0, 2.0], "name": ["x", "y"], "other": ["x", "y"]})


def dates():
    return pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2021-05-05"])})


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (string_frame(), "numbers or categories; name, other hold neither.*'name': 'category'"),
        (dates(), "day hold neither"),
        (complex_frame(), "z hold neither"),
        (pd.DataFrame({"a": [1.0, np.inf]}), "contains infinity"),
        (pd.DataFrame({"a": pd.array([1.0, -np.inf], dtype="Float64")}), "contains infinity"),
        (pd.DataFrame({"a": []}), r"0 sample\(s\)"),
        (pd.DataFrame(index=[0, 1]), r"0 feature\(s\)"),
    ],
)
def test_frames_that_are_refused(X, message):
    with pytest.raises(PUInputError, match=message):
        check(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([["a"], ["b"]]), "could not convert string"),
        (np.array([[np.inf], [1.0]]), "infinity"),
        (scipy.sparse.csr_matrix([[np.inf], [1.0]]), "infinity"),
        (np.zeros(3), "Expected 2D array"),
        (np.zeros((0, 2)), r"0 sample\(s\)"),
    ],
)
def test_arrays_that_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        check(X)


def test_later_tables_must_have_the_same_columns():
    estimator = BaseEstimator()
    frame = check(usual_frame(), estimator=estimator)
    check(frame.iloc[:1], False, estimator)
    with pytest.raises(ValueError, match="must be in the same order"):
        check(frame[frame.columns[::-1]], False, estimator)
    with pytest.raises(ValueError, match="yet now missing"):
        check(frame.drop(columns="kind"), False, estimator)
    with pytest.raises(ValueError, match="unseen at fit time"):
        check(frame.assign(another=1), False, estimator)
    with pytest.raises(PUInputError, match="'kind': 'category'"):
        check(frame.astype({"kind": object}), False, estimator)
