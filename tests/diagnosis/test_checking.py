"""The whole: clean data, hostile tables, and what a finding is."""

import json
import time
from dataclasses import FrozenInstanceError
from datetime import date

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from varpu.diagnosis import CODES, SEVERITIES, Finding, check_pu
from varpu.diagnosis.codes import make
from varpu.exceptions import PUInputError

GRID = [
    (prior, frequency, gap, scenario)
    for prior, frequency, gap in [
        (0.1, 0.5, 2.0),
        (0.1, 0.9, 8.0),
        (0.3, 0.1, 0.5),
        (0.3, 0.9, 4.0),
        (0.5, 0.5, 1.0),
        (0.7, 0.9, 8.0),
        (0.9, 0.1, 2.0),
        (0.9, 0.9, 1.0),
    ]
    for scenario in ("single-set", "case-control")
]


def troubles(findings):
    return [(f.code, f.seen) for f in findings if f.severity != "note"]


@pytest.mark.parametrize(("prior", "frequency", "gap", "scenario"), GRID)
def test_clean_data(make_clean, prior, frequency, gap, scenario):
    n = max(1500, round(140 / (prior * frequency)))
    X, y = make_clean(3, prior, frequency, n, gap, scenario)
    assert troubles(check_pu(X, y, scenario=scenario)) == []


@pytest.mark.slow
def test_false_alarms_are_rare(make_clean):
    """Print how many of 1000 clean tables have an error or a warning: run with -s."""
    alarms = []
    for seed in range(50_000, 51_000):  # not those that thresholds were chosen on
        rng = np.random.default_rng(seed)
        prior, frequency = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], 2)
        gap, n = rng.choice([0.5, 1, 2, 4, 8]), int(rng.choice([600, 2000, 6000]))
        scenario = str(rng.choice(["single-set", "case-control"], p=[0.7, 0.3]))
        if scenario == "single-set":
            n = max(n, int(140 / (prior * frequency)))
        X, y = make_clean(seed + 1000, prior, frequency, n, gap, scenario)
        findings = check_pu(X, y, scenario=scenario, random_state=seed)
        alarms += [code for code, _ in troubles(findings) if code != "PU003"]
    print(f"{len(alarms)} false alarms in 1000 tables: {alarms}")
    assert len(alarms) <= 5


def test_the_same_seed_gives_the_same(clean):
    X, y = clean
    X = X.assign(leak=y)
    assert check_pu(X, y, random_state=3) == check_pu(X, y, random_state=3)
    assert check_pu(X, y.astype(int)) == check_pu(X, y) == check_pu(X, np.where(y, 1, -1))


def test_gravest_first(clean):
    X, y = clean
    found = check_pu(X.assign(unit="cm", id=np.arange(len(y)), leak=y), y)
    assert [f.code for f in found] == ["PU001", "PU007", "PU006"]


HOSTILE = ["<script>alert('x')</script>", "", "a\nb", "{{ 7 * 7 }}", 'say "hi"', "[red]x[/red]"]


@pytest.mark.parametrize("name", [*HOSTILE, 7, None, ("a", 1), 2.5])
def test_any_name(clean, name):
    X, y = clean
    X = pd.concat([X, pd.Series(y, name="leak")], axis=1)
    X.columns = pd.Index([*X.columns[:-1], name], dtype=object)
    [found] = check_pu(X, y)
    assert found.columns == (str(name),)
    assert "\n" not in found.seen
    json.dumps(found.to_dict())


