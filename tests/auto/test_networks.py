"""Networks as candidates: one ensemble a penalty weight, scored out of fold."""

from functools import partial

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


@pytest.fixture
def trainings(monkeypatch):
    """What each call of train_networks was given and gave, in the order of the calls."""
    seen, train = [], networks.train_networks

    def spy(*args):
        seen.append((args, train(*args)))
        return seen[-1][1]

    monkeypatch.setattr(networks, "train_networks", spy)
    return seen


def test_each_penalty_weight_stops_in_its_own_time(two_gaussians, trainings, monkeypatch):
    monkeypatch.setattr(networks, "VPUClassifier", partial(VPUClassifier, steps_per_epoch=4))
    X, _, y = two_gaussians(150)
    splits = fold_splits(X, y == 1, 2, "single-set", np.random.RandomState(0))
    networks.fit_networks(X, splits, [1, 2], "cpu", None, np.inf)
    lengths = [len(trained.history) for _, trained in trainings]
    for length, (_, trained) in zip(lengths, trainings, strict=True):
        assert length == min(50, trained.best_epoch[0] + 1 + networks._PATIENCE)
    assert len(set(lengths)) > 1  # in one stack they would all be as long as the longest


def test_a_penalty_weight_gives_the_same_in_company(fitted, trainings, short):
    """The folds' networks begin alike and see the same batches, whichever weights are trained."""
    X, splits, (ensembles, _) = fitted
    networks.fit_networks(X, splits, [1, 2, 3], "cpu", None, np.inf)
    settings, factory, *_ = trainings[0][0]
    together = networks.train_networks(
        settings, factory, X, splits, list(networks.LAMS), [1, 2, 3], None, np.inf
    )
    alone = [net.state_dict() for one in ensembles for net in one.networks]
    for own, other in zip(alone, together.states, strict=True):
        for name, value in own.items():
            torch.testing.assert_close(value, other[name])


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


@pytest.mark.parametrize(
    ("n_labelled", "width", "precision"), [(499, 64, "fp32"), (500, 256, "auto")]
)
def test_few_positives_get_small_networks_and_keep_them(
    two_gaussians, short, trainings, n_labelled, width, precision
):
    X, truth, _ = two_gaussians(1500)
    labelled = np.zeros(len(X), dtype=bool)
    labelled[np.flatnonzero(truth)[:n_labelled]] = True
    assert labelled.sum() == n_labelled
    splits = fold_splits(X, labelled, 2, "single-set", np.random.RandomState(0))
    ensembles, _ = networks.fit_networks(X, splits, [1, 2], "cpu", None, np.inf)
    for ensemble in ensembles:
        for one in (ensemble, networks.from_arrays(ensemble.to_arrays())):
            assert [net.hidden for net in one.networks] == [(width, width)] * 2
    assert {settings.precision for (settings, *_), _ in trainings} == {precision}
