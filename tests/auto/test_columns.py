"""Tables as plain numbers, against cases computed by hand."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.special import ndtri

from varpu.auto.candidates import Table
from varpu.auto.columns import Columns
from varpu.exceptions import PUInputError

NAN = np.nan


def test_standard_by_hand():
    table = np.array([[1.0, 7.0], [3.0, 7.0], [5.0, 7.0]])
    columns = Columns.learn(table)
    np.testing.assert_allclose(columns.means, [3, 7])
    # The mean squares of -2, 0, 2 are 8/3; a constant column stays 0 for every value that it had.
    np.testing.assert_allclose(columns.deviations, [np.sqrt(8 / 3), 1])
    expected = [[-np.sqrt(1.5), 0], [0, 0], [np.sqrt(1.5), 0]]
    np.testing.assert_allclose(columns.standard(table), expected)
    np.testing.assert_allclose(columns.standard(np.array([[1e9, 7.5]])), [[6, 0.5]])


def test_a_gap_is_the_mean_and_has_a_mark_where_there_were_gaps():
    table = np.array([[1.0, NAN, 0.0, NAN], [NAN, NAN, 2.0, 4.0], [5.0, NAN, 1.0, 4.0]])
    columns = Columns.learn(table)
    np.testing.assert_allclose(columns.means, [3, 0, 1, 4])
    assert columns.has_gaps.tolist() == [True, False, False, True]  # nothing but gaps is constant
    step = np.sqrt(1.5)
    expected = [
        [-1, 0, -step, 0, 0, 1],
        [0, 0, step, 0, 1, 0],
        [1, 0, 0, 0, 0, 0],
    ]
    np.testing.assert_allclose(columns.standard(table), expected)
    # A gap where there was none is the mean too; a value where there was none is far out.
    new = columns.standard(np.array([[NAN, 9.0, NAN, NAN]]))
    np.testing.assert_allclose(new, [[0, 6, 0, 0, 1, 1]])


@pytest.mark.parametrize(("factor", "shift"), [(1e-20, 0.0), (1e12, 0.0), (2.0, 300.0)])
def test_the_unit_of_a_column_does_not_matter(factor, shift):
    table = np.random.default_rng(0).normal(size=(40, 2))
    other = table * factor + shift
    for view in ("standard", "ranked", "scores", "whitened"):
        expected = getattr(Columns.learn(table), view)(table)
        if view in ("standard", "ranked"):
            assert expected[:, :2].std() == pytest.approx(1)
        found = getattr(Columns.learn(other), view)(other)
        np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e20, 1e-20])
def test_the_rounding_of_a_constant_column_is_not_blown_up(value):
    table = np.column_stack([np.full(1001, value), np.arange(1001.0)])
    assert np.abs(Columns.learn(table).standard(table)[:, 0]).max() <= 1e-3 * abs(value)


def test_ranks_by_hand():
    table = np.arange(11.0).reshape(-1, 1)
    columns = Columns.learn(table)
    new = np.array([[5.0], [2.5], [9.0], [-3.0], [99.0], [NAN]])
    ranked = columns.ranked(new)
    assert ranked.shape == (6, 2)
    np.testing.assert_array_equal(ranked[:, :1], columns.standard(new))
    end = ndtri(2e-4)
    expected = [0, ndtri(0.25), ndtri(0.9), end, -end, 0]
    np.testing.assert_allclose(ranked[:, 1], expected, atol=1e-12)


def test_tied_values_have_the_middle_of_their_ranks():
    table = np.array([*range(10), 9, 9]).reshape(-1, 1) * 1.0
    ranked = Columns.learn(table).ranked(table)[:, 1]
    # Ranks are 0/11, 1/11...; 9 has those from 9/11 to 11/11.
    np.testing.assert_allclose(ranked[9:], ndtri(10 / 11))
    np.testing.assert_allclose(ranked[1:9], ndtri(np.arange(1, 9) / 11))


def test_scores_stand_in_place_of_numbers():
    table = np.column_stack([np.arange(40.0) ** 3, np.arange(40) % 3])
    table[3, 0] = NAN
    columns = Columns.learn(table)
    scores, ranked = columns.scores(table), columns.ranked(table)
    assert scores.shape == (40, 3)  # the number's score, the few values as they are, the gap's mark
    np.testing.assert_array_equal(scores[:, 0], ranked[:, 3])
    np.testing.assert_array_equal(scores[:, 1:], columns.standard(table)[:, 1:])


def test_whitened_columns_are_uncorrelated_and_of_one_variance():
    """But for the variance 0.05 that is added to every direction."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(3000, 4)) @ rng.normal(size=(4, 4))
    columns = Columns.learn(table)
    spread = np.cov(columns.whitened(table).T, ddof=0)
    variances = np.linalg.eigvalsh(np.cov(columns.scores(table).T, ddof=0))
    np.testing.assert_allclose(spread, np.diag(variances / (variances + 0.05)), atol=1e-10)


def test_an_oblique_view_is_the_plain_one_and_the_whitened():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3))
    columns = Columns.learn(table)
    oblique = Table(table, columns).view("oblique")
    np.testing.assert_array_equal(oblique[:, :3], columns.scores(table))
    np.testing.assert_array_equal(oblique[:, 3:], columns.whitened(table))