def strange_tables():
    n, rng = 200, np.random.default_rng(0)
    noise = rng.normal(size=n)
    mixed = [1, "a", None, 2.5, True, date(2024, 1, 1), b"x", (1, 2), np.nan, pd.NaT]
    return {
        "mixed": pd.DataFrame({"x": mixed * 20}),
        "lists": pd.DataFrame({"x": [[i % 3] for i in range(n)]}),
        "dicts": pd.DataFrame({"x": [{"a": i % 3} for i in range(n)], "y": noise}),
        "all missing": pd.DataFrame({"x": [None] * n, "y": np.full(n, np.nan)}),
        "missing dates": pd.DataFrame({"x": [pd.NaT] * n}),
        "one column": pd.DataFrame({"x": noise}),
        "constant": pd.DataFrame({"x": np.ones(n)}),
        "array": rng.normal(size=(n, 3)),
        "objects": np.array([[1, "a"]] * n, dtype=object),
        "strings": rng.choice(["a", "b"], size=(n, 2)),
        "bools": rng.random((n, 2)) < 0.5,
        "sparse": scipy.sparse.random(n, 5, 0.2, random_state=0),
        "complex": pd.DataFrame({"x": noise + 1j}),
        "huge": pd.DataFrame({"x": noise * 1e300, "y": rng.integers(0, 2**62, n)}),
        "infinite": pd.DataFrame({"x": np.where(noise > 0, np.inf, -np.inf)}),
        "nullable": pd.DataFrame({"x": pd.array([1, None] * 100, "Int64"), "y": noise > 0}).astype(
            {"y": "boolean"}
        ),
        "arrow": pd.DataFrame({"x": noise, "y": ["a", None] * 100}).convert_dtypes(
            dtype_backend="pyarrow"
        ),
        "intervals": pd.DataFrame({"x": pd.cut(noise, 4)}),
        "periods": pd.DataFrame({"x": pd.period_range("2020", periods=n, freq="D")}),
        "spans": pd.DataFrame({"x": pd.to_timedelta(np.arange(n), unit="h")}),
        "old dates": pd.DataFrame({"x": ["0001-01-01", "9999-12-31", "2020-13-45", "x"] * 50}),
        "bad dates": pd.DataFrame({"x": [f"2020-{i}-{i}" for i in range(10, 30)] * 10}),
        "long": pd.DataFrame({"x": ["z" * 100_000, "y"] * 100}),
        "levels": pd.DataFrame(
            rng.normal(size=(n, 2)), columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
        ),
        "same names": pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "a", ""]),
    }


@pytest.mark.parametrize("n_labelled", [5, 60, 199])
@pytest.mark.parametrize("name", strange_tables())
def test_strange_tables(name, n_labelled):
    y = np.random.default_rng(1).permutation(200) < n_labelled
    for found in check_pu(strange_tables()[name], y):
        assert found.code in CODES
        assert len(found.seen) < 1000


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.zeros((0, 2)), [], "rows and columns"),
        (np.zeros((4, 0)), [0, 0, 1, 1], "rows and columns"),
        (np.zeros(4), [0, 0, 1, 1], "rows and columns"),
        (np.zeros((4, 1)), [0, 0, 0, 0], "two values"),
        (np.zeros((4, 1)), [0, 1, 2, 2], "two values"),
        (np.zeros((4, 1)), [0, 1], "4 rows but y has 2"),
    ],
)
def test_bad_input(X, y, message):
    with pytest.raises(PUInputError, match=message):
        check_pu(X, y)


def test_bad_scenario(clean):
    with pytest.raises(PUInputError, match="scenario must be one of"):
        check_pu(*clean, scenario="other")


def test_codes_are_stable():
    assert list(CODES) == [f"PU{i:03d}" for i in range(1, 17)]
    for name, code in CODES.items():
        assert code.code == name
        assert code.severities == tuple(s for s in SEVERITIES if s in code.severities)
        assert all([code.title, code.severities, code.why, code.todo])
    assert len({code.title for code in CODES.values()}) == len(CODES)


def test_a_finding():
    found = make("PU013", "error", "Seen.", columns=("a",), rows=np.arange(9), value=9.0)
    assert found.to_dict() == {
        "code": "PU013",
        "severity": "error",
        "title": "Infinite values",
        "seen": "Seen.",
        "why": CODES["PU013"].why,
        "todo": CODES["PU013"].todo,
        "columns": ["a"],
        "rows": [0, 1, 2, 3, 4],
        "value": 9.0,
    }
    assert Finding(**{**found.to_dict(), "columns": ("a",), "rows": found.rows}) == found
    with pytest.raises(FrozenInstanceError):
        found.code = "PU001"
    with pytest.raises(ValueError, match="PU013 is not note"):
        make("PU013", "note", "Seen.")


def test_a_large_table_is_quick():
    rng, n = np.random.default_rng(0), 100_000
    positive = rng.random(n) < 0.3
    numbers = {f"n{i}": rng.normal(size=n) + 0.3 * positive for i in range(22)}
    texts = {f"t{i}": rng.choice(["a", "b", "c", "d"], n).astype(object) for i in range(8)}
    X = pd.DataFrame({**numbers, **texts})
    start = time.perf_counter()
    assert check_pu(X, positive & (rng.random(n) < 0.3)) == []
    assert time.perf_counter() - start < 20
