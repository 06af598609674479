"""Networks as candidates: one ensemble a penalty weight, scored out of fold."""

import numpy as np
import pytest
import torch

from varpu import VPUClassifier
from varpu.auto import networks
from varpu.crossfit import fold_splits
from varpu.neural.ensemble import log_phi

CPU = torch.device("cpu")


@pytest.fixture
def fitted(two_gaussians, short):
    X, _, y = two_gaussians(150)
    splits = fold_splits(X, y == 1, 3, "single-set", np.random.RandomState(0))
    return X, splits, networks.fit_networks(X, splits, [1, 2, 3], "cpu", None, np.inf)


def test_one_ensemble_a_penalty_weight_with_a_network_a_fold(fitted):
    X, splits, (ensembles, log_ratios) = fitted
    assert len(ensembles) == len(log_ratios) == 3
    assert log_ratios.shape == (3, 150)
    for ensemble, log_ratio in zip(ensembles, log_ratios, strict=True):
        scores = log_phi(ensemble.networks, X, CPU)  # (folds, n)
        log_means = [
            np.log(np.exp(s[split.u]).mean()) for s, split in zip(scores, splits, strict=True)
        ]
        np.testing.assert_allclose(ensemble.log_means, [log_means])
        for k, split in enumerate(splits):
            rows = split.held_out_u
            np.testing.assert_allclose(log_ratio[rows], scores[k, rows] - log_means[k])
        new = (scores - np.array(log_means)[:, None]).mean(axis=0)
        np.testing.assert_allclose(ensemble.predict(X, CPU), new)


def test_penalty_weights_differ_and_folds_do(fitted):
    _, _, (ensembles, _) = fitted
    first = [net.state_dict()["0.weight"] for one in ensembles for net in one.networks]
    for i, one in enumerate(first):
        assert all(not torch.equal(one, other) for other in first[i + 1 :])


def test_one_that_diverged_has_no_scores(two_gaussians, monkeypatch):
    X, _, y = two_gaussians(100)
    splits = fold_splits(X, y == 1, 2, "single-set", np.random.RandomState(0))

    def wild(**settings):
        return VPUClassifier(**{**settings, "lr": 1e30, "epochs": 2, "steps_per_epoch": 3})

    monkeypatch.setattr(networks, "VPUClassifier", wild)
    _, log_ratios = networks.fit_networks(X, splits, [1, 2], "cpu", None, np.inf)
    assert np.isnan(log_ratios).all()


def test_arrays_and_back_leave_the_generator_alone(fitted):
    X, _, (ensembles, _) = fitted
    before = torch.get_rng_state()
    again = networks.from_arrays(ensembles[1].to_arrays())
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(again.predict(X, CPU), ensembles[1].predict(X, CPU))
    assert not any(network.training for network in again.networks)
