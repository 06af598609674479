"""A fit that was stopped and goes on is, bit for bit, the fit that was not."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from varpu.exceptions import ModelFileError
from varpu.nets import MLP
from varpu.training import DeviceRows, train


class StoppedError(Exception):
    """What a user's Ctrl-C is to the fit: an exception in the middle of an epoch."""


class StoppingRows(DeviceRows):
    """Rows that stop the fit when the given batch is asked for."""

    def __init__(self, X, at):
        super().__init__(X)
        self.left = at

    def __getitem__(self, rows):
        if self.left == 0:
            raise StoppedError
        self.left -= 1
        return super().__getitem__(rows)


class Branching(nn.Module):
    """A network that torch.func cannot run: each member has a file of its own."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1))

    def forward(self, x):
        return self.layers(x * (1 if x.abs().sum().item() > 0 else -1))


def with_batch_norm():
    return nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))


def with_dropout():
    return nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 1))


NETWORKS = {
    "mlp": lambda: MLP(3, (8, 6)),
    "batch norm": with_batch_norm,
    "dropout": with_dropout,
    "branching": Branching,
}


def assert_same_fit(actual, expected):
    assert np.array_equal(actual.history, expected.history, equal_nan=True)
    assert np.array_equal(actual.best_epoch, expected.best_epoch)
    assert np.array_equal(actual.held_out_loss, expected.held_out_loss, equal_nan=True)
    for one, other in zip(actual.states, expected.states, strict=True):
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)


def stop(task, members, recipe, factory, folder, at):
    with pytest.raises(StoppedError):
        train(StoppingRows(task.X, at), members, recipe, factory, checkpoint=folder)


@pytest.fixture
def five_epochs(task):
    # A milestone on each side of where fits are stopped below.
    return task.recipe(epochs=5, lr_milestones=(1, 3))


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("loss", ["variational", "js"])
@pytest.mark.parametrize("at", [25, 31])  # nine batches an epoch: in the third, in the fourth
def test_a_stopped_fit_goes_on_as_if_it_had_not(task, five_epochs, tmp_path, network, loss, at):
    recipe, factory = replace(five_epochs, loss=loss), NETWORKS[network]
    folder = tmp_path / "new" / "folder"
    stop(task, task.members, recipe, factory, folder, at)
    all_rows, rest = StoppingRows(task.X, at=10_000), StoppingRows(task.X, at=10_000)
    whole = train(all_rows, task.members, recipe, factory)
    resumed = train(rest, task.members, recipe, factory, checkpoint=folder)
    assert_same_fit(resumed, whole)
    # It went on after its last whole epoch: the batches of those before were not asked for.
    assert rest.left - all_rows.left == at // 9 * 9


# Nine batches an epoch and stack: in the third epoch, of three stacks in the first or the second.
@pytest.mark.parametrize(
    ("network", "an_epoch", "at"), [("mlp", 9, 25), ("branching", 27, 58), ("branching", 27, 70)]
)
def test_a_group_goes_on_as_if_it_had_not_stopped(
    task, five_epochs, tmp_path, network, an_epoch, at
):
    factory, lrs = NETWORKS[network], (1.0, 0.01, 0.3)
    members = [replace(m, group=0, lr=lr) for m, lr in zip(task.members, lrs, strict=True)]
    stop(task, members, five_epochs, factory, tmp_path, at)
    all_rows, rest = StoppingRows(task.X, at=10_000), StoppingRows(task.X, at=10_000)
    whole = train(all_rows, members, five_epochs, factory)
    resumed = train(rest, members, five_epochs, factory, checkpoint=tmp_path)
    assert_same_fit(resumed, whole)
    # All stacks have done the same epochs, and the best was among those done before the stop.
    assert rest.left - all_rows.left == 2 * an_epoch
    assert (whole.best_epoch < 2).all()


def test_of_members_trained_one_after_another_those_done_are_read_back(task, five_epochs, tmp_path):
    stop(task, task.members, five_epochs, Branching, tmp_path, at=45 + 20)  # in the second member
    all_rows, rest = StoppingRows(task.X, at=10_000), StoppingRows(task.X, at=10_000)
    whole = train(all_rows, task.members, five_epochs, Branching)
    resumed = train(rest, task.members, five_epochs, Branching, checkpoint=tmp_path)
    assert_same_fit(resumed, whole)
    assert rest.left - all_rows.left == 45 + 18


def test_a_fit_stopped_at_every_epoch_in_turn_is_the_same_fit(task, five_epochs, tmp_path):
    for _ in range(4):
        stop(task, task.members, five_epochs, task.factory, tmp_path, at=13)
    resumed = train(task.rows, task.members, five_epochs, task.factory, checkpoint=tmp_path)
    assert_same_fit(resumed, train(task.rows, task.members, five_epochs, task.factory))


def test_a_fit_stopped_in_its_first_epoch_begins_again(task, five_epochs, tmp_path):
    stop(task, task.members, five_epochs, task.factory, tmp_path, at=3)
    assert not list(tmp_path.iterdir())
    resumed = train(task.rows, task.members, five_epochs, task.factory, checkpoint=tmp_path)
    assert_same_fit(resumed, train(task.rows, task.members, five_epochs, task.factory))


def test_members_that_hold_nothing_out_go_on_too(task, five_epochs, tmp_path):
    members = task.without_held_out()
    stop(task, members, five_epochs, task.factory, tmp_path, at=20)
    resumed = train(task.rows, members, five_epochs, task.factory, checkpoint=tmp_path)
    assert_same_fit(resumed, train(task.rows, members, five_epochs, task.factory))


@pytest.mark.parametrize("network", ["mlp", "branching"])
def test_saving_changes_nothing(task, five_epochs, tmp_path, network):
    factory = NETWORKS[network]
    saved = train(task.rows, task.members, five_epochs, factory, checkpoint=tmp_path)
    assert_same_fit(saved, train(task.rows, task.members, five_epochs, factory))


@pytest.mark.parametrize("network", ["mlp", "branching"])
def test_a_finished_fit_is_read_back(task, five_epochs, tmp_path, network):
    factory = NETWORKS[network]
    first = train(task.rows, task.members, five_epochs, factory, checkpoint=tmp_path)
    unread = StoppingRows(task.X, 0)  # not one batch may be asked for
    assert_same_fit(train(unread, task.members, five_epochs, factory, checkpoint=tmp_path), first)


def test_a_fit_that_patience_stopped_is_read_back(task, tmp_path):
    recipe = task.recipe(epochs=9, patience=2)
    still = [replace(member, lr=0.0) for member in task.members]
    first = train(task.rows, still, recipe, task.factory, checkpoint=tmp_path)
    assert len(first.history) == 3
    again = train(task.rows, still, recipe, task.factory, checkpoint=tmp_path)
    assert_same_fit(again, first)


def finished(task, recipe, folder):
    train(task.rows, task.members, recipe, task.factory, checkpoint=folder)


def test_nothing_but_the_checkpoint_is_left_behind(task, tmp_path):
    finished(task, task.recipe(), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["stack-0.safetensors"]


def test_a_file_half_written_when_the_machine_stopped_does_no_harm(task, five_epochs, tmp_path):
    stop(task, task.members, five_epochs, task.factory, tmp_path, at=25)
    (tmp_path / "stack-0.safetensors.partial").write_bytes(b"half a")
    resumed = train(task.rows, task.members, five_epochs, task.factory, checkpoint=tmp_path)
    assert_same_fit(resumed, train(task.rows, task.members, five_epochs, task.factory))


@pytest.mark.parametrize(
    "change",
    [
        {"lam": 0.7},
        {"lr": 0.7},
        {"seed": 7},
        {"group": 7},
        {"p": np.arange(9)},
        {"u": np.arange(90)},
        {"held_out_p": np.arange(9)},
        {"held_out_u": np.arange(9)},
    ],
)
def test_a_checkpoint_of_other_members_is_refused(task, tmp_path, change):
    finished(task, task.recipe(), tmp_path)
    members = [replace(task.members[0], **change), *task.members[1:]]
    with pytest.raises(ModelFileError, match="another fit"):
        train(task.rows, members, task.recipe(), task.factory, checkpoint=tmp_path)


@pytest.mark.parametrize("change", [{"epochs": 3}, {"loss": "l2"}, {"penalty": None}, {"alpha": 1}])
def test_a_checkpoint_of_other_settings_is_refused(task, tmp_path, change):
    finished(task, task.recipe(), tmp_path)
    with pytest.raises(ModelFileError, match="another fit"):
        train(task.rows, task.members, task.recipe(**change), task.factory, checkpoint=tmp_path)


def test_a_checkpoint_of_other_data_is_refused(task, tmp_path):
    finished(task, task.recipe(), tmp_path)
    X = task.X.clone()
    X[-1, -1] += 1
    with pytest.raises(ModelFileError, match="another fit"):
        train(DeviceRows(X), task.members, task.recipe(), task.factory, checkpoint=tmp_path)


# Widths that are stored in the same padded shape, ones that are not, and another kind of network.
@pytest.mark.parametrize(
    "factory",
    [lambda: MLP(3, (9, 6)), lambda: MLP(3, (20, 6)), lambda: MLP(3, (8,)), with_batch_norm],
    ids=["same padded widths", "wider", "shallower", "other kind"],
)
def test_a_checkpoint_of_another_network_is_refused(task, tmp_path, factory):
    finished(task, task.recipe(), tmp_path)
    with pytest.raises(ModelFileError, match="another fit"):
        train(task.rows, task.members, task.recipe(), factory, checkpoint=tmp_path)


@pytest.mark.parametrize("kept", [0, 5, 200, -1])
def test_a_truncated_checkpoint_is_refused(task, tmp_path, kept):
    finished(task, task.recipe(), tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(ModelFileError, match="not a readable checkpoint"):
        finished(task, task.recipe(), tmp_path)


def test_a_file_of_another_format_is_refused(task, tmp_path):
    (tmp_path / "stack-0.safetensors").write_bytes(b"not a checkpoint at all" * 10)
    with pytest.raises(ModelFileError, match="not a readable checkpoint"):
        finished(task, task.recipe(), tmp_path)
