"""Cross-fitted networks: what is out of fold is out of fold, and the pool decides."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

from varpu import VPUClassifier
from varpu.calibration import recalibration
from varpu.crossfit import blend, fold_splits, pooled_loss
from varpu.exceptions import PUInputError, ScaleWarning
from varpu.nets import MLP
from varpu.neural.crossfit import blended_networks
from varpu.neural.ensemble import log_phi
from varpu.scale import read_prior
from varpu.training import Trained

QUICK = {"hidden": (32, 32), "epochs": 6, "batch_size": 64, "random_state": 0}
CPU = torch.device("cpu")
LAMS = [0.0, 1.0]


def two_gaussians(n, prior=0.4, distance=3.0, labelled=0.4, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < prior
    X = rng.normal(size=(n, 2))
    X[truth, 0] += distance
    return X, truth, (truth & (rng.random(n) < labelled)).astype(int)


def splits_of(X, y, n_folds=5, scenario="single-set", seed=0):
    """The folds of a fit with that ``random_state``."""
    return fold_splits(X, y == 1, n_folds, scenario, np.random.RandomState(seed))


@pytest.fixture(scope="module")
def fitted():
    X, truth, y = two_gaussians(1200, distance=2.0)
    model = VPUClassifier(**{**QUICK, "lr": 1e-3}, lam=LAMS).fit(X, y)
    return model, X, truth, y


@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
def test_every_row_is_held_out_once_and_never_by_what_it_trains(scenario):
    X, _, y = two_gaussians(300)
    splits = splits_of(X, y, 4, scenario)
    positive = np.flatnonzero(y == 1)
    marginal = np.arange(300) if scenario == "single-set" else np.flatnonzero(y == 0)
    for side, rows in (("p", positive), ("u", marginal)):
        held_out = [getattr(split, f"held_out_{side}") for split in splits]
        np.testing.assert_array_equal(np.sort(np.concatenate(held_out)), rows)
        for split, out in zip(splits, held_out, strict=True):
            np.testing.assert_array_equal(np.sort([*getattr(split, side), *out]), rows)
    for split in splits:
        trained, held_out = {*split.p, *split.u}, {*split.held_out_p, *split.held_out_u}
        assert not trained & held_out


def test_the_ratio_of_each_fold_has_mean_one_on_the_rows_held_out(fitted):
    model, X, _, y = fitted
    ratio = np.exp(model.out_of_fold_log_ratio_)
    for split in splits_of(X, y):
        assert ratio[split.held_out_u].mean() == pytest.approx(1, abs=0.12)
    assert ratio.mean() == pytest.approx(1, abs=0.03)


def test_each_fold_is_scored_by_its_own_networks_in_their_own_unit(fitted):
    """The attributes, from the networks alone."""
    model, X, _, y = fitted
    splits = splits_of(X, y)
    assert len(model.modules_) == 2 * 5  # both penalty weights have a part in it
    scores = log_phi(model.modules_, (X - model.mean_) / model.std_, CPU).reshape(2, 5, -1)
    pool, ratios = np.empty((2, len(X))), np.empty_like(scores)
    for k, split in enumerate(splits):
        ratios[:, k] = scores[:, k] - np.log(np.exp(scores[:, k][:, split.u]).mean(1))[:, None]
        pool[:, split.held_out_u] = ratios[:, k][:, split.held_out_u]
    out_of_fold = blend(pool, model.lam_weights_)
    np.testing.assert_allclose(model.out_of_fold_log_ratio_, out_of_fold)
    positive, everyone = (y == 1).astype(float), np.ones(len(y))
    assert model.held_out_loss_ == pytest.approx(pooled_loss(out_of_fold, positive, everyone))
    # In the order of the table, as the bootstrap draws rows by their numbers.
    reading = read_prior(out_of_fold[y == 1], out_of_fold, np.ones((y == 1).sum()), everyone)
    assert (model.prior_, model.prior_interval_) == (reading.prior, reading.interval)
    assert model.scale_ == pytest.approx(1 / model.prior_)
    # New rows, as these might be: the folds' mean log-ratio, the blend of ratios, then the curve.
    curve = recalibration(out_of_fold, positive, everyone)
    new = curve(np.log(model.lam_weights_ @ np.exp(ratios.mean(axis=1))))
    np.testing.assert_allclose(model.log_ratio(X), new)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], np.minimum(model.prior_ * np.exp(new), 1)
    )


def test_the_blend_is_better_than_each_of_its_lam_alone(fitted):
    model, X, _, y = fitted
    assert model.lam_weights_.sum() == pytest.approx(1)
    assert model.lam_ == LAMS[int(model.lam_weights_.argmax())]
    epochs = set()
    for number, lam in enumerate(LAMS):
        alone = VPUClassifier(**{**QUICK, "lr": 1e-3}, lam=lam).fit(X, y)
        assert alone.lam_weights_.tolist() == [1.0]
        assert model.held_out_loss_ < alone.held_out_loss_  # both have a weight, so both help
        # A lam in the grid is the lam alone, epoch and all.
        epochs.add(alone.best_epoch_)
        for one, other in zip(model.modules_[5 * number :][:5], alone.modules_, strict=True):
            for name, value in other.state_dict().items():
                torch.testing.assert_close(one.state_dict()[name], value, rtol=0, atol=1e-5)
    assert len(epochs) == 2


def test_folds_of_one_lam_keep_one_epoch(fitted):
    model, X, _, y = fitted
    history = model.history_
    columns = ["lam", "fold", "epoch", "loss", "penalty", "held_out_loss"]
    assert list(history.columns) == columns
    assert len(history) == 2 * 5 * 6
    assert not history.duplicated(["lam", "fold", "epoch"]).any()
    positives = [len(split.held_out_p) for split in splits_of(X, y)]
    of_lam = history[history["lam"] == model.lam_]
    curve = of_lam.pivot(index="epoch", columns="fold", values="held_out_loss").to_numpy()
    assert model.best_epoch_ == np.average(curve, axis=1, weights=positives).argmin()
    # Each curve is the fold's own: at that epoch, the loss of its network on the rows it holds out.
    first = 5 * LAMS.index(model.lam_)
    scores = log_phi(model.modules_, (X - model.mean_) / model.std_, CPU)[first : first + 5]
    for k, split in enumerate(splits_of(X, y)):
        rows = split.held_out_u
        loss = pooled_loss(scores[k, rows], y[rows] * 1.0, np.ones(len(rows)))
        assert curve[model.best_epoch_, k] == pytest.approx(loss, abs=1e-5)


def test_patience_counts_the_pool():
    X, _, y = two_gaussians(300)
    settings = {**QUICK, "epochs": 60, "lr": 3e-3, "scale": "max"}
    model = VPUClassifier(**settings, patience=2).fit(X, y)
    assert model.history_["epoch"].max() == model.best_epoch_ + 2 < 59


def copied_noise(n, seed=0):
    """Nothing to learn, but every row has an identical twin that is not labelled."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), (np.arange(n) % 4 == 0).astype(int)
    return np.vstack([X, X]), np.concatenate([y, np.zeros(n, int)])


