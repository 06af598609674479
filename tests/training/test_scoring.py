"""Held-out loss, and the best state of each member."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import logsigmoid

from varpu import losses
from varpu.nets import StackedMLP, VmapStack, build_stacks, logit
from varpu.training import Risk, scoring, train
from varpu.training.scoring import Best, Criterion, HeldOut, logits

CPU = torch.device("cpu")


def stack_of(task):
    (stack,) = build_stacks(task.factory, [1, 2, 3], task.X[:1], CPU, torch.float32)
    return stack


def module_of(task, state):
    network = task.factory()
    network.load_state_dict(state)
    return network.double().eval()


def expected_loss(task, member, state):
    network, X = module_of(task, state), task.X.double()
    with torch.no_grad():
        log_phi_p, log_phi_u = (
            logsigmoid(logit(network(X[rows]))) for rows in (member.held_out_p, member.held_out_u)
        )
    return losses.variational(log_phi_p, log_phi_u).item()


def test_held_out_loss_is_the_variational_loss_of_each_members_rows(task):
    # The members hold out 10, 5 and 33 positives, and 40, 20 and 86 marginal rows.
    stack = stack_of(task)
    loss = HeldOut(task.rows, task.members, task.recipe()).loss(stack)
    for k, member in enumerate(task.members):
        expected = expected_loss(task, member, stack.states()[k])
        assert loss[k].item() == pytest.approx(expected, abs=1e-6)


def test_held_out_loss_does_not_depend_on_what_is_trained(task):
    stack = stack_of(task)
    values = [
        HeldOut(task.rows, task.members, task.recipe(loss=loss, penalty=None)).loss(stack)
        for loss in ("variational", "l2", "js")
    ]
    assert torch.equal(values[0], values[1])
    assert torch.equal(values[0], values[2])


@pytest.mark.parametrize("surrogate", ["sigmoid", "logistic"])
@pytest.mark.parametrize("kind", ["upu", "nnpu", "supervised"])
def test_where_a_risk_is_trained_it_is_the_held_out_loss(task, kind, surrogate):
    stack = stack_of(task)
    recipe = task.recipe(risk=Risk(kind, surrogate))
    members = [replace(member, prior=1.2) for member in task.members]  # so the clamp is met
    loss = HeldOut(task.rows, members, recipe).loss(stack)
    risk = {"upu": losses.upu, "nnpu": losses.upu, "supervised": losses.supervised}[kind]
    negative_parts = []
    for k, member in enumerate(members):
        network = task.factory()
        network.load_state_dict(stack.states()[k])
        g_p, g_u = (logit(network(task.X[rows])) for rows in (member.held_out_p, member.held_out_u))
        expected = risk(g_p, g_u, 1.2, surrogate)
        if kind == "nnpu":
            positive = 1.2 * losses.SURROGATES[surrogate](g_p).mean()
            negative_parts.append((expected - positive).item())
            expected = torch.maximum(expected, positive)
        assert loss[k].item() == pytest.approx(expected.item(), abs=1e-6)
    if kind == "nnpu":
        assert min(negative_parts) < 0


def test_scoring_in_parts_gives_the_same(task, monkeypatch):
    stack, held_out = stack_of(task), HeldOut(task.rows, task.members, task.recipe())
    whole = held_out.loss(stack)
    monkeypatch.setattr(scoring, "_TABLE_ROWS", 20)  # seven rows of each member at once
    torch.testing.assert_close(held_out.loss(stack), whole, rtol=0, atol=1e-6)


def test_a_member_that_holds_nothing_out_has_no_loss(task):
    nothing = np.zeros(0, dtype=np.int64)
    for without in ({"held_out_p": nothing}, {"held_out_u": nothing}):
        members = [task.members[0], replace(task.members[1], **without), task.members[2]]
        loss = HeldOut(task.rows, members, task.recipe()).loss(stack_of(task))
        assert loss.isnan().tolist() == [False, True, False]
    loss = HeldOut(task.rows, task.without_held_out(), task.recipe()).loss(stack_of(task))
    assert loss.isnan().all()


def test_scoring_is_in_evaluation_mode_and_training_goes_on_after(task):
    def factory():
        return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))

    stack = VmapStack([factory() for _ in range(2)])
    rows = torch.arange(10).repeat(2, 1)
    stack(task.rows[rows])  # a batch's worth of running statistics
    before = [value.clone() for value in stack.tensors()]
    scores = logits(stack, task.rows, rows, task.recipe())
    for value, old in zip(stack.tensors(), before, strict=True):
        assert torch.equal(value, old)
    for k, state in enumerate(stack.states()):
        network = factory()
        network.load_state_dict(state)
        expected = network.eval()(task.X[:10])[:, 0].detach()
        torch.testing.assert_close(scores[k], expected, rtol=0, atol=1e-6)
    stack(task.rows[rows])
    assert [int(state["1.num_batches_tracked"]) for state in stack.states()] == [2, 2]


def filled(stack, *values):
    """Set all weights of member k to values[k]."""
    for tensor in stack.tensors():
        tensor.copy_(torch.tensor(values).reshape(-1, *(1,) * (tensor.dim() - 1)).expand_as(tensor))


def held(stack):
    """What each member is filled with, seen in its first weight."""
    return [float(value) for value in stack.tensors()[0][:, 0, 0]]


def update(best, stack, loss, epoch):
    """Of members that choose by their own loss."""
    best.update(stack, loss, loss, epoch)


def test_best_keeps_each_members_best_epoch(task):
    stack = stack_of(task)
    best = Best(stack, torch.ones(3, dtype=torch.bool))
    history = [[0.5, 0.3, 0.9], [0.4, 0.4, 0.8], [0.6, 0.3, 0.7], [0.4, 0.9, 0.6]]
    for epoch, loss in enumerate(history):
        filled(stack, *(10.0 * epoch + k for k in range(3)))
        update(best, stack, torch.tensor(loss), epoch)
    best.restore(stack)
    # Of equal losses the first stands.
    assert best.epoch.tolist() == [1, 0, 3]
    assert held(stack) == [10.0, 1.0, 32.0]
    torch.testing.assert_close(best.loss, torch.tensor([0.4, 0.3, 0.6]))
    for tensor in stack.tensors():
        assert all(len(member.unique()) == 1 for member in tensor)


def test_best_is_not_changed_by_training_on(task):
    stack = stack_of(task)
    best = Best(stack, torch.ones(3, dtype=torch.bool))
    filled(stack, 1.0, 2.0, 3.0)
    update(best, stack, torch.zeros(3), 0)
    filled(stack, 7.0, 8.0, 9.0)
    best.restore(stack)
    assert held(stack) == [1.0, 2.0, 3.0]


def test_a_member_that_holds_nothing_out_keeps_its_last_epoch(task):
    stack = stack_of(task)
    best = Best(stack, torch.tensor([False, True, True]))
    for epoch in range(3):
        filled(stack, *[float(epoch)] * 3)
        update(best, stack, torch.tensor([torch.nan, -1.0 * epoch, 1.0 * epoch]), epoch)
    assert best.epoch.tolist() == [2, 2, 0]
    best.restore(stack)
    assert held(stack) == [2.0, 2.0, 0.0]


def test_a_member_that_diverges_keeps_its_best_finite_epoch(task):
    stack = stack_of(task)
    best = Best(stack, torch.ones(3, dtype=torch.bool))
    for epoch, loss in enumerate([0.5, torch.nan, torch.inf, torch.nan]):
        filled(stack, *[float(epoch)] * 3)
        update(best, stack, torch.full((3,), loss), epoch)
    assert best.epoch.tolist() == [0, 0, 0]
    best.restore(stack)
    assert held(stack) == [0.0] * 3


def test_a_finite_loss_is_better_than_none(task):
    stack = stack_of(task)
    best = Best(stack, torch.ones(3, dtype=torch.bool))
    for epoch, loss in enumerate([torch.nan, 0.5]):
        update(best, stack, torch.full((3,), loss), epoch)
    assert best.epoch.tolist() == [1, 1, 1]
    assert best.loss.tolist() == [0.5] * 3


def test_age_counts_epochs_without_any_improvement(task):
    stack = stack_of(task)
    best = Best(stack, torch.ones(3, dtype=torch.bool))
    ages = []
    for epoch, loss in enumerate([[0.5] * 3, [0.6] * 3, [0.7, 0.4, 0.7], [0.8] * 3, [0.8] * 3]):
        update(best, stack, torch.tensor(loss), epoch)
        ages.append(best.age(epoch))
    assert ages == [0, 1, 0, 1, 2]


def of_groups(task, *groups):
    """The task's members, which hold 10, 5 and 33 positives out, in these groups."""
    members = [replace(m, group=group) for m, group in zip(task.members, groups, strict=True)]
    return Criterion(members, CPU)


