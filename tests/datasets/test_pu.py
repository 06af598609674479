"""Invariants of the PU splits."""

import numpy as np
import pandas as pd
import pytest

from varpu.datasets import PUSplit, make_pu, page_blocks
from varpu.exceptions import PUInputError

Y = np.random.default_rng(0).choice([1, 4, 7, 0, 2], 2000, p=[0.25, 0.15, 0.1, 0.3, 0.2])
POSITIVE = (1, 4, 7)


def split(**changes):
    options = {"positive": POSITIVE, "n_labeled": 100, "random_state": 0} | changes
    return make_pu(None, changes.pop("y", Y), **{k: v for k, v in options.items() if k != "y"})


def counts(rows):
    return [int(np.sum(Y[rows] == name)) for name in POSITIVE]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bias", [None, {1: 5, 4: 1, 7: 1}])
@pytest.mark.parametrize("validation", [0, 1, 16])
@pytest.mark.parametrize("rows", [None, np.arange(100, 1900)])
def test_single_set(seed, bias, validation, rows):
    found = split(random_state=seed, bias=bias, validation=validation, rows=rows)
    everything = np.arange(2000) if rows is None else rows
    assert len(found.p) == 100
    assert len(found.held_out_p) == validation
    assert len(found.held_out_u) == round(len(everything) * validation / 100)
    assert np.isin(Y[found.labeled], POSITIVE).all()
    assert np.isin(found.p, found.u).all()
    assert np.isin(found.held_out_p, found.held_out_u).all()
    assert np.array_equal(np.sort(np.concatenate([found.u, found.held_out_u])), everything)
    for part in (found.p, found.u, found.held_out_p, found.held_out_u, found.labeled):
        assert part.dtype == np.int64
        assert (np.diff(part) > 0).all()
    labels = found.labels(2000)
    assert np.array_equal(np.flatnonzero(labels), found.labeled)
    assert set(labels.tolist()) == {0, 1}


def test_case_control_takes_the_labelled_rows_out():
    single = split(validation=16)
    control = split(validation=16, scenario="case-control")
    assert np.array_equal(control.p, single.p)
    assert np.array_equal(control.held_out_p, single.held_out_p)
    assert np.array_equal(control.u, np.setdiff1d(single.u, single.p))
    assert np.array_equal(control.held_out_u, np.setdiff1d(single.held_out_u, single.held_out_p))


def test_the_numbers_of_the_paper(data_dir):
    data = page_blocks(data_home=data_dir)
    rows = np.random.default_rng(0).permutation(len(data.y))[:3284]
    found = make_pu(data.X, data.y, positive=[2, 3, 4, 5], n_labeled=100, validation=16, rows=rows)
    assert repr(found) == "PUSplit(100 p, 2759 u, 16 held_out_p, 525 held_out_u)"


@pytest.mark.parametrize(
    ("bias", "n", "expected"),
    [
        ({1: 5, 4: 1, 7: 1}, 70, [50, 10, 10]),
        ({1: 5, 4: 1, 7: 1}, 100, [72, 14, 14]),  # 71.4, 14.3, 14.3
        ({1: 1, 4: 1, 7: 1}, 100, [34, 33, 33]),
        ({7: 1, 4: 1, 1: 1}, 100, [33, 33, 34]),  # the first named gets what is left
        ({1: 0.1, 4: 0.2, 7: 0.3}, 60, [10, 20, 30]),
        ({1: 1, 4: 0}, 60, [60, 0, 0]),
        ({np.int64(4): 2}, 60, [0, 60, 0]),
    ],
)
def test_bias(bias, n, expected):
    found = split(bias=bias, n_labeled=n, validation=7)
    assert counts(found.p) == expected
    assert len(found.held_out_p) == 7
    if bias.get(4) == 0:
        assert counts(found.held_out_p) == [7, 0, 0]


def test_held_out_positives_have_the_same_bias():
    assert counts(split(bias={1: 5, 4: 1, 7: 1}, validation=14).held_out_p) == [10, 2, 2]


def test_without_bias_all_positives_are_equally_likely():
    times = np.zeros(len(Y))
    for seed in range(400):
        times[split(random_state=seed, n_labeled=200, validation=40).p] += 1
    positive = np.isin(Y, POSITIVE)
    share = 200 / positive.sum()
    assert times[positive].mean() / 400 == pytest.approx(share)
    # Binomial, were it not for the held-out rows, which hardly change it.
    assert times[positive].std() == pytest.approx(np.sqrt(400 * share * (1 - share)), rel=0.1)
    for name in POSITIVE:
        assert times[name == Y].mean() / 400 == pytest.approx(share, rel=0.05)


def test_one_order_decides_all():
    first = split(validation=16)
    assert np.array_equal(first.held_out_u, split(validation=16, bias={4: 1}).held_out_u)
    assert np.array_equal(first.held_out_u, split(validation=32, n_labeled=200).held_out_u)
    assert np.isin(split(validation=8).held_out_u, first.held_out_u).all()
    assert np.isin(split(n_labeled=50).p, split(n_labeled=80).p).all()
    assert not np.array_equal(first.held_out_u, split(validation=16, random_state=1).held_out_u)


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_generators(kind):
    first, second = (split(random_state=kind(3), validation=5) for _ in range(2))
    assert np.array_equal(first.p, second.p)
    state = kind(3)
    assert not np.array_equal(split(random_state=state).p, split(random_state=state).p)
    assert len(split(random_state=None).p) == 100


