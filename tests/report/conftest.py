import numpy as np
import pandas as pd
import pytest

from varpu import PUClassifier, PUReport, VPUBoostingClassifier

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"' onmouseover=alert(1) x=",
    "{{ 7 * 7 }}{% raw %}",
    "=HYPERLINK(1)",
    "a|b `c` [d](javascript:alert) $e$\u2028\u2029",
]


def make_rows(n, seed=0):
    """Rows of two classes, and which of the positives are labelled."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.4
    X = rng.normal(size=(n, 3))
    X[truth, 0] += 3.0
    return X, truth & (rng.random(n) < 0.4)


def hostile_frame(n, seed=0):
    """A table whose names and values try to be more than text, and its labels and ids."""
    X, y = make_rows(n, seed)
    frame = pd.DataFrame(X, columns=HOSTILE[:3])
    values = np.array(HOSTILE)[np.arange(n) % len(HOSTILE)]
    frame[HOSTILE[3]] = pd.Categorical(values, categories=HOSTILE)
    return frame, y, [f"{HOSTILE[i % len(HOSTILE)]} {i}" for i in range(n)]


@pytest.fixture(scope="session")
def fitted():
    """A blend with its rows and labels."""
    X, y = make_rows(500)
    return PUClassifier(families=["kernels"], random_state=0).fit(X, y), X, y


@pytest.fixture(scope="session")
def report(fitted):
    model, X, y = fitted
    return PUReport(model, X, y, findings=[])


@pytest.fixture(scope="session")
def hostile():
    """A report of 10,000 ranked rows of which every text is hostile."""
    frame, y, _ = hostile_frame(600)
    model = VPUBoostingClassifier(max_rounds=40, random_state=0).fit(frame, y)
    frame, y, ids = hostile_frame(13_000, seed=1)
    finding = dict.fromkeys(("code", "severity", "title", "seen", "why", "todo"), HOSTILE[1])
    return PUReport(
        model, frame, y, ids=ids, findings=[finding], title=HOSTILE[0], command=HOSTILE[1]
    )
