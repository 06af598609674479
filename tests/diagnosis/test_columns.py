"""Columns that should not be learned from as they are."""

import numpy as np
import pandas as pd
import pytest

from varpu.diagnosis import check_pu

N = 2000


def found_in(X, y, code):
    return [f for f in check_pu(X, y) if f.code == code]


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.mark.parametrize("value", [1, "cm", True, pd.Timestamp("2024-01-01")])
def test_constant(clean, value):
    X, y = clean
    [found] = found_in(X.assign(unit=value), y, "PU006")
    assert found.columns == ("unit",)
    assert found.severity == "note"


def test_one_value_with_gaps_is_not_constant(clean, rng):
    X, y = clean
    assert not found_in(X.assign(mark=np.where(rng.random(N) < 0.5, "x", None)), y, "PU006")


def ids(rng):
    return {
        "count": np.arange(N) + 5,
        "shuffled": rng.permutation(N),
        "with gaps": np.where(rng.random(N) < 0.1, np.nan, rng.permutation(N)),
        "key": [f"{i:08x}" + "z" for i in rng.permutation(N)],
        "name": [f"First{i} Last{i % 7}" for i in range(N)],
        "category": pd.Categorical([f"P-{i}" for i in range(N)]),
    }


@pytest.mark.parametrize("name", ids(np.random.default_rng(0)))
def test_ids(clean, rng, name):
    X, y = clean
    [found] = found_in(X.assign(extra=ids(rng)[name]), y, "PU007")
    assert found.columns == ("extra",)


def not_ids(rng):
    return {
        "measured": rng.normal(size=N),
        "cents": rng.integers(0, 10**7, N),
        "year": rng.integers(1950, 2020, N),
        "text": [" ".join(rng.choice(list("abcdefgh"), 12)) for _ in range(N)],
        "date": pd.Timestamp("2020") + pd.to_timedelta(rng.permutation(N), unit="h"),
    }


@pytest.mark.parametrize("name", not_ids(np.random.default_rng(0)))
def test_no_ids(clean, rng, name):
    X, y = clean
    assert not found_in(X.assign(extra=not_ids(rng)[name]), y, "PU007")


def test_almost_always_missing(clean, rng):
    X, y = clean
    X = X.assign(rare=np.where(rng.random(N) < 0.02, 1.5, np.nan), none=np.nan, often="a")
    found = found_in(X, y, "PU011")
    assert [f.columns for f in found] == [("rare",), ("none",)]
    assert found[1].value == 1.0


def test_infinite(clean):
    X, y = clean
    bad = X["noise"].mask(np.arange(N) % 1000 == 7, np.inf)
    [found] = found_in(X.assign(bad=bad), y, "PU013")
    assert found.severity == "error"
    assert found.rows == (7, 1007)


def test_numbers_as_text(clean, rng):
    X, y = clean
    cells = [f"{v:,.2f}" for v in 1e4 * rng.normal(size=N)]
    cells[3] = "n/a"
    [found] = found_in(X.assign(price=cells), y, "PU014")
    assert "'n/a'" in found.seen
    assert not found_in(X.assign(price=pd.Categorical(cells)), y, "PU014")
    assert not found_in(X.assign(price=[f"{c} EUR" for c in cells]), y, "PU014")


def test_shared_names(clean):
    X, y = clean
    [found] = found_in(X.set_axis(["a", "a", *X.columns[2:]], axis=1), y, "PU016")
    assert (found.severity, found.columns, found.value) == ("error", ("a",), 2.0)
    assert not found_in(X, y, "PU016")
