"""Checkpoints: a fit that was stopped goes on where it was, bit for bit on a CPU.

One safetensors file for the stacks that run together, replaced atomically at the end of an epoch.
Draws are functions of the epoch, so weights, Adam's moments and the best states so far are all
there is to keep.
"""

import dataclasses
import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from varpu.exceptions import ModelFileError
from varpu.nets import Stack
from varpu.training.members import Member, Recipe
from varpu.training.rows import DeviceRows
from varpu.world import current_world

if TYPE_CHECKING:
    from varpu.training.loop import Run

_FORMAT = "varpu-checkpoint-2"


def fingerprint(
    rows: DeviceRows, members: list[Member], recipe: Recipe, stacks: list[Stack]
) -> str:
    """What a checkpoint belongs to: data, members, settings and networks, as one digest."""
    digest = hashlib.sha256(json.dumps(dataclasses.asdict(recipe), sort_keys=True).encode())
    for stack in stacks:
        for state in stack.states():
            shapes = [(name, list(value.shape)) for name, value in state.items()]
            digest.update(json.dumps([type(stack).__name__, shapes]).encode())
    for values in (rows.X, rows.weight):
        if values is not None:
            digest.update(values.cpu().contiguous().numpy().tobytes())
    for member in members:
        own = [member.seed, member.lam, member.lr, member.group, member.prior]
        digest.update(json.dumps(own).encode())
        for side in (member.p, member.u, member.held_out_p, member.held_out_u):
            digest.update(side.tobytes() + b"|")
    return digest.hexdigest()


class Checkpoint:
    """Saves and restores runs that go in step; does nothing without a path.

    Parameters
    ----------
    path : path or None
        The file; its folder is made if need be.
    owner : str
        From :func:`fingerprint`.
    """

    def __init__(self, path: Path | None, owner: str) -> None:
        self._path, self._owner = path, owner

    def save(self, runs: "list[Run]", epoch: int) -> None:
        """Write the state after ``epoch``, or nothing at all; one process does it for all."""
        if self._path is None or not current_world().is_first:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Views of one memory are refused by safetensors, and copying is cheap beside an epoch.
        tensors = {name: value.detach().cpu().clone() for name, value in _named(runs).items()}
        metadata = {"format": _FORMAT, "owner": self._owner, "epoch": str(epoch)}
        partial = self._path.with_name(self._path.name + ".partial")
        save_file(tensors, partial, metadata=metadata)
        os.replace(partial, self._path)

    def restore(self, runs: "list[Run]") -> int:
        """Put a saved state into ``runs``; returns the epoch to go on with (0: start afresh)."""
        is_there = self._path is not None and self._path.exists()
        # Else one process would go on from a state that another does not see.
        current_world().same("checkpoint", "a state to go on from" if is_there else "none")
        if self._path is None or not is_there:
            return 0
        try:
            with safe_open(self._path, framework="pt") as file:
                metadata = file.metadata() or {}
                saved = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise ModelFileError(f"{self._path} is not a readable checkpoint: {error}") from None
        if metadata.get("format") != _FORMAT or metadata.get("owner") != self._owner:
            raise ModelFileError(
                f"{self._path} is a checkpoint of another fit (other data, settings or seeds);"
                " remove it or give another checkpoint folder"
            )
        for run in runs:
            run.step.adam.prime()
        for name, value in _named(runs).items():
            value.copy_(saved[name])
        for i, run in enumerate(runs):
            run.history = list(saved[f"{i}.history"].unbind())
        return int(metadata["epoch"]) + 1


def _named(runs: "list[Run]") -> dict[str, Tensor]:
    return {f"{i}.{name}": v for i, run in enumerate(runs) for name, v in _named_in(run).items()}


def _named_in(run: "Run") -> dict[str, Tensor]:
    best = run.best
    state = {f"stack.{i}": value for i, value in enumerate(run.step.stack.tensors())}
    if run.step.critic is not None:
        state |= {f"critic.{i}": v for i, v in enumerate(run.step.critic.tensors())}
    state |= {f"best.{i}": value for i, value in enumerate(best.tensors)}
    state |= {f"adam.{i}": value for i, value in enumerate(run.step.adam.state())}
    state |= {"best_loss": best.loss, "best_criterion": best.criterion, "best_epoch": best.epoch}
    if run.history:
        state["history"] = torch.stack(run.history)
    return state