def test_a_member_alone_is_judged_by_its_own_loss_to_the_bit(task):
    loss = torch.tensor([0.1, torch.nan, -1 / 3])
    criterion = of_groups(task, None, None, None)
    assert torch.equal(criterion(loss).nan_to_num(7), loss.nan_to_num(7))
    assert criterion.exists.all()


def test_a_group_is_judged_by_its_mean_over_held_out_positives(task):
    value = of_groups(task, 4, None, 4)(torch.tensor([0.5, 9.0, -1.0]))
    mean = (10 * 0.5 - 33 * 1.0) / 43
    torch.testing.assert_close(value, torch.tensor([mean, 9.0, mean]))


def test_one_diverged_member_spoils_its_own_group_alone(task):
    value = of_groups(task, 0, 1, 0)(torch.tensor([torch.nan, 2.0, 1.0]))
    assert value.isnan().tolist() == [True, False, True]


def test_a_member_of_a_group_that_holds_nothing_out_has_no_say_and_follows(task):
    members = [task.members[0], task.without_held_out()[1], *task.without_held_out()[2:]]
    members = [replace(m, group=g) for m, g in zip(members, (0, 0, 1), strict=True)]
    criterion = Criterion(members, CPU)
    assert criterion.exists.tolist() == [True, True, False]
    value = criterion(torch.tensor([0.5, torch.nan, torch.nan]))
    assert value[:2].tolist() == [0.5, 0.5]
    assert value[2].isnan()


