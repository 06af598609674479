"""Copies, order, and the number of labelled rows."""

import numpy as np
import pandas as pd
import pytest

from varpu.diagnosis import check_pu


def found_in(X, y, code, **options):
    return [f for f in check_pu(X, y, **options) if f.code == code]


def test_labelled_rows_that_were_copied_into_the_unlabelled(clean):
    X, y = clean
    both = pd.concat([X, X[y]], ignore_index=True)
    [found] = found_in(both, np.append(y, np.zeros(y.sum(), bool)), "PU002")
    assert found.severity == "warning"
    assert found.value == 1.0
    assert set(found.rows) <= set(np.flatnonzero(y))
    assert f"row: {y.sum()} (100.0%)" in found.seen


@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
@pytest.mark.parametrize("n_columns", [1, 3, 8])
def test_copies_by_chance_are_a_note(n_columns, scenario):
    rng = np.random.default_rng(n_columns)
    positive = rng.random(3000) < 0.4
    y = positive & (rng.random(3000) < 0.4)
    # Positives are crowded into few kinds of rows, the others are spread out.
    X = rng.random((3000, n_columns)) < np.where(positive, 0.85, 0.5)[:, None]
    findings = check_pu(X, y, scenario=scenario)
    assert {f.severity for f in findings} == {"note"}
    assert {"PU002", "PU009"} <= {f.code for f in findings}


def test_rows_that_stand_twice(clean):
    X, y = clean
    twice = pd.concat([X, X[:300]], ignore_index=True)
    [found] = found_in(twice, np.append(y, y[:300]), "PU009")
    assert found.severity == "warning"
    assert found.rows == (2000, 2001, 2002, 2003, 2004)
    assert not found_in(X, y, "PU009")
    # A copy has the label of its row, so labelled rows have no unlabelled copy.
    assert not found_in(twice, np.append(y, y[:300]), "PU002")


@pytest.mark.parametrize("sign", [1, -1])
def test_order(clean, sign):
    X, y = clean
    order = np.argsort(sign * y, kind="stable")
    X, y = X.iloc[order], y[order]
    [found] = found_in(X, y, "PU010")
    assert found.severity == "note"
    assert ("last" if sign == 1 else "first") in found.seen
    drift = np.arange(len(y)) + np.random.default_rng(0).normal(size=len(y)) * 300
    [found] = found_in(X.assign(drift=drift), y, "PU010")
    assert (found.severity, found.columns) == ("warning", ("drift",))


@pytest.mark.parametrize(("n", "severity"), [(5, "error"), (19, "error"), (20, "warning")])
def test_few_positives(clean, n, severity):
    X, y = clean
    few = y & (y.cumsum() <= n)
    [found] = found_in(X, few, "PU003")
    assert (found.severity, found.value) == (severity, n)
    assert not found_in(X, y, "PU003")


def test_more_labelled_than_unlabelled(make_clean):
    X, y = make_clean(0, prior=0.9, frequency=0.9)
    [found] = found_in(X, y, "PU012")
    assert found.severity == "note"
    assert found.value > 0.7
