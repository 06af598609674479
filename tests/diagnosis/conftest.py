import numpy as np
import pandas as pd
import pytest


def clean_table(seed, prior=0.3, frequency=0.4, n=2000, gap=2.0, scenario="single-set"):
    """Honest PU data of all types of columns: labels are a random subset of positives."""
    rng = np.random.default_rng(seed)
    if scenario == "single-set":
        positive = rng.random(n) < prior
        y = positive & (rng.random(n) < frequency)
    else:  # half of the rows are positives that were drawn apart
        y = rng.permutation(n) < n // 2
        positive = y | (rng.random(n) < prior)
    columns = {
        "strong": rng.normal(size=n) + gap * positive,
        "weak": rng.normal(size=n) + 0.5 * positive,
        "skewed": np.exp(rng.normal(size=n) - 0.7 * positive),
        "noise": rng.normal(size=n),
        "count": rng.poisson(np.where(positive, 3.0, 5.0)),
        "digit": rng.integers(0, 10, n),
        "flag": rng.random(n) < np.where(positive, 0.7, 0.4),
        "town": _draw(rng, positive, [0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]),
        "code": pd.Categorical(rng.integers(0, 60, n).astype(str)),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
        "gappy": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        "gappy town": np.where(rng.random(n) < 0.2, None, rng.choice(["x", "y", "z"], n)),
    }
    return pd.DataFrame(columns), y


def _draw(rng, positive, of_positives, of_others):
    names = np.array(["Oulu", "Turku", "Espoo", "Vaasa"], dtype=object)
    some, others = (rng.choice(names, len(positive), p=p) for p in (of_positives, of_others))
    return np.where(positive, some, others)


@pytest.fixture
def make_clean():
    return clean_table


@pytest.fixture
def clean():
    """A table and its labels without any finding, to be spoiled."""
    return clean_table(0)