def test_what_two_columns_say_alike_counts_once():
    """Two columns of one content: as scores it weighs double, whitened hardly more than once."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 4000))
    columns = Columns.learn(np.column_stack([x, x**3, y]))
    table = np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    for view, expected in (("scores", np.sqrt(2)), ("whitened", 1.0)):
        first, second, third, fourth = getattr(columns, view)(table)
        ratio = np.linalg.norm(first - second) / np.linalg.norm(third - fourth)
        assert ratio == pytest.approx(expected, rel=0.05)


def test_a_table_of_many_columns_is_not_whitened():
    table = np.random.default_rng(0).normal(size=(30, 501))
    columns = Columns.learn(table)
    np.testing.assert_array_equal(columns.whitened(table), columns.scores(table))


def test_columns_of_few_values_have_no_ranks():
    table = np.column_stack([np.arange(40) % 9, np.arange(40) % 10, np.ones(40)]) * 1.0
    columns = Columns.learn(table)
    assert columns.is_ranked.tolist() == [False, True, False]
    assert columns.ranked(table).shape == (40, 4)


def frame(**columns):
    return pd.DataFrame(columns)


def test_a_column_for_each_level():
    table = frame(
        kind=pd.Categorical(["b", "a", "b", None]),
        size=[1.0, 2.0, 3.0, 2.0],
        code=pd.Categorical([3, 3, 5, 3]),
        flag=pd.Categorical([True, False, True, True]),
        plain=[True, False, False, True],  # a number
    )
    columns = Columns.learn(table)
    assert columns.levels == {0: ["b", "a"], 2: [3, 5], 3: [True, False]}
    step = np.sqrt(2)
    expected = [
        [-step, 1, 1, 0, 1, 0, 1, 0],
        [0, -1, 0, 1, 1, 0, 0, 1],
        [step, -1, 1, 0, 0, 1, 1, 0],
        [0, 1, 0, 0, 1, 0, 1, 0],  # a missing level is none of them
    ]
    np.testing.assert_allclose(columns.standard(table), expected)


def test_levels_are_known_by_their_value():
    columns = Columns.learn(frame(kind=pd.Categorical(["b", "a", "b"]), x=[1.0, 2.0, 3.0]))
    new = frame(kind=pd.Categorical(["new", "a", "b"], ["new", "b", "a"]), x=[2.0, 2.0, 2.0])
    np.testing.assert_array_equal(columns.standard(new), [[0, 0, 0], [0, 0, 1], [0, 1, 0]])


def test_only_the_commonest_fifty_levels_have_a_column():
    level = np.concatenate([np.arange(60), np.arange(10, 60)])  # the first ten are rarer
    columns = Columns.learn(frame(kind=pd.Categorical(level)))
    assert sorted(columns.levels[0]) == list(range(10, 60))
    found = columns.standard(frame(kind=pd.Categorical(level)))
    assert found.shape == (110, 50)
    np.testing.assert_array_equal(found.sum(axis=1), level >= 10)


def test_a_category_column_of_gaps_alone_is_no_column():
    table = frame(x=[1.0, 2.0, 3.0], nothing=pd.Categorical([None, None, None]))
    assert Columns.learn(table).standard(table).shape == (3, 1)


def test_numbers_of_every_kind():
    table = frame(
        a=pd.array([1, None, 3], dtype="Int64"),
        b=pd.array([True, None, False], dtype="boolean"),
        c=np.array([1, 2, 3], dtype=np.float32),
    )
    plain = np.array([[1, 1, 1], [NAN, NAN, 2], [3, 0, 3]])
    expected = Columns.learn(plain).standard(plain)
    np.testing.assert_allclose(Columns.learn(table).standard(table), expected)


def test_a_sparse_table_is_the_dense_one():
    table = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    columns = Columns.learn(table)
    expected = columns.ranked(table)
    np.testing.assert_array_equal(columns.ranked(scipy.sparse.csr_matrix(table)), expected)


def test_categories_must_be_where_they_were():
    table = frame(kind=pd.Categorical(["b", "a"]), x=[1.0, 2.0])
    columns = Columns.learn(table)
    columns.check(table)
    for other in (np.zeros((2, 2)), table.astype({"x": "category"}), table.assign(kind=1.0)):
        with pytest.raises(PUInputError, match=r"where they were in fit, at \[0\]"):
            columns.check(other)
    Columns.learn(np.zeros((2, 2))).check(np.ones((1, 2)))


def test_state_and_back():
    rng = np.random.default_rng(0)
    table = frame(
        x=np.where(np.arange(30) % 7 == 0, NAN, rng.normal(size=30)),
        kind=pd.Categorical(list("abc") * 10),
        code=pd.Categorical(np.arange(30) % 4),
        flag=pd.Categorical(np.arange(30) % 2 == 0),
        nothing=pd.Categorical([None] * 30),
    )
    columns = Columns.learn(table)
    fields, arrays = columns.to_state()
    again = Columns.from_state(json.loads(json.dumps(fields)), arrays)
    assert again.levels == columns.levels
    np.testing.assert_array_equal(again.ranked(table), columns.ranked(table))
