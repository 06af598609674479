"""The training loop."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from varpu.nets import Stack, build_stacks
from varpu.training.checkpoint import Checkpoint, fingerprint
from varpu.training.draws import STREAM_CRITIC, hashed
from varpu.training.lanes import MOST_LANES, aside, join, own_stream, side_by_side
from varpu.training.members import Member, Recipe
from varpu.training.precision import arithmetic, compute_dtype
from varpu.training.progress import EpochBar
from varpu.training.rows import DeviceRows
from varpu.training.scoring import Best, Criterion, HeldOut
from varpu.training.step import TrainingStep
from varpu.world import World, current_world

# A stack, its critic (for the loss "js" alone), and its members.
Built = tuple[Stack, Stack | None, list[Member]]


# By then a network has most of the way behind it, and a small part of the cost.
_TRIAL_EPOCHS = 5


@dataclass
class Trained:
    """Members after training, each in the state of its best epoch.

    Attributes
    ----------
    states : list of dict
        One ``state_dict`` a member, on the CPU.
    best_epoch : int array of shape (K,)
    held_out_loss : float array of shape (K,)
        Held-out ``L_var`` at the best epoch, which is a group's own where there are groups; NaN
        where nothing is held out.
    history : float array of shape (epochs, 3, K)
        Training loss, penalty and held-out ``L_var`` of each epoch; NaN after a member's last.
    """

    states: list[dict[str, Tensor]]
    best_epoch: NDArray[np.int64]
    held_out_loss: NDArray[np.float64]
    history: NDArray[np.float64]


@dataclass
class Run:
    """One stack's training as it stands."""

    step: TrainingStep
    held_out: HeldOut
    best: Best
    stream: torch.cuda.Stream | None
    history: list[Tensor] = field(default_factory=list)


def train(
    rows: DeviceRows,
    members: list[Member],
    recipe: Recipe,
    factory: Callable[[], nn.Module],
    *,
    progress: bool | None = False,
    checkpoint: Path | None = None,
    deadline: float | None = None,
    goal: float = math.inf,
) -> Trained:
    """Train all members, together where their architecture allows it.

    Stacks that it does not allow to be one are trained one after another on a CPU and side by side
    on a GPU; in step, if members share the choice of their epoch as a group.

    Parameters
    ----------
    rows : DeviceRows
        The table all members' row numbers speak of, on the device to train on.
    members : list of Member
    recipe : Recipe
    factory : function without arguments that makes a member's network
    progress : bool or None
        Show a bar; None: if someone is watching a terminal.
    checkpoint : path, optional
        A folder to save to after every epoch and to go on from if a state of the same fit is there.
    deadline : float, optional
        Begin no epoch, but the first, when ``time.monotonic()`` is past that.
    goal : float
        Give up after the first few epochs if no member's held-out loss is below that by then.

    Notes
    -----
    Inside :func:`varpu.world.joined_world` the processes train together: each has all the rows, and
    scores its share of every batch. Layers that draw by themselves (dropout) draw on each process
    apart; all else is as for one process, to rounding.
    """
    device, world = rows.X.device, current_world()
    gpus = [device] if device.type == "cuda" else []
    with arithmetic(recipe.precision, device), torch.random.fork_rng(devices=gpus):
        stacks = _build(rows, members, recipe, factory)
        owner = ""
        if checkpoint or not world.is_alone:
            owner = fingerprint(rows, members, recipe, [stack for stack, _, _ in stacks])
        _check_alike(rows, owner, world)
        in_step = any(member.group is not None for member in members)
        turns = [stacks] if in_step else [[stack] for stack in stacks]
        results: list[list[Trained]] = [[] for _ in turns]
        with EpochBar(recipe.epochs * len(turns), progress if world.is_first else False) as bar:

            def lane(i: int) -> Iterator[None]:
                file = checkpoint / f"stack-{i}.safetensors" if checkpoint else None
                criterion = Criterion([m for _, _, own in turns[i] for m in own], device)
                runs = _start(rows, turns[i], recipe, criterion)
                yield from _run(
                    runs, recipe, criterion, Checkpoint(file, owner), bar, deadline, goal
                )
                results[i] = [*map(_result, runs)]  # the runs, and the memory they hold, can go

            # Processes must exchange in one order, so with others there is one lane at a time.
            most = MOST_LANES if world.is_alone else 1
            side_by_side((lane(i) for i in range(len(turns))), device, most)
    return _joined([result for turn in results for result in turn])


