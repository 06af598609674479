"""The loop: members in a stack are the members alone, and the same seed is the same fit."""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from varpu.training import LOSSES, PENALTIES, DeviceRows, Member, Recipe, train


class Branching(nn.Module):
    """A network that torch.func cannot run, so that members are trained one after another."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1))

    def forward(self, x):
        return self.layers(x * (1 if x.abs().sum().item() > 0 else -1))


def with_batch_norm():
    # Without a bias in front of the batch norm: its gradient is zero but for rounding, which Adam
    # blows up to full steps, so no two ways of computing it agree on that bias.
    first = nn.Linear(3, 6, bias=False)
    return nn.Sequential(first, nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))


OTHER_NETWORKS = {"batch norm": with_batch_norm, "branching": Branching}


def assert_same_state(actual, expected, atol):
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(actual[name], value, rtol=0, atol=atol)


def assert_alone_as_together(task, recipe, factory):
    together = train(task.rows, task.members, recipe, factory)
    for k, member in enumerate(task.members):
        alone = train(task.rows, [member], recipe, factory)
        assert_same_state(together.states[k], alone.states[0], atol=1e-5)
        np.testing.assert_allclose(together.history[..., k], alone.history[..., 0], atol=1e-5)
        assert together.best_epoch[k] == alone.best_epoch[0]


@pytest.mark.parametrize("penalty", [None, *PENALTIES])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_member_in_a_stack_is_the_member_alone(task, loss, penalty):
    # Members differ in seed, penalty weight, learning rate and in the number of all their rows.
    assert_alone_as_together(task, task.recipe(loss=loss, penalty=penalty), task.factory)


@pytest.mark.parametrize("kind", OTHER_NETWORKS)
@pytest.mark.parametrize(("loss", "penalty"), [("variational", "mixup"), ("js", "vat")])
def test_members_of_other_networks_are_the_members_alone(task, kind, loss, penalty):
    recipe = task.recipe(loss=loss, penalty=penalty)
    assert_alone_as_together(task, recipe, OTHER_NETWORKS[kind])


def test_a_member_does_not_depend_on_how_small_the_others_are(task):
    # One member has fewer marginal rows than a batch; that is its own affair.
    recipe = task.recipe(batch_size=100)
    assert len(task.members[2].u) < 100 < len(task.members[0].u)
    together = train(task.rows, task.members, recipe, task.factory)
    alone = train(task.rows, task.members[:1], recipe, task.factory)
    assert_same_state(together.states[0], alone.states[0], atol=1e-5)


@pytest.mark.parametrize("factory", [None, *OTHER_NETWORKS])
@pytest.mark.parametrize("loss", ["variational", "js"])
def test_the_same_seed_gives_the_same_bits(task, factory, loss):
    factory = OTHER_NETWORKS.get(factory, task.factory)
    recipe = task.recipe(loss=loss, penalty="mixup_pu")
    first = train(task.rows, task.members, recipe, factory)
    torch.rand(3)  # the state of torch's generator has no say
    second = train(task.rows, task.members, recipe, factory)
    for one, other in zip(first.states, second.states, strict=True):
        assert all(torch.equal(one[name], other[name]) for name in one)
    assert np.array_equal(first.history, second.history)
    assert np.array_equal(first.held_out_loss, second.held_out_loss)


def test_another_seed_gives_another_fit(task):
    twins = [task.members[0], replace(task.members[0], seed=99)]
    trained = train(task.rows, twins, task.recipe(), task.factory)
    assert not torch.equal(trained.states[0]["0.weight"], trained.states[1]["0.weight"])


def test_dropout_is_decided_by_the_seed(task):
    def factory():
        return nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 1))

    first, second = (train(task.rows, task.members[:2], task.recipe(), factory) for _ in range(2))
    assert np.array_equal(first.history, second.history)
    before = torch.get_rng_state()
    train(task.rows, task.members[:2], task.recipe(), factory)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_longer_fit_begins_as_a_shorter_one(task):
    short = train(task.rows, task.members, task.recipe(epochs=2), task.factory)
    long = train(task.rows, task.members, task.recipe(epochs=4), task.factory)
    assert np.array_equal(long.history[:2], short.history)


def test_shape_of_the_result(task):
    trained = train(task.rows, task.members, task.recipe(epochs=3), task.factory)
    assert len(trained.states) == 3
    assert trained.best_epoch.shape == trained.held_out_loss.shape == (3,)
    assert trained.history.shape == (3, 3, 3)
    assert np.isfinite(trained.history).all()
    for state in trained.states:
        task.factory().load_state_dict(state)


def test_training_lowers_the_loss_and_the_held_out_loss(task):
    recipe = task.recipe(epochs=10, steps_per_epoch=10, lr_milestones=(), penalty=None)
    trained = train(task.rows, task.members, recipe, task.factory)
    assert (trained.history[-1, 0] < trained.history[0, 0] - 0.1).all()
    assert (trained.held_out_loss < trained.history[0, 2]).all()


def test_without_held_out_rows_the_last_epoch_is_kept(task):
    recipe = task.recipe(epochs=3)
    trained = train(task.rows, task.without_held_out(), recipe, task.factory)
    assert trained.best_epoch.tolist() == [2, 2, 2]
    assert np.isnan(trained.held_out_loss).all()
    assert np.isnan(trained.history[:, 2]).all()
    assert np.isfinite(trained.history[:, :2]).all()


def test_some_members_may_hold_nothing_out(task):
    members = [task.members[0], task.without_held_out()[1]]
    trained = train(task.rows, members, task.recipe(epochs=3), task.factory)
    assert np.isnan(trained.held_out_loss).tolist() == [False, True]
    assert trained.best_epoch[1] == 2


def test_patience_stops_a_fit_that_does_not_improve(task):
    # With a learning rate of zero nothing ever changes, so the first epoch stays the best.
    still = [replace(member, lr=0.0) for member in task.members]
    recipe = task.recipe(epochs=9, patience=3)
    trained = train(task.rows, still, recipe, task.factory)
    assert len(trained.history) == 1 + 3
    assert trained.best_epoch.tolist() == [0, 0, 0]
    whole = train(task.rows, still, replace(recipe, patience=None), task.factory)
    assert len(whole.history) == 9


def test_patience_waits_for_the_member_that_improves_last(task):
    # One member stands still, the other learns slowly: its last best epoch counts for both.
    members = [replace(task.members[0], lr=0.0), replace(task.members[1], lr=1e-4)]
    recipe = task.recipe(epochs=6, patience=2, penalty=None)
    trained = train(task.rows, members, recipe, task.factory)
    alone = train(task.rows, members[1:], recipe, task.factory)
    assert len(trained.history) == len(alone.history) > 3


def test_patience_does_not_wait_for_a_member_that_diverged(task):
    members = [replace(task.members[0], lr=1e30), replace(task.members[1], lr=0.0)]
    recipe = task.recipe(epochs=9, patience=2, penalty=None)
    trained = train(task.rows, members, recipe, task.factory)
    assert np.isnan(trained.history[:, 2, 0]).all()
    assert len(trained.history) == 1 + 2


def test_members_trained_one_after_another_may_stop_at_different_epochs(task):
    members = [replace(task.members[0], lr=0.0), replace(task.members[1], lr=1e-4)]
    recipe = task.recipe(epochs=5, patience=2, penalty=None)
    trained = train(task.rows, members, recipe, Branching)
    assert np.isnan(trained.history[3:, :, 0]).all()
    assert np.isfinite(trained.history[:3]).all()
    assert np.isfinite(trained.history[..., 1]).all()


def of_one_group(task):
    """Members whose own best epochs differ, as those with other learning rates do."""
    lrs = (0.05, 0.002, 0.02)
    return [replace(m, group=5, lr=lr) for m, lr in zip(task.members, lrs, strict=True)]


GROUP_RECIPE = {"epochs": 8, "steps_per_epoch": 6, "lr_milestones": ()}
HELD_OUT_POSITIVES = (10, 5, 33)


@pytest.mark.parametrize("kind", [None, *OTHER_NETWORKS])
def test_a_group_keeps_the_one_epoch_with_the_least_mean_loss(task, kind):
    """In one stack of MLPs, in one of other modules, and over stacks that run in step."""
    factory, members = OTHER_NETWORKS.get(kind, task.factory), of_one_group(task)
    trained = train(task.rows, members, task.recipe(**GROUP_RECIPE), factory)
    curves = trained.history[:, 2]
    best = int(np.average(curves, axis=1, weights=HELD_OUT_POSITIVES).argmin())
    assert trained.best_epoch.tolist() == [best] * 3
    assert (curves.argmin(axis=0) != best).any()  # so that it is not what they want by themselves
    np.testing.assert_array_equal(trained.held_out_loss, curves[best])
    # The states are those of that epoch: a fit that ends there has the same.
    recipe = task.recipe(**{**GROUP_RECIPE, "epochs": best + 1})
    nothing = np.zeros(0, dtype=np.int64)
    blind = [replace(m, group=None, held_out_p=nothing, held_out_u=nothing) for m in members]
    ended = train(task.rows, blind, recipe, factory)
    for state, expected in zip(trained.states, ended.states, strict=True):
        assert_same_state(state, expected, atol=0)


def test_a_group_over_several_stacks_is_the_group_in_one(task):
    class Plain(Branching):
        def forward(self, x):
            return self.layers(x)

    recipe, members = task.recipe(**GROUP_RECIPE, patience=2), of_one_group(task)
    one = train(task.rows, members, recipe, Plain)
    several = train(task.rows, members, recipe, Branching)
    np.testing.assert_allclose(several.history, one.history, atol=1e-5)
    assert several.best_epoch.tolist() == one.best_epoch.tolist()
    for state, expected in zip(several.states, one.states, strict=True):
        assert_same_state(state, expected, atol=1e-5)


def test_groups_choose_apart_and_a_group_of_one_is_a_member_alone(task):
    recipe, members = task.recipe(**GROUP_RECIPE), of_one_group(task)
    mixed = [replace(m, group=g) for m, g in zip(members, (1, 2, None), strict=True)]
    alone = [replace(m, group=None) for m in members]
    trained, expected = (train(task.rows, m, recipe, task.factory) for m in (mixed, alone))
    assert len(set(expected.best_epoch)) > 1
    assert trained.best_epoch.tolist() == expected.best_epoch.tolist()
    assert np.array_equal(trained.held_out_loss, expected.held_out_loss)
    for state, other in zip(trained.states, expected.states, strict=True):
        assert_same_state(state, other, atol=0)


def test_patience_counts_the_group_not_its_members(task):
    """One member improves to the end; the group, which the other rules, does not."""
    slow, wild = task.members[1], task.members[2]  # 5 and 33 held-out positives
    members = [replace(slow, group=0, lr=1e-4), replace(wild, group=0, lr=0.3)]
    recipe = task.recipe(**{**GROUP_RECIPE, "epochs": 20}, patience=3, penalty=None)
    trained = train(task.rows, members, recipe, task.factory)
    assert len(trained.history) == trained.best_epoch[0] + 1 + 3 < 20
    assert trained.history[:, 2, 0].argmin() > trained.best_epoch[0]


@pytest.mark.parametrize("factory", [None, "branching"])
def test_patience_waits_for_the_group_that_improves_last(task, factory):
    members = [replace(task.members[0], lr=0.0), replace(task.members[1], lr=1e-4)]
    members = [replace(member, group=number) for number, member in enumerate(members)]
    recipe = task.recipe(epochs=6, patience=2, penalty=None)
    trained = train(task.rows, members, recipe, OTHER_NETWORKS.get(factory, task.factory))
    assert trained.best_epoch[0] == 0
    assert len(trained.history) > 3
    assert np.isfinite(trained.history).all()  # all go on as long as any does


def test_a_group_without_held_out_rows_keeps_its_last_epoch(task):
    members = [replace(member, group=0) for member in task.without_held_out()]
    trained = train(task.rows, members, task.recipe(epochs=3), task.factory)
    assert trained.best_epoch.tolist() == [2, 2, 2]


@pytest.mark.parametrize("kind", [None, *OTHER_NETWORKS])
def test_past_the_deadline_there_is_one_epoch(task, kind):
    """The first of every member, whether they are one stack or several."""
    factory, recipe = OTHER_NETWORKS.get(kind, task.factory), task.recipe(epochs=4)
    short = train(task.rows, task.members, replace(recipe, epochs=1), factory)
    late = train(task.rows, task.members, recipe, factory, deadline=time.monotonic() - 1)
    assert np.array_equal(late.history, short.history)
    assert np.isfinite(late.history).all()
    for state, expected in zip(late.states, short.states, strict=True):
        assert_same_state(state, expected, atol=0)


def test_a_deadline_is_looked_at_before_each_epoch(task, monkeypatch):
    now = iter(range(100))
    monkeypatch.setattr("varpu.training.loop.time.monotonic", lambda: next(now))
    recipe = task.recipe(epochs=9)
    trained = train(task.rows, task.members, recipe, task.factory, deadline=2.5)
    assert len(trained.history) == 1 + 3  # at 0, 1 and 2 it went on
    whole = train(task.rows, task.members, replace(recipe, epochs=4), task.factory)
    assert np.array_equal(trained.history, whole.history)


@pytest.mark.parametrize("kind", [None, *OTHER_NETWORKS])
def test_a_goal_out_of_reach_ends_a_fit_after_its_trial(task, kind):
    factory, recipe = OTHER_NETWORKS.get(kind, task.factory), task.recipe(epochs=8)
    members = [replace(member, group=0) for member in task.members]
    whole = train(task.rows, members, recipe, factory)
    tried = train(task.rows, members, recipe, factory, goal=-100.0)
    assert len(tried.history) == 5
    assert np.array_equal(tried.history, whole.history[:5])
    for goal in (100.0, np.inf):  # a goal that is reached is none
        reached = train(task.rows, members, recipe, factory, goal=goal)
        assert np.array_equal(reached.history, whole.history)


def test_one_member_near_the_goal_is_enough_to_go_on(task):
    recipe = task.recipe(epochs=7)
    whole = train(task.rows, task.members, recipe, task.factory)
    best = whole.history[:5, 2].min(axis=0)  # of each member by the end of the trial
    goal = np.sort(best)[:2].mean()
    assert len(train(task.rows, task.members, recipe, task.factory, goal=goal).history) == 7
    goal = best.min() - 0.01
    assert len(train(task.rows, task.members, recipe, task.factory, goal=goal).history) == 5


def test_without_held_out_rows_there_is_no_goal_to_miss(task):
    recipe = task.recipe(epochs=7)
    trained = train(task.rows, task.without_held_out(), recipe, task.factory, goal=-100.0)
    assert len(trained.history) == 7


def test_a_deadline_far_away_changes_nothing(task):
    recipe = task.recipe(epochs=3)
    far = train(task.rows, task.members, recipe, task.factory, deadline=time.monotonic() + 1e6)
    none = train(task.rows, task.members, recipe, task.factory)
    assert np.array_equal(far.history, none.history)


def test_the_table_is_left_alone(task):
    before = task.X.clone()
    train(task.rows, task.members, task.recipe(), task.factory)
    assert torch.equal(task.X, before)


def test_images_of_small_integers_are_trained_on_as_prepared():
    def factory():
        return nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.ReLU(), nn.Linear(8, 2))

    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (40, 1, 4, 4), generator=generator, dtype=torch.uint8)
    member = Member(3, 0.1, 1e-3, np.arange(10), np.arange(30), np.arange(5), np.arange(30, 40))
    recipe = Recipe(epochs=2, steps_per_epoch=3, batch_size=8)
    stored = train(DeviceRows(pixels, lambda x: x.float() / 255), [member], recipe, factory)
    given = train(DeviceRows(pixels.float() / 255), [member], recipe, factory)
    assert np.array_equal(stored.history, given.history)
