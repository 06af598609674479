"""One of several processes that compute losses and gradients together; what each found is written.

python ranks.py RANK SIZE MEETING_FILE RESULT
"""

import sys
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.nn.functional  # before there is a group, which it would hold for good
from torch import nn
from torch.nn.functional import logsigmoid

from varpu import losses
from varpu.nets import MLP, StackedMLP
from varpu.nets.stack import ModuleStack, VmapStack
from varpu.training import LOSSES, PENALTIES, DeviceRows, Member, Recipe, Risk, train
from varpu.training.step import TrainingStep
from varpu.world import current_world, joined_world

BATCH = 11  # of 2 processes: 5 + 6 rows; of 3: 3 + 4 + 4
PARTS = {1: [11], 2: [8, 3], 3: [6, 0, 5]}
RISKS = {
    "upu": Risk("upu"),
    "nnpu": Risk("nnpu", surrogate="logistic"),
    "nnpu-mixup": Risk("nnpu", mixup=True),
    "supervised": Risk("supervised"),
}


def table():
    draws = np.random.default_rng(0)
    X = draws.normal(size=(60, 3)) + 1.5 * (np.arange(60) < 20)[:, None]
    return DeviceRows(torch.from_numpy(X), weight=torch.from_numpy(draws.uniform(0.5, 2, 60)))


def members():
    p, u = np.arange(15), np.arange(50)
    held_out = {"held_out_p": np.arange(15, 20), "held_out_u": np.arange(50, 60)}
    return [
        Member(11, 0.3, 1e-2, p, u, prior=0.4, **held_out),
        Member(12, 1.0, 1e-3, p[3:], u[:40], prior=0.3, **held_out),
    ]


def recipe(**changes):
    small = {"epochs": 3, "steps_per_epoch": 1, "batch_size": BATCH, "lr_milestones": (1,)}
    return Recipe(**(small | changes))


def networks(make, count):
    torch.manual_seed(0)
    return [make().double() for _ in range(count)]


def mlp():
    return MLP(3, (8, 6))


def with_batch_norm():
    # No bias that the norm takes off again: its gradient is rounding, which Adam makes steps of.
    return nn.Sequential(
        nn.Linear(3, 6, bias=False),
        nn.BatchNorm1d(6),
        nn.ReLU(),
        nn.Linear(6, 5, bias=False),
        nn.BatchNorm1d(5),
        nn.Linear(5, 1),
    )


def one_step(stack, own, critic=None, **changes):
    """Loss, penalty, gradients and buffers after one step whose update is left out."""
    step = TrainingStep(stack, critic, table(), own, recipe(**changes))
    step.adam.optimizer.step = lambda: None
    step.begin_epoch(0)
    step()
    gradients = [p.grad for part in (stack, critic) if part for p in part.parameters()]
    found = [step.averages(), *gradients, *stack.buffers()]
    return np.concatenate([value.double().reshape(-1).numpy() for value in found])


def steps(found):
    for loss in LOSSES:
        for penalty in (None, *PENALTIES):
            critic = StackedMLP(networks(mlp, 2)) if loss == "js" else None
            stack = StackedMLP(networks(mlp, 2))
            found[f"{loss} {penalty}"] = one_step(
                stack, members(), critic, loss=loss, penalty=penalty
            )
    for name, risk in RISKS.items():
        found[name] = one_step(StackedMLP(networks(mlp, 2)), members(), risk=risk)
    for penalty in ("mixup", "mixup_pu", "adversarial"):
        pair = VmapStack(networks(with_batch_norm, 2))
        found[f"batch norm, pair, {penalty}"] = one_step(pair, members(), penalty=penalty)
        alone = ModuleStack(networks(with_batch_norm, 1)[0])
        found[f"batch norm, alone, {penalty}"] = one_step(alone, members()[:1], penalty=penalty)


def uneven_parts(found, world):
    """L_var of a batch that the processes hold in parts as they happen to be."""
    sizes = PARTS[world.size]
    start = sum(sizes[: world.rank])
    own = slice(start, start + sizes[world.rank])
    X = table().X
    network = networks(mlp, 1)[0]
    nn.init.normal_(network.linears()[-1].weight, std=20)  # so that scores differ much
    scores = [logsigmoid(network(rows[own])[:, :1]).T for rows in (X[:BATCH], X[30 : 30 + BATCH])]
    log_phi_p, log_phi_u = world.gather_parts(torch.cat(scores), sizes)
    loss = losses.variational(log_phi_p, log_phi_u)
    loss.backward()
    world.sum_gradients(network.parameters())
    found["parts"] = np.concatenate(
        [[loss.item()], *(p.grad.numpy().ravel() for p in network.parameters())]
    )
    naive = [losses.variational(*scores).item()] if sizes[world.rank] else []
    everyone = [value for part in world.all_of(naive) for value in part]
    found["mean of each process's own loss"] = np.array([np.mean(everyone)])


def whole_fits(found):
    for name, make in (("mlp", mlp), ("batch norm", with_batch_norm)):
        trained = train(table_in_float32(), members(), recipe(steps_per_epoch=4), make)
        found[f"history {name}"] = trained.history
        for k, state in enumerate(trained.states):
            for part, value in state.items():
                found[f"state {name} {k} {part}"] = value.numpy()


def table_in_float32():
    return DeviceRows(table().X.float())


def said(found, world):
    found["from first"] = np.array(world.from_first({"rank": world.rank})["rank"])
    found["all of"] = np.array(world.all_of(world.rank * 10))
    arrays = {"a": np.arange(6.0).reshape(2, 3) + world.rank, "none": np.zeros((0, 2))}
    for name, array in world.arrays_from_first(arrays).items():
        found[f"sent {name}"] = array


def main():
    rank, size, meeting, result = sys.argv[1:]
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=Path(meeting).as_uri(), rank=int(rank), world_size=int(size)
    )
    found = {}
    with joined_world() as world:
        assert current_world() is world
        steps(found)
        uneven_parts(found, world)
        whole_fits(found)
        said(found, world)
    assert current_world().is_alone
    dist.destroy_process_group()
    np.savez(result, **found)


if __name__ == "__main__":
    main()