def _run(
    runs: list[Run],
    recipe: Recipe,
    criterion: Criterion,
    checkpoint: Checkpoint,
    bar: EpochBar,
    deadline: float | None,
    goal: float,
) -> Iterator[None]:
    """The loop itself: nothing in it waits for the device inside an epoch.

    It yields when an epoch's work has been handed over, so that other fits can hand over theirs.
    """
    sizes = [run.step.stack.n_members for run in runs]
    before: torch.cuda.Event | None = None
    for epoch in range(checkpoint.restore(runs), recipe.epochs):
        patience = recipe.patience
        if patience is not None and all(run.best.age(epoch - 1) >= patience for run in runs):
            break
        if deadline is not None and epoch and _is_past(deadline):
            break
        if epoch == _TRIAL_EPOCHS and all((run.best.loss > goal).all() for run in runs):
            break
        losses = []
        for run in runs:
            with aside(run.stream):
                losses.append(_epoch(run, epoch))
        join(run.stream for run in runs)
        chosen_by = criterion(torch.cat(losses))
        for run, loss, value in zip(runs, losses, chosen_by.split(sizes), strict=True):
            run.best.update(run.step.stack, loss, value, epoch)
        checkpoint.save(runs, epoch)
        yield
        if bar.shown:
            bar.advance(epoch, chosen_by.tolist())
        before = _wait(before, criterion.exists.device)
    for run in runs:
        run.best.restore(run.step.stack)


def _check_alike(rows: DeviceRows, owner: str, world: World) -> None:
    """One clear error on every process, where they were given different things to fit."""
    if world.is_alone:
        return
    world.same("number of columns", list(rows.X.shape[1:]))
    world.same("number of rows", len(rows.X))
    world.same("rows, members, settings and seeds (here is a digest)", owner[:16])


def _is_past(deadline: float) -> bool:
    """By the clock of the first process: the others must stop at the same epoch."""
    return bool(current_world().from_first(time.monotonic() > deadline))


def _wait(before: torch.cuda.Event | None, device: torch.device) -> torch.cuda.Event | None:
    """Let the host be no more than an epoch ahead of a GPU, or deadlines would mean little."""
    if device.type != "cuda":
        return None
    if before is not None:
        before.synchronize()
    return torch.cuda.current_stream(device).record_event()


def _epoch(run: Run, epoch: int) -> Tensor:
    """Train one stack for an epoch; its held-out losses, of shape (K,)."""
    # Dropout and the like, on each process its own; the caller forked.
    torch.manual_seed(run.step.epoch_seed(epoch) + run.step.world.rank)
    run.step.begin_epoch(epoch)
    for _ in range(run.step.recipe.steps_per_epoch):
        run.step()
    loss = run.held_out.loss(run.step.stack)
    run.history.append(torch.cat([run.step.averages(), loss.unsqueeze(0)]))
    return loss


def _start(
    rows: DeviceRows, stacks: list[Built], recipe: Recipe, criterion: Criterion
) -> list[Run]:
    has_held_out = criterion.exists.split([stack.n_members for stack, _, _ in stacks])
    return [
        Run(
            TrainingStep(stack, critic, rows, own, recipe),
            HeldOut(rows, own, recipe),
            Best(stack, exists),
            own_stream(rows.X.device) if len(stacks) > 1 else None,
        )
        for (stack, critic, own), exists in zip(stacks, has_held_out, strict=True)
    ]


def _build(
    rows: DeviceRows, members: list[Member], recipe: Recipe, factory: Callable[[], nn.Module]
) -> list[Built]:
    """Fresh stacks, as few as the members' architecture allows."""
    device, dtype = rows.X.device, compute_dtype(recipe.precision)
    sample = rows.prepare(rows.X[:1])
    seeds = torch.tensor([member.seed for member in members])
    critic_seeds = (hashed(seeds, STREAM_CRITIC) & 0x7FFFFFFF).tolist()
    stacks = build_stacks(factory, seeds.tolist(), sample, device, dtype)
    critics: list[Stack | None] = [None] * len(stacks)
    if recipe.loss == "js":
        critics = [*build_stacks(factory, critic_seeds, sample, device, dtype)]
    built, start = [], 0
    for stack, critic in zip(stacks, critics, strict=True):
        own = members[start : start + stack.n_members]
        built.append((stack, critic, own))
        start += stack.n_members
    return built


def _result(run: Run) -> Trained:
    states = run.step.stack.states()
    return Trained(
        states=[{name: value.cpu() for name, value in state.items()} for state in states],
        best_epoch=run.best.epoch.cpu().numpy(),
        held_out_loss=run.best.loss.double().cpu().numpy(),
        history=torch.stack(run.history).double().cpu().numpy(),
    )


def _joined(results: list[Trained]) -> Trained:
    longest = max(len(result.history) for result in results)
    histories = [
        np.pad(h, ((0, longest - len(h)), (0, 0), (0, 0)), constant_values=np.nan)
        for h in (result.history for result in results)
    ]
    return Trained(
        states=[state for result in results for state in result.states],
        best_epoch=np.concatenate([result.best_epoch for result in results]),
        held_out_loss=np.concatenate([result.held_out_loss for result in results]),
        history=np.concatenate(histories, axis=2),
    )