def test_a_column_to_memorise_by_does_not_help():
    """Networks that memorise: without the folds they know P, out of fold they know nothing."""
    rng = np.random.default_rng(0)
    n = 400
    X, y = rng.normal(size=(n, 2)), (np.arange(n) % 4 == 0).astype(int)
    # A code for each row, so that any set of rows can be told from the others.
    planted = np.column_stack([X, np.eye(n)])
    settings = {**QUICK, "epochs": 10, "lr": 3e-3, "penalty": None, "patience": None}
    seen = VPUClassifier(**settings, cv=None, validation_fraction=0, scale="max").fit(planted, y)
    assert roc_auc_score(y, seen.decision_function(planted)) > 0.95
    for table in (X, planted):
        model = VPUClassifier(**settings, cv=3, scale="max").fit(table, y)
        assert model.held_out_loss_ > -0.02
        assert abs(roc_auc_score(y, model.out_of_fold_log_ratio_) - 0.5) < 0.1


def test_an_unlabelled_copy_is_never_parted_from_its_labelled_row():
    X, y = copied_noise(300)
    for split in splits_of(X, y):
        rows = np.concatenate([split.held_out_p, split.held_out_u])
        assert set(rows % 300) == set(rows[rows < 300])
        assert not set(split.u % 300) & set(rows % 300)
    model = VPUClassifier(**{**QUICK, "epochs": 3}, scale="max").fit(X, y)
    scores = model.out_of_fold_log_ratio_
    np.testing.assert_allclose(scores[:300], scores[300:])


def test_case_control_pool_is_the_unlabelled_rows():
    rng = np.random.default_rng(0)
    truth = rng.random(2000) < 0.3
    U = rng.normal(size=(2000, 2)) + np.where(truth, 5.0, 0.0)[:, None]
    P = rng.normal(size=(1000, 2)) + 5.0
    X, y = np.vstack([U, P]), np.repeat([0, 1], [2000, 1000])
    model = VPUClassifier(**QUICK, scenario="case-control").fit(X, y)
    ratio = model.out_of_fold_log_ratio_
    assert np.isfinite(ratio).all()  # labelled rows have a score, though they are no part of U
    assert np.exp(ratio[y == 0]).mean() == pytest.approx(1, abs=0.03)
    assert np.exp(ratio).mean() > 1.3
    assert model.prior_ == pytest.approx(0.3, abs=0.03)
    assert model.held_out_loss_ == pytest.approx(pooled_loss(ratio, y * 1.0, 1.0 - y))
    np.testing.assert_allclose(model.mean_, U.mean(axis=0))


