"""Networks as candidates: all penalty weights and folds of one view in one stacked fit."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from varpu.crossfit import Split
from varpu.nets import MLP
from varpu.neural import VPUClassifier
from varpu.neural.crossfit import pooled_scores
from varpu.neural.ensemble import Ensemble, log_phi
from varpu.neural.fitting import train_networks
from varpu.training import pick_device

# From nearly free to strongly smoothed: few positives, or many among the unlabelled, want the last.
LAMS = (0.003, 0.3, 1.0)
HIDDEN = (256, 256)
# Small batches and larger steps reach the same held-out loss as the paper's 500 rows in a quarter
# of the time. Few positives come by many times an epoch, and want smaller steps.
_LARGEST_BATCH, _LR, _LR_FEW = 128, 1e-3, 5e-4
_FEW_POSITIVES = 500

Floats = NDArray[np.float64]


def fit_networks(
    view: Floats,
    splits: list[Split],
    seeds: list[int],
    device: str,
    deadline: float | None,
    goal: float,
) -> tuple[list[Ensemble], Floats]:
    """One ensemble of folds for each of :data:`LAMS`, and out-of-fold ``log f_P/f``, (L, n).

    One that diverged has NaN for its scores. Training stops at the ``deadline``, and early on if
    the ``goal`` is out of reach (:func:`varpu.training.train`).
    """
    smallest = min(len(split.u) for split in splits)
    settings = VPUClassifier(
        hidden=HIDDEN,
        lr=_LR if len(splits[0].labelled) >= _FEW_POSITIVES else _LR_FEW,
        batch_size=int(np.clip(smallest // 10, 32, _LARGEST_BATCH)),
        patience=10,
        cv=len(splits),
        device=device,
        progress=False,
    )

    def factory() -> nn.Module:
        return MLP(view.shape[1], HIDDEN)

    trained = train_networks(settings, factory, view, splits, list(LAMS), seeds, deadline, goal)
    networks = [network(state) for state in trained.states]
    scores = log_phi(networks, view, pick_device(device)).reshape(len(LAMS), len(splits), -1)
    log_means, log_ratios = pooled_scores(scores, splits)
    log_ratios[trained.best_epoch.reshape(len(LAMS), -1)[:, 0] < 0] = np.nan
    ensembles = [
        Ensemble(networks[i * len(splits) : (i + 1) * len(splits)], log_means[[i]], np.ones(1))
        for i in range(len(LAMS))
    ]
    return ensembles, log_ratios


def network(state: dict[str, Tensor]) -> nn.Module:
    """A trained network from its state."""
    n_columns = state["0.weight"].shape[1]
    with torch.random.fork_rng(devices=[]):  # its first weights are thrown away at once
        made = MLP(n_columns, HIDDEN)
    made.load_state_dict(state)
    return made.eval()


def from_arrays(arrays: dict[str, NDArray[Any]]) -> Ensemble:
    """What :meth:`Ensemble.to_arrays` gave."""
    return Ensemble.from_arrays(arrays, network)
