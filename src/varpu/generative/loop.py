"""The adversarial training, then the classifier's."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from varpu.generative.classifying import ClassifierStep
from varpu.generative.generators import Generators, build_generators, load_generators
from varpu.generative.members import GenPUMember, GenPURecipe
from varpu.generative.step import AdversarialStep, Players
from varpu.nets import Stack, build_stacks
from varpu.training import DeviceRows, draws
from varpu.training.precision import arithmetic, compute_dtype
from varpu.training.progress import EpochBar

State = dict[str, Tensor]

# Which network of a member a seed is for.
_ROLES = ("d_p", "d_u", "d_n", "g_p", "g_n", "classifier")


@dataclass
class TrainedGenPU:
    """Members after training, in their order.

    Attributes
    ----------
    classifiers, positive_generators, negative_generators : lists of dict
        One ``state_dict`` a member, on the CPU.
    history : float array of shape (epochs, 4, K)
        The mean values of the four games in each adversarial epoch, in the order of
        :class:`varpu.generative.Weights`.
    """

    classifiers: list[State]
    positive_generators: list[State]
    negative_generators: list[State]
    history: NDArray[np.float64]

    def is_finite(self) -> bool:
        """Whether every number of every network is finite."""
        states = [*self.classifiers, *self.positive_generators, *self.negative_generators]
        return all(bool(value.isfinite().all()) for state in states for value in state.values())


def train_genpu(
    rows: DeviceRows,
    members: list[GenPUMember],
    recipe: GenPURecipe,
    *,
    progress: bool | None = False,
) -> TrainedGenPU:
    """Train all members, together where their networks allow it.

    Parameters
    ----------
    rows : DeviceRows
        The table all members' row numbers speak of, on the device to train on.
    members : list of GenPUMember
    recipe : GenPURecipe
    progress : bool or None
        Show a bar over all epochs; None: if someone is watching a terminal.
    """
    turns = _turns(rows, members, recipe)
    epochs = len(turns) * (recipe.epochs + recipe.classifier_epochs)
    with _surroundings(rows, recipe), EpochBar(epochs, progress) as bar:
        return _joined([_train(rows, members[turn], recipe, bar) for turn in turns])


def _train(
    rows: DeviceRows, members: list[GenPUMember], recipe: GenPURecipe, bar: EpochBar
) -> TrainedGenPU:
    device = rows.X.device
    seeds = [*_seeds(members, "g_p"), *_seeds(members, "g_n")]
    players = Players(
        build_generators(recipe.generator, seeds, device),
        *(_discriminators(rows, members, recipe, role)[0] for role in ("d_p", "d_u", "d_n")),
    )
    torch.manual_seed(seeds[0])  # for layers that draw by themselves; the caller forked
    step = AdversarialStep(players, rows, members, recipe)
    history = []
    for epoch in range(recipe.epochs):
        step.begin_epoch(epoch)
        for _ in range(recipe.steps_per_epoch):
            step()
        history.append(step.averages())
        bar.advance(epoch, [])
    step.settle_generators()

    generators = players.generators.eval()
    classifiers = _train_classifiers(rows, members, recipe, generators, bar)
    made = [_on_cpu(state) for state in generators.states()]
    return TrainedGenPU(
        classifiers=classifiers,
        positive_generators=made[: len(members)],
        negative_generators=made[len(members) :],
        history=torch.stack(history).double().cpu().numpy(),
    )


def train_classifiers(
    rows: DeviceRows, members: list[GenPUMember], recipe: GenPURecipe, trained: TrainedGenPU
) -> list[State]:
    """Other classifiers on the same generators, say with another ``labelled_share`` or prior.

    With the recipe of the first training they are that training's own.
    """
    device, states = rows.X.device, []
    with _surroundings(rows, recipe), EpochBar(0, False) as bar:
        for turn in _turns(rows, members, recipe):
            made = [*trained.positive_generators[turn], *trained.negative_generators[turn]]
            generators = load_generators(recipe.generator, made, device).eval()
            states += _train_classifiers(rows, members[turn], recipe, generators, bar)
    return states


def _train_classifiers(
    rows: DeviceRows,
    members: list[GenPUMember],
    recipe: GenPURecipe,
    generators: Generators,
    bar: EpochBar,
) -> list[State]:
    (classifiers,) = _discriminators(rows, members, recipe, "classifier")
    torch.manual_seed(_seeds(members, "classifier")[0])  # dropout and the like; the caller forked
    step = ClassifierStep(classifiers, generators, rows, members, recipe)
    for epoch in range(recipe.classifier_epochs):
        step.begin_epoch(epoch)
        for _ in range(recipe.steps_per_epoch):
            step()
        bar.advance(epoch, [])
    return [_on_cpu(state) for state in classifiers.states()]


@contextlib.contextmanager
def _surroundings(rows: DeviceRows, recipe: GenPURecipe) -> Iterator[None]:
    """The recipe's arithmetic, and a state of torch's generator that is put back."""
    device = rows.X.device
    gpus = [device] if device.type == "cuda" else []
    with arithmetic(recipe.precision, device), torch.random.fork_rng(devices=gpus):
        yield


def _turns(rows: DeviceRows, members: list[GenPUMember], recipe: GenPURecipe) -> list[slice]:
    """Which members are trained together: all, or each by itself if they cannot be stacked."""
    if len(members) > 1 and len(_discriminators(rows, members, recipe, "d_p")) > 1:
        return [slice(k, k + 1) for k in range(len(members))]
    return [slice(None)]


def _seeds(members: list[GenPUMember], role: str) -> list[int]:
    seeds = torch.tensor([member.seed for member in members])
    hashed = draws.hashed(seeds, draws.STREAM_CRITIC, _ROLES.index(role))
    return [int(seed) for seed in hashed & 0x7FFFFFFF]


def _discriminators(
    rows: DeviceRows, members: list[GenPUMember], recipe: GenPURecipe, role: str
) -> list[Stack]:
    sample = rows.prepare(rows.X[:1])
    seeds, dtype = _seeds(members, role), compute_dtype(recipe.precision)
    return build_stacks(recipe.discriminator, seeds, sample, rows.X.device, dtype)


def _on_cpu(state: State) -> State:
    return {name: value.cpu() for name, value in state.items()}


def _joined(parts: list[TrainedGenPU]) -> TrainedGenPU:
    return TrainedGenPU(
        classifiers=[state for part in parts for state in part.classifiers],
        positive_generators=[state for part in parts for state in part.positive_generators],
        negative_generators=[state for part in parts for state in part.negative_generators],
        history=np.concatenate([part.history for part in parts], axis=2),
    )