def test_two_labelled_rows_are_enough_for_two_folds():
    X, _, _ = two_gaussians(60)
    with pytest.warns(ScaleWarning, match="rests on 2 labelled positives") as caught:
        model = VPUClassifier(**QUICK).fit(X, np.arange(60) < 2)
    assert caught[0].filename == __file__  # the line that called fit
    assert len(model.modules_) == 2
    assert np.isfinite(model.decision_function(X)).all()


class Branching(nn.Module):
    """A network that torch.func cannot run, so that folds are stacks that run in step."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.layers(x * (1 if x.abs().sum().item() > 0 else -1))


def test_networks_that_cannot_be_stacked_are_cross_fitted_too(tmp_path):
    X, truth, y = two_gaussians(600, distance=4.0)
    settings = {**QUICK, "module": Branching, "lr": 1e-2, "cv": 3}
    model = VPUClassifier(**settings, lam=[0.1, 1.0]).fit(X, y)
    assert (model.predict(X) == truth).mean() > 0.93
    saved = VPUClassifier(**settings, lam=[0.1, 1.0], checkpoint=tmp_path).fit(X, y)
    np.testing.assert_array_equal(saved.predict_proba(X), model.predict_proba(X))
    resumed = VPUClassifier(**settings, lam=[0.1, 1.0], checkpoint=tmp_path).fit(X, y)
    np.testing.assert_array_equal(resumed.predict_proba(X), model.predict_proba(X))


def test_the_seed_decides_folds_and_networks():
    X, _, y = two_gaussians(300)
    settings = {**QUICK, "epochs": 2, "scale": "max"}
    first, second = (VPUClassifier(**settings).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.out_of_fold_log_ratio_, second.out_of_fold_log_ratio_)
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    weights = [network.state_dict()["0.weight"] for network in first.modules_]
    assert not torch.allclose(weights[0], weights[1], atol=0.1)  # folds start apart, too


class Made:
    """A hand-made fit of networks that are constants, 0, 1, 2..., on six rows in two folds."""

    positive = np.array([1, 0, 0, 1, 0, 0], dtype=bool)
    table = np.zeros((6, 1))

    def __init__(self, epochs):
        X = np.arange(6.0).reshape(-1, 1)
        self.splits = fold_splits(X, self.positive, 2, "single-set", np.random.RandomState(0))
        k, zeros = len(epochs), {n: 0 * v for n, v in MLP(1, (2,)).state_dict().items()}
        states = [{**zeros, "2.bias": torch.tensor([0.0, value])} for value in range(k)]
        self.trained = Trained(states, np.array(epochs), np.zeros(k), np.zeros((1, 3, k)))

    def blended(self):
        def make(state):
            network = MLP(1, (2,))
            network.load_state_dict(state)
            return network

        return blended_networks(self.trained, make, self.table, self.splits, CPU)


def test_a_lam_that_diverged_has_no_part_in_the_blend():
    fitted = Made([-1, -1, 3, 3]).blended()
    assert fitted.lam_weights.tolist() == [0.0, 1.0]
    assert len(fitted.ensemble.networks) == 2
    with pytest.raises(PUInputError, match="training diverged"):
        Made([-1, -1]).blended()


def test_a_network_of_next_to_no_weight_is_not_kept(monkeypatch):
    made = Made([3, 3, 3, 3])
    for weights, kept in (([0.9995, 0.0005], [1.0, 0.0]), ([0.998, 0.002], [0.998, 0.002])):
        found = np.array(weights)
        monkeypatch.setattr("varpu.neural.crossfit.blend_weights", lambda *_, w=found: w.copy())
        fitted = made.blended()
        np.testing.assert_allclose(fitted.lam_weights, kept)
        constants = [float(net.state_dict()["2.bias"][1]) for net in fitted.ensemble.networks]
        assert constants == [0, 1, 2, 3][: 2 * np.count_nonzero(kept)]
        assert fitted.ensemble.log_means.shape == (np.count_nonzero(kept), 2)


def test_a_diverged_fit_is_an_error():
    X, _, y = two_gaussians(200)
    with pytest.raises(PUInputError, match="training diverged"):
        VPUClassifier(**{**QUICK, "lr": 1e30}).fit(X, y)
