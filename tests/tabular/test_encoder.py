"""What columns are taken for, and what they become."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest

from varpu.exceptions import PUInputError
from varpu.tabular import TableEncoder

N = 120
WORDS = ["red", "green", "blue", "house", "tree", "car", "sky", "sea", "night", "day"]


@pytest.fixture
def frame():
    random = np.random.RandomState(0)
    numbers = random.normal(size=N)
    numbers[::9] = np.nan
    colours = random.choice(["red", "blue", "<b>"], N).astype(object)
    colours[::7] = None
    return pd.DataFrame(
        {
            "number": numbers,
            "count": random.poisson(2, N),
            "as text": [f"{value:.3f}" for value in random.normal(size=N)],
            "true": random.rand(N) < 0.5,
            "yes": random.choice(["Yes", "no"], N),
            "colour": colours,
            "area code": random.choice([49, 30, 221], N),
            "zeros": random.choice(["007", "010"], N),
            "day": pd.date_range("2019-11-01", periods=N, freq="31h", tz="Europe/Berlin"),
            "german": [f"{i % 28 + 1:02d}.{i % 12 + 1:02d}.2021" for i in range(N)],
            "prose": [" ".join(random.choice(WORDS, 6)) for _ in range(N)],
            "id": random.permutation(N),
            "row": np.arange(N) + 5,
            "customer_id": random.permutation(10 * N)[:N],
            "key": [f"k{i:04d}" for i in random.permutation(N)],
            "constant": "x",
            "empty": [None] * N,
            "list": [[i] for i in range(N)],
        }
    )


@pytest.fixture
def encoder(frame):
    return TableEncoder().fit(frame)


def test_kinds(encoder):
    kinds = dict(zip(encoder.columns_["column"], encoder.columns_["kind"], strict=True))
    assert kinds == {
        **dict.fromkeys(["number", "count", "as text"], "number"),
        **dict.fromkeys(["true", "yes"], "boolean"),
        **dict.fromkeys(["colour", "area code", "zeros"], "category"),
        **dict.fromkeys(["day", "german"], "date"),
        "prose": "text",
        **dict.fromkeys(["id", "row", "customer_id", "key", "constant"], "left out"),
        **dict.fromkeys(["empty", "list"], "left out"),
    }
    notes = dict(zip(encoder.columns_["column"], encoder.columns_["note"], strict=True))
    assert notes["constant"] == "constant: 'x'"
    assert "like an id" in notes["id"]
    assert "counts the rows" in notes["row"]
    assert notes["empty"] == "no values"
    assert encoder.columns_["made"].sum() == len(encoder.names_)


def test_transform(encoder, frame):
    table = encoder.transform(frame)
    assert list(table.columns) == encoder.names_
    assert table["number"].isna().tolist() == frame["number"].isna().tolist()
    assert table["colour"].isna().tolist() == frame["colour"].isna().tolist()
    assert table["colour"].cat.categories.tolist() == ["<b>", "blue", "red"]
    assert table["area code"].cat.categories.tolist() == ["221", "30", "49"]
    assert table["yes"].tolist() == [float(value == "Yes") for value in frame["yes"]]
    assert table["day.weekday"].between(0, 6).all()
    utc = frame["day"].dt.tz_convert("UTC")
    assert table["day.hour"].tolist() == utc.dt.hour.tolist()
    assert "german.hour" not in table
    assert table["german"].iloc[0] == (pd.Timestamp("2021-01-01") - pd.Timestamp(0)).days
    text = table.filter(like="prose.").to_numpy()
    assert np.isfinite(text).all()
    assert all(dtype == np.float64 or dtype == "category" for dtype in table.dtypes)


def test_the_state_is_all(encoder, frame):
    fields, arrays = encoder.to_state()
    again = TableEncoder.from_state(json.loads(json.dumps(fields)), arrays)
    pd.testing.assert_frame_equal(again.transform(frame), encoder.transform(frame))
    pd.testing.assert_frame_equal(again.columns_, encoder.columns_)


def test_other_types_that_are_safe(encoder, frame):
    other = frame.astype({"number": str, "count": float, "area code": float, "colour": "category"})
    other["number"] = other["number"].where(frame["number"].notna(), None)
    other["true"] = frame["true"].map({True: "True", False: "FALSE"})
    other["yes"] = (frame["yes"] == "Yes").astype(int)
    other["day"] = frame["day"].astype(str)
    other["german"] = pd.to_datetime(frame["german"], format="%d.%m.%Y")
    other = other[other.columns[::-1]].assign(more=1)
    pd.testing.assert_frame_equal(encoder.transform(other), encoder.transform(frame))
    notes = encoder.check(other)
    assert "'more'" in notes[0]
    assert "another order" in notes[1]
    assert encoder.check(frame) == []


def test_unseen_values_are_missing(encoder, frame):
    other = frame.assign(colour="green", prose=None)
    table = encoder.transform(other)
    assert table["colour"].isna().all()
    assert table["prose.text1"].isna().all()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("number", "much", "column 'number': wanted numbers, as in fit; found 'much'"),
        ("true", "perhaps", "column 'true': wanted true or false, as in fit; found 'perhaps'"),
        ("day", "soon", "column 'day': wanted dates"),
        ("german", 5, "column 'german': wanted dates"),
        ("number", pd.Timestamp("2020-01-01"), "column 'number': wanted numbers"),
    ],
)
def test_other_types_that_are_not(encoder, frame, column, value, message):
    with pytest.raises(PUInputError, match=message):
        encoder.transform(frame.assign(**{column: value}))


def test_missing_columns(encoder, frame):
    with pytest.raises(PUInputError, match=r"lacks columns .*'number' \(there is 'Number'\)"):
        encoder.transform(frame.rename(columns={"number": "Number"}))


def test_no_usable_column():
    with pytest.raises(PUInputError, match=r"no column to learn from .*'a': constant"):
        TableEncoder().fit(pd.DataFrame({"a": [1, 1, 1]}))
    with pytest.raises(PUInputError, match="no rows"):
        TableEncoder().fit(pd.DataFrame({"a": []}))
    with pytest.raises(PUInputError, match="names must differ"):
        TableEncoder().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_odd_values():
    frame = pd.DataFrame(
        {
            "infinite": [np.inf, 1.0, 2.0, np.nan],
            "span": pd.to_timedelta([1, 2, 3, None], unit="D"),
            "time": [datetime.time(10), datetime.time(11), None, datetime.time(10)],
            "gaps": pd.array([True, None, False, True], dtype="boolean"),
            "day": pd.date_range("2020-01-01", periods=4),
            "day.month": [1.0, 2.0, 3.0, 4.5],
        }
    )
    encoder = TableEncoder().fit(frame)
    table = encoder.transform(frame)
    assert table["infinite"].tolist()[1:3] == [1.0, 2.0]
    assert table["infinite"].isna().sum() == 2
    assert table["span"].tolist()[:2] == [86400.0, 172800.0]
    assert table["time"].isna().tolist() == [False, False, True, False]
    assert table["gaps"].tolist()[::2] == [1.0, 0.0]
    assert len(set(table.columns)) == len(table.columns)


def test_many_levels():
    random = np.random.RandomState(0)
    frame = pd.DataFrame({"shop": [f"s{int(i)}" for i in random.exponential(300, 4000)]})
    encoder = TableEncoder().fit(frame)
    assert "500 most common" in encoder.columns_["note"].iloc[0]
    assert encoder.transform(frame)["shop"].isna().mean() < 0.3
