from functools import partial

import numpy as np
import pytest

from varpu import VPUClassifier
from varpu.auto import candidates, densities, graphs, kernels, mixtures
from varpu.crossfit import Split


@pytest.fixture
def few(monkeypatch):
    """One setting of each kind, so that a fit takes a tenth of a second."""
    trees = [setting for setting in candidates.TREES if setting.num_leaves == 3]
    monkeypatch.setattr(candidates, "TREES", trees)
    monkeypatch.setattr(kernels, "SETTINGS", kernels.SETTINGS[:1])
    monkeypatch.setattr(candidates, "OBLIQUE_TREES", candidates.OBLIQUE_TREES[1:])
    monkeypatch.setattr(densities, "WIDTHS", densities.WIDTHS[1:])
    monkeypatch.setattr(graphs, "SETTINGS", graphs.SETTINGS[:1])
    monkeypatch.setattr(mixtures, "VIEWS", mixtures.VIEWS[:1])


@pytest.fixture
def short(monkeypatch):
    """Networks that are hardly trained."""
    quick = partial(VPUClassifier, epochs=2, steps_per_epoch=4)
    monkeypatch.setattr("varpu.auto.networks.VPUClassifier", quick)


@pytest.fixture
def two_gaussians():
    """A function that makes rows, true labels and PU labels of the single-set scenario."""

    def make(n, prior=0.4, distance=3.0, labelled=0.4, seed=0):
        rng = np.random.default_rng(seed)
        truth = rng.random(n) < prior
        X = rng.normal(size=(n, 3))
        X[truth, 0] += distance
        return X, truth, (truth & (rng.random(n) < labelled)).astype(int)

    return make


@pytest.fixture
def known_ratio():
    """A function that makes two Gaussians at a distance: rows, PU labels, and the true ratio."""

    def make(scenario, distance):
        rng = np.random.default_rng(0)
        truth = rng.random(4000) < 0.5
        X = rng.normal(size=(4000, 1)) + distance * truth[:, None]
        if scenario == "single-set":
            y = (truth & (rng.random(4000) < 0.7)).astype(int)
        else:
            X = np.vstack([X, rng.normal(size=(2000, 1)) + distance])
            y = np.repeat([0, 1], [4000, 2000])
        odds = np.exp(distance * X[:, 0] - distance**2 / 2)
        return X, y, odds / (0.5 * odds + 0.5)

    return make


@pytest.fixture
def one_label_less():
    """A function that takes the label of one held-out row of the first fold, for all folds."""

    def change(splits):
        row = splits[0].held_out_p[0]
        return [
            Split(s.p[s.p != row], s.u, s.held_out_p[s.held_out_p != row], s.held_out_u)
            for s in splits
        ]

    return change