def test_best_keeps_a_groups_best_epoch_not_its_members(task):
    """Members 0 and 2 are best at epochs 0 and 2 by themselves; their mean is at epoch 1."""
    stack, criterion = stack_of(task), of_groups(task, 0, None, 0)
    best = Best(stack, criterion.exists)
    history = [[0.0, 0.9, 0.9], [0.1, 0.8, 0.4], [4.0, 0.7, 0.3]]
    for epoch, loss in enumerate(history):
        filled(stack, *(10.0 * epoch + k for k in range(3)))
        best.update(stack, torch.tensor(loss), criterion(torch.tensor(loss)), epoch)
    best.restore(stack)
    assert best.epoch.tolist() == [1, 2, 1]
    assert held(stack) == [10.0, 21.0, 12.0]
    torch.testing.assert_close(best.loss, torch.tensor([0.1, 0.7, 0.4]))  # each member's own


def test_trained_states_have_the_least_held_out_loss_of_the_history(task):
    recipe = task.recipe(epochs=8, steps_per_epoch=6, lr_milestones=())
    members = [replace(member, lr=0.05) for member in task.members]
    trained = train(task.rows, members, recipe, task.factory)
    assert (trained.best_epoch < 7).any()  # so that the last epoch is not all that was tested
    for k, member in enumerate(members):
        curve = trained.history[:, 2, k]
        assert trained.best_epoch[k] == curve.argmin()
        assert trained.held_out_loss[k] == curve.min()
        expected = expected_loss(task, member, trained.states[k])
        assert trained.held_out_loss[k] == pytest.approx(expected, abs=1e-5)


def test_stacks_are_of_the_kind_that_is_tested(task):
    assert type(stack_of(task)) is StackedMLP
