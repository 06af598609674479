"""Features of the kernel machine: standardised columns, landmarks, and files."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from varpu.classic.features import from_arrays, learn_features


@pytest.fixture(name="X")
def table():
    return np.random.default_rng(0).normal([5, -100, 0], [1, 50, 1e-6], size=(60, 3))


def test_linear_features_are_standardised_columns(X):
    features = learn_features(X, "linear", None, 10, np.random.RandomState(0))(X)
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(features.std(axis=0), 1)


def test_a_constant_column_stays_quiet(X):
    X = np.column_stack([X, np.full(60, 0.1)])
    features = learn_features(X, "linear", None, 10, np.random.RandomState(0))
    np.testing.assert_allclose(features(X)[:, 3], 0, atol=1e-9)
    assert np.abs(features(X + 1)[:, 3]).max() < 2


def test_with_every_row_a_landmark_products_are_the_kernel(X):
    learned = learn_features(X, "rbf", None, 100, np.random.RandomState(0))
    features = learned(X)
    view = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(features @ features.T, rbf_kernel(view, gamma=1 / 3), atol=1e-6)
    assert features.shape == (60, 60)


def test_landmarks_are_as_many_as_wanted_and_seeded(X):
    first, again, other = (
        learn_features(X, "rbf", 0.5, 7, np.random.RandomState(seed)) for seed in (0, 0, 1)
    )
    assert first(X).shape == (60, 7)
    np.testing.assert_array_equal(first(X), again(X))
    assert (first(X) != other(X)).any()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_there_and_back(X, kernel):
    features = learn_features(X, kernel, None, 7, np.random.RandomState(0))
    np.testing.assert_array_equal(from_arrays(features.to_arrays())(X), features(X))
