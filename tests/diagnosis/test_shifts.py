"""Gaps and dates that differ between labelled and unlabelled rows."""

import numpy as np
import pandas as pd
import pytest

from varpu.diagnosis import check_pu


def found_in(X, y, code):
    return [f for f in check_pu(X, y) if f.code == code]


@pytest.mark.parametrize("name", ["noise", "town", "day", "flag"])
def test_gaps_that_follow_the_label(clean, name):
    X, y = clean
    random = np.random.default_rng(0).random(len(y))
    X = X.assign(**{name: X[name].astype(object).where(random < np.where(y, 0.95, 0.7))})
    [found] = found_in(X, y, "PU008")
    assert found.columns == (name,)
    assert found.value == pytest.approx(-0.25, abs=0.1)


def test_gaps_at_random(make_clean):
    rng = np.random.default_rng(1)
    X, y = make_clean(1)
    gappy = pd.DataFrame(np.where(rng.random((len(y), 100)) < 0.5, 1.0, np.nan))
    assert not found_in(pd.concat([X, gappy], axis=1), y, "PU008")


@pytest.mark.parametrize("kind", ["date", "text", "zone", "python"])
def test_labels_of_one_period(clean, kind):
    X, y = clean
    rng = np.random.default_rng(0)
    days = np.where(y, rng.integers(300, 500, len(y)), rng.integers(0, 700, len(y)))
    dates = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"))
    given = {
        "date": dates,
        "text": dates.dt.strftime("%Y-%m-%d"),
        "zone": dates.dt.tz_localize("Europe/Helsinki"),
        "python": pd.Series([d.date() for d in dates], dtype=object),
    }
    [found] = found_in(X.assign(taken=given[kind]), y, "PU015")
    assert found.columns == ("taken",)
    assert "2020-11" in found.seen
    assert not found_in(X, y, "PU015")
