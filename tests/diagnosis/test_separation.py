"""PU001: what no honest column could do, and what a strong one may."""

import numpy as np
import pandas as pd
import pytest

from varpu.diagnosis import check_pu
from varpu.diagnosis.chance import Region, at_most, least_odds


def leaks(X, y, **options):
    return {f.columns: f for f in check_pu(X, y, **options) if f.code == "PU001"}


def leaking_columns(y, rng):
    n = len(y)
    return {
        "number": y + 0.1 * rng.normal(size=n),
        "middle": np.where(y, rng.uniform(0, 1, n), rng.uniform(1, 3, n)) * rng.choice([-1, 1], n),
        "value": np.where(y, "ward 7", "ward 8"),
        "values": np.where(y, rng.choice(["a", "b", "c"], n), rng.choice(["d", "e"], n)),
        "batches": np.where(y, rng.integers(0, 30, n), rng.integers(30, 150, n)).astype("U") + "x",
        "filled": np.where(y, rng.normal(size=n), np.nan),
        "empty": np.where(y, np.nan, rng.normal(size=n)),
        "flag": y.copy(),
        "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.where(y, 900, 0) + n % 7, unit="D"),
    }


@pytest.mark.parametrize("name", leaking_columns(np.ones(2, dtype=bool), np.random.default_rng(0)))
def test_a_leak_is_found(clean, name):
    X, y = clean
    values = leaking_columns(y, np.random.default_rng(1))[name]
    found = leaks(X.assign(leak=values), y)
    assert set(found) == {("leak",)}
    assert found[("leak",)].severity == "error"
    assert found[("leak",)].value < 0.01
    assert "'leak'" in found[("leak",)].seen


def test_a_leak_in_few_labelled_rows_is_found(make_clean):
    X, y = make_clean(0, prior=0.1, frequency=0.12, n=4000)
    assert 30 < y.sum() < 60
    assert set(leaks(X.assign(leak=np.where(y, "a", "b")), y)) == {("leak",)}


def test_a_leak_is_found_in_a_sample_drawn_apart(make_clean):
    X, y = make_clean(0, scenario="case-control")
    found = leaks(X.assign(leak=np.where(y, "a", "b")), y, scenario="case-control")
    assert set(found) == {("leak",)}


def test_a_leak_that_concerns_some_labelled_rows_is_a_warning(make_clean):
    X, y = make_clean(0, n=5000)
    some = y & (np.random.default_rng(1).random(len(y)) < 0.3)
    found = leaks(X.assign(leak=np.where(some, "a", "b")), y)
    assert found[("leak",)].severity == "warning"


@pytest.mark.parametrize("frequency", [0.3, 0.9])
@pytest.mark.parametrize("prior", [0.1, 0.3, 0.9])
def test_a_column_that_is_the_class_itself_is_no_leak(prior, frequency):
    rng = np.random.default_rng(0)
    positive = rng.random(6000) < prior
    y = positive & (rng.random(6000) < frequency)
    X = pd.DataFrame(
        {
            "class": np.where(positive, "sick", "well"),
            "test": positive + 0.1 * rng.normal(size=6000),
        }
    )
    assert [f for f in check_pu(X, y) if f.severity != "note"] == []


def test_a_rare_class_that_a_column_knows_is_no_leak():
    rng = np.random.default_rng(0)
    positive = rng.random(100_000) < 0.004
    y = positive & (rng.random(len(positive)) < 0.5)
    X = np.column_stack([positive + 0.1 * rng.normal(size=len(y)), rng.normal(size=len(y))])
    assert not leaks(X, y)


def test_odds_that_honest_labels_leave():
    # Few labels among many rows: 1% of the unlabelled rows, but not less than c = 0.7 or 0.9 allow.
    assert least_odds(100, 10_000, "single-set") == pytest.approx(0.3 / 0.7)
    assert least_odds(1000, 1000, "single-set") == pytest.approx(0.1 / 0.9)
    assert least_odds(100, 2000, "single-set") == pytest.approx(0.2)
    assert least_odds(100, 2000, "single-set", thinning=0.1) == pytest.approx(0.03 / 0.7)
    assert least_odds(100, 2000, "case-control") == pytest.approx(0.4)


def test_the_chance_of_a_region():
    assert Region("", 10, 0, 1.0).chance(1.0) == pytest.approx(2**-10)
    assert Region("", 11, 0, 1.0, ends=1).chance(1.0) == pytest.approx(2**-10)
    assert Region("", 10, 0, 1.0, tries=4).chance(1.0) == pytest.approx(2**-8)
    assert Region("", 1, 9, 1.0, tries=4).chance(1.0) == 1.0
    # The bound is near what was seen where rows are many.
    assert at_most(10_000, 10_000, 10_000, 20_000) == pytest.approx(0.5, abs=0.02)
    assert at_most(10_000, 0, 10_000, 20_000) < 0.001


def test_the_chance_of_a_region_is_one_of_false_alarms():
    rng = np.random.default_rng(0)
    n_alarms = 0
    for _ in range(2000):
        unlabelled = rng.binomial(200, 0.1)
        n_alarms += Region("", 200 - unlabelled, unlabelled, 1.0).chance(0.1 / 0.9) < 0.05
    assert n_alarms < 0.065 * 2000
