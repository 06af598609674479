"""Populations whose true classes are known, and PU labels of them under both scenarios."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pytest


@dataclass
class Population:
    """Rows with their true class and a rough score with ties, as every metric must bear."""

    truth: np.ndarray
    score: np.ndarray

    @property
    def prior(self):
        return self.truth.mean()

    @property
    def positives(self):
        return np.flatnonzero(self.truth)

    def all_labellings(self, n_labelled):
        """Every single-set labelling with so many labels: their mean is an exact expectation."""
        for labelled in combinations(self.positives, n_labelled):
            yield np.isin(np.arange(len(self.truth)), labelled).astype(int)

    def case_control(self, values):
        """Labels and values where P is an exact sample of the positives (each thrice), U is all."""
        of_p = np.repeat(values[self.positives], 3)
        return np.repeat([1, 0], [len(of_p), len(values)]), np.concatenate([of_p, values])


@pytest.fixture(params=range(4))
def population(request):
    rng = np.random.default_rng(request.param)
    truth = rng.permutation(np.repeat([1, 0], [5, 7 + request.param]))
    return Population(truth, rng.integers(1, 10, len(truth)) / 10)


@pytest.fixture(scope="session")
def big():
    """A large sample from a known posterior: prior, rows, classes, posterior."""
    rng = np.random.default_rng(0)
    truth = (rng.random(40_000) < 0.3).astype(int)
    x = rng.normal(1.5 * truth)
    odds = 0.3 / 0.7 * np.exp(1.5 * x - 1.125)
    return 0.3, x, truth, odds / (1 + odds)


@pytest.fixture(scope="session")
def draw_labels():
    """Make PU labels of known classes: each positive is labelled with the same probability."""

    def draw(truth, share, seed):
        return truth * (np.random.default_rng(seed).random(len(truth)) < share).astype(int)

    return draw