@pytest.mark.parametrize(
    "positive", [[1, 4, 7], {1, 4, 7}, np.array([7, 4, 1]), pd.Series([1, 4, 7, 7])]
)
def test_collections_of_classes(positive):
    assert np.array_equal(split(positive=positive).p, split().p)


def test_one_class_and_words():
    found = split(positive=np.int64(4), n_labeled=20)
    assert (Y[found.p] == 4).all()
    words = np.array(["no", "one", "two", "no", "four", "no", "no", "seven"])[Y]
    assert np.array_equal(split(y=words, positive="four", n_labeled=20).p, found.p)
    series = pd.Series(words, index=np.arange(2000)[::-1])
    assert np.array_equal(split(y=series, positive=np.array("four"), n_labeled=20).p, found.p)
    assert np.array_equal(split(y=words.tolist(), positive=["four"], n_labeled=20).p, found.p)


def test_rows_may_be_a_mask_and_in_any_order():
    rows = np.random.default_rng(1).permutation(2000)[:1500]
    mask = np.isin(np.arange(2000), rows)
    assert np.array_equal(split(rows=rows).p, split(rows=mask).p)
    assert np.array_equal(split(rows=rows).u, np.sort(rows))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"positive": 3}, "positive must be of the classes in y, 0, 1, 2, 4, 7; got 3"),
        ({"positive": "1"}, "positive must be of the classes in y"),
        ({"positive": []}, "positive must be of the classes in y"),
        ({"positive": [1, 9]}, "positive must be of the classes in y"),
        ({"n_labeled": 0}, "n_labeled must be a whole number of at least 1; got 0"),
        ({"n_labeled": 2.5}, "n_labeled must be a whole number"),
        ({"n_labeled": 1900}, "wanted 1900 labelled rows of a positive class among the 2000 rows"),
        ({"validation": -1}, "validation must be a whole number of at least 0; got -1"),
        ({"validation": 100}, "would hold out 2000 of 2000 rows"),
        (
            {"positive": 7, "n_labeled": 150, "validation": 1, "random_state": 1},
            "wanted 1 labelled rows of a positive class among the 13 rows held out; there are 0",
        ),
        ({"scenario": "both"}, "scenario must be one of 'single-set', 'case-control'; got 'both'"),
        ({"bias": {2: 1}}, "bias must name positive classes, 1, 4, 7; got 2"),
        ({"bias": [5, 1, 1]}, "bias must be a dict"),
        ({"bias": {1: -1}}, r"bias\[1\] must be a finite number of at least 0; got -1"),
        ({"bias": {1: np.nan}}, r"bias\[1\] must be a finite number"),
        ({"bias": {1: 0}}, "bias must have a weight above 0"),
        ({"bias": {7: 1}, "n_labeled": 500}, "wanted 500 labelled rows of class 7 among the 2000"),
        ({"bias": {7: 1}, "rows": range(50), "n_labeled": 9, "validation": 3}, "rows of class 7"),
        ({"rows": [1, 1, 2]}, "rows must be different; 1 are repeated"),
        ({"rows": [2000]}, "rows must be from 0 to 1999"),
        ({"rows": Y > 7}, "rows must be from 0 to 1999"),
        ({"rows": [-1]}, "rows must be from 0 to 1999"),
        ({"rows": np.ones(5, bool)}, "rows must be row numbers or a mask of 2000; got bool"),
        ({"rows": [0.5]}, "rows must be row numbers or a mask of 2000; got float64"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0; got -1"),
        ({"random_state": "seed"}, "random_state must be a whole number"),
        ({"y": Y[:, None]}, r"y must have one class a row; got shape \(2000, 1\)"),
        ({"y": np.array([1, "one", None] * 9, object)}, "y must hold classes of one kind"),
        ({"y": []}, "y must have one class a row"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(PUInputError, match=message):
        split(**changes)


def test_lengths_must_agree():
    with pytest.raises(PUInputError, match="X has 5 rows but y has 2000"):
        make_pu([[0]] * 5, Y, positive=1, n_labeled=3)
    with pytest.raises(PUInputError, match="X has 3 rows but y has 2000"):
        make_pu(np.zeros((3, 2)), Y, positive=1, n_labeled=3)
    assert len(make_pu(np.zeros((2000, 1, 2, 2)), Y, positive=1, n_labeled=3).p) == 3


def test_labels_need_room():
    found = PUSplit(*(np.array(rows, np.int64) for rows in ([2, 5], [2, 5, 7], [], [])))
    assert found.labels(6).tolist() == [0, 0, 1, 0, 0, 1]
    with pytest.raises(PUInputError, match="n must be at least 6, as row 5 is labelled; got 5"):
        found.labels(5)
