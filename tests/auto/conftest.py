from functools import partial

import numpy as np
import pytest

from varpu import VPUClassifier
from varpu.auto import candidates, densities, kernels


@pytest.fixture
def few(monkeypatch):
    """One setting of each kind, so that a fit takes a tenth of a second."""
    trees = [setting for setting in candidates.TREES if setting.num_leaves == 3]
    monkeypatch.setattr(candidates, "TREES", trees)
    monkeypatch.setattr(kernels, "SETTINGS", kernels.SETTINGS[:1])
    monkeypatch.setattr(densities, "WIDTHS", densities.WIDTHS[1:])


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
