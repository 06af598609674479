"""From a classifier's parameters to the training of its networks."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import nn

from varpu.crossfit import Split
from varpu.neural.inputs import pixels_to_unit
from varpu.training import DeviceRows, Member, Recipe, Trained, pick_device, pick_precision, train

if TYPE_CHECKING:
    from varpu.neural.vpu import VPUClassifier

HISTORY = ["lam", "fold", "epoch", "loss", "penalty", "held_out_loss"]


def train_networks(
    model: "VPUClassifier",
    factory: Callable[[], nn.Module],
    table: NDArray[Any],
    splits: list[Split],
    lams: list[float],
    seeds: list[int],
    deadline: float | None = None,
    goal: float = math.inf,
) -> Trained:
    """Train a network for each penalty weight and split, all together.

    Members come penalty weight by penalty weight, and split by split within each. A split has one
    seed for all penalty weights, so that these differ in nothing else. The splits of a
    cross-fitted model choose one epoch together. For ``deadline`` and ``goal`` see
    :func:`varpu.training.train`.
    """
    rows = device_rows(table, pick_device(model.device))
    members = [
        Member(
            seed=seed,
            lam=lam,
            lr=model.lr,
            p=split.p,
            u=split.u,
            held_out_p=split.held_out_p,
            held_out_u=split.held_out_u,
            group=None if model.cv is None else number,
        )
        for number, lam in enumerate(lams)
        for split, seed in zip(splits, seeds, strict=True)
    ]
    recipe = recipe_of(
        model,
        min(len(split.u) for split in splits),
        loss=model.loss,
        penalty=model.penalty,
        alpha=model.alpha,
        epsilon=model.epsilon,
    )
    return train(
        rows,
        members,
        recipe,
        factory,
        progress=model.progress,
        checkpoint=None if model.checkpoint is None else Path(model.checkpoint),
        deadline=deadline,
        goal=goal,
    )


def device_rows(
    table: NDArray[Any], device: torch.device, weight: NDArray[np.float64] | None = None
) -> DeviceRows:
    """A table (or images) on the device, in the type that networks take."""
    if table.dtype != np.uint8:
        table = table.astype(np.float32, copy=False)
    weights = None if weight is None else torch.tensor(weight, dtype=torch.float32, device=device)
    return DeviceRows(torch.tensor(table, device=device), pixels_to_unit, weights)


def recipe_of(model: Any, n_marginal: int, **own: Any) -> Recipe:
    """What the parameters of any classifier on networks say of its training, and its ``own``.

    A batch that is not given is a tenth of the ``n_marginal`` rows, from 32 to 500.
    """
    wanted = model.batch_size or int(np.clip(n_marginal // 10, 32, 500))
    return Recipe(
        epochs=model.epochs,
        steps_per_epoch=model.steps_per_epoch,
        batch_size=min(wanted, n_marginal),
        betas=(model.betas[0], model.betas[1]),
        lr_milestones=tuple(model.lr_milestones),
        lr_decay=model.lr_decay,
        precision=pick_precision(model.precision, pick_device(model.device)),
        patience=model.patience,
        **own,
    )


def history_of(trained: Trained, lams: list[float], n_folds: int | None) -> pd.DataFrame:
    """One line an epoch and network; ``n_folds`` is None where there are no folds to tell apart."""
    n_epochs, _, n_members = trained.history.shape
    each = n_members // len(lams)
    columns = {"lam": np.repeat(lams, each * n_epochs)}
    if n_folds is not None:
        columns["fold"] = np.tile(np.repeat(np.arange(n_folds), n_epochs), len(lams))
    columns["epoch"] = np.tile(np.arange(n_epochs), n_members)
    columns |= {name: trained.history[:, i].T.ravel() for i, name in enumerate(HISTORY[3:])}
    # Networks that were trained one after another may have stopped at different epochs.
    return pd.DataFrame(columns).dropna(subset="loss").reset_index(drop=True)
