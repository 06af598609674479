"""Networks as candidates: all penalty weights and folds of one view in one stacked fit."""

from dataclasses import dataclass
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
from varpu.scale import log_mean_exp
from varpu.training import pick_device

# Weights of the penalty, from nearly free to smoothed: few positives want it strong.
_LAMS, _LAMS_FEW = (0.001, 0.01, 0.1), (0.03, 0.3, 1.0)
_HIDDEN = (256, 256)
# Small batches and larger steps reach the same held-out loss as the paper's 500 rows in a quarter
# of the time. Few positives come by many times an epoch, and want smaller steps.
_LARGEST_BATCH, _LR, _LR_FEW = 128, 1e-3, 5e-4
_FEW_POSITIVES = 500

Floats = NDArray[np.float64]


@dataclass
class FittedNetworks:
    """Networks of several penalty weights.

    Attributes
    ----------
    lams : tuple of float
    ensembles : list of Ensemble
        One a penalty weight: a network a fold, and one on all rows.
    log_ratios : array of shape (L, n)
        Out-of-fold ``log f_P/f``; NaN for a penalty weight that diverged.
    """

    lams: tuple[float, ...]
    ensembles: list[Ensemble]
    log_ratios: Floats


def fit_networks(
    view: Floats,
    splits: list[Split],
    seeds: list[int],
    device: str,
    deadline: float | None,
    goal: float,
) -> FittedNetworks:
    """Train networks on each fold, and beside them one on all rows that stops when they do.

    The last one cannot say how good it is, but has seen a quarter more rows than the others.
    Training stops at the ``deadline``, and early on if the ``goal`` is out of reach
    (:func:`varpu.training.train`).

    Parameters
    ----------
    view : array of shape (n, d)
    splits : list of Split
        One a fold.
    seeds : list of int
        One a fold, and one for the network on all rows.
    device : str
    deadline : float or None
    goal : float
    """
    few = len(splits[0].labelled) < _FEW_POSITIVES
    smallest = min(len(split.u) for split in splits)
    settings = VPUClassifier(
        hidden=_HIDDEN,
        lr=_LR_FEW if few else _LR,
        batch_size=int(np.clip(smallest // 10, 32, _LARGEST_BATCH)),
        patience=10,
        cv=len(splits),
        device=device,
        progress=False,
    )

    def factory() -> nn.Module:
        return MLP(view.shape[1], _HIDDEN)

    none = np.zeros(0, dtype=np.int64)
    whole = Split(splits[0].labelled, splits[0].marginal, none, none)
    lams, each = (_LAMS_FEW if few else _LAMS), len(splits) + 1
    trained = train_networks(
        settings, factory, view, [*splits, whole], list(lams), seeds, deadline, goal
    )
    networks = [network(state) for state in trained.states]
    scores = log_phi(networks, view, pick_device(device)).reshape(len(lams), each, -1)
    log_means, log_ratios = pooled_scores(scores[:, :-1], splits)
    log_ratios[trained.best_epoch.reshape(len(lams), -1)[:, 0] < 0] = np.nan
    of_whole = [[log_mean_exp(of_lam[-1, whole.u])] for of_lam in scores]
    log_means = np.hstack([log_means, of_whole])
    ensembles = [
        Ensemble(networks[i * each : (i + 1) * each], log_means[[i]], np.ones(1))
        for i in range(len(lams))
    ]
    return FittedNetworks(lams, ensembles, log_ratios)


def network(state: dict[str, Tensor]) -> nn.Module:
    """A trained network from its state."""
    n_columns = state["0.weight"].shape[1]
    with torch.random.fork_rng(devices=[]):  # its first weights are thrown away at once
        made = MLP(n_columns, _HIDDEN)
    made.load_state_dict(state)
    return made.eval()


def from_arrays(arrays: dict[str, NDArray[Any]]) -> Ensemble:
    """What :meth:`Ensemble.to_arrays` gave."""
    return Ensemble.from_arrays(arrays, network)
