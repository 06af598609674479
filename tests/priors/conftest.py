import numpy as np
import pytest


def two_gaussians(n, prior=0.4, distance=3.0, labelled=0.4, seed=0, n_columns=3):
    """One sample of which some positives are labelled: rows, truth, labels."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < prior
    X = rng.normal(size=(n, n_columns))
    X[truth, 0] += distance
    return X, truth, (truth & (rng.random(n) < labelled)).astype(int)


def two_samples(n_u, n_p, prior, distance, seed=0, n_columns=2):
    """A marginal sample and labelled positives beside it: rows and labels."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_u) < prior
    X = rng.normal(size=(n_u + n_p, n_columns))
    X[:n_u][truth, 0] += distance
    X[n_u:, 0] += distance
    return X, np.repeat([0, 1], [n_u, n_p])


@pytest.fixture
def gaussians():
    return two_gaussians


@pytest.fixture
def samples():
    return two_samples
