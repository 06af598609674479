import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@pytest.fixture
def two_gaussians():
    """A function that makes rows, true labels and PU labels in either scenario.

    Two unit normals, ``distance`` apart in the first column. Single-set: the share ``labelled`` of
    the positives is labelled. Case-control: ``n`` unlabelled rows, then ``n_positive`` positives.
    """

    def make(n, prior=0.4, distance=4.0, labelled=0.4, seed=0, n_positive=None):
        rng = np.random.default_rng([seed, 99])
        truth = rng.random(n) < prior
        y = truth & (rng.random(n) < labelled)
        if n_positive is not None:
            truth = np.concatenate([truth, np.ones(n_positive, dtype=bool)])
            y = np.arange(len(truth)) >= n
        X = rng.normal(size=(len(truth), 3))
        X[truth, 0] += distance
        return X, truth, y.astype(int)

    return make


@pytest.fixture
def logistic():
    """Quick, smooth, without random numbers."""
    return make_pipeline(StandardScaler(), LogisticRegression())
