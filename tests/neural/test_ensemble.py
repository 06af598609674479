"""Networks as one scorer."""

import numpy as np
import pytest
import torch
from scipy.special import log_expit

from varpu.nets import MLP, LeNet5, logit
from varpu.neural import ensemble as module
from varpu.neural.ensemble import Ensemble, log_phi

CPU = torch.device("cpu")


def networks(k):
    made = []
    for seed in range(k):
        torch.manual_seed(seed)
        made.append(MLP(3, (8, 8)).eval())
    return made


def make(state):
    network = MLP(3, (8, 8))
    network.load_state_dict(state)
    return network.eval()


TABLE = np.random.default_rng(0).normal(size=(50, 3))


def test_scores_are_those_of_each_network(monkeypatch):
    made = networks(3)
    scores = log_phi(made, TABLE, CPU)
    for network, of_network in zip(made, scores, strict=True):
        with torch.no_grad():
            g = logit(network.double()(torch.tensor(TABLE))).numpy()
        np.testing.assert_allclose(of_network, log_expit(g), rtol=1e-12)
        network.float()
    monkeypatch.setattr(module, "_SCORED_AT_ONCE", 7)
    np.testing.assert_allclose(log_phi(made, TABLE, CPU), scores, rtol=1e-12)


def test_scoring_leaves_the_networks_as_they_are():
    (network,) = made = networks(1)
    log_phi(made, TABLE, CPU)
    assert {value.dtype for value in network.state_dict().values()} == {torch.float32}


def test_images_are_scored_as_bytes():
    images = np.random.default_rng(0).integers(0, 256, (6, 1, 28, 28), dtype=np.uint8)
    made = [LeNet5().eval(), LeNet5().eval()]
    scores = log_phi(made, images, CPU)
    as_floats = log_phi(made, ((images - 127.5) / 127.5).astype(np.float32), CPU)
    assert scores.shape == (2, 6)
    np.testing.assert_allclose(scores, as_floats, atol=1e-6)


def test_folds_are_averaged_in_logs_and_penalty_weights_in_ratios():
    made, log_means = networks(6), np.arange(6.0).reshape(2, 3)
    weights = np.array([0.25, 0.75])
    score = Ensemble(made, log_means, weights).predict(TABLE, CPU)
    ratios = np.exp(log_phi(made, TABLE, CPU).reshape(2, 3, -1) - log_means[..., None])
    geometric = ratios.prod(axis=1) ** (1 / 3)
    np.testing.assert_allclose(np.exp(score), weights @ geometric)


def test_one_network_alone_is_left_as_it_is_to_the_bit():
    made = networks(1)
    score = Ensemble(made, np.zeros((1, 1)), np.ones(1)).predict(TABLE, CPU)
    np.testing.assert_array_equal(score, log_phi(made, TABLE, CPU)[0])


def test_arrays_and_back():
    first = Ensemble(networks(4), np.arange(4.0).reshape(2, 2), np.array([0.3, 0.7]))
    again = Ensemble.from_arrays(first.to_arrays(), make)
    np.testing.assert_array_equal(again.predict(TABLE, CPU), first.predict(TABLE, CPU))
    missing = first.to_arrays()
    del missing["network.3.0.weight"]
    with pytest.raises(RuntimeError, match="Missing key"):
        Ensemble.from_arrays(missing, make)
