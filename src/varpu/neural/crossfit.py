"""Networks cross-fitted: every row is scored by those that did not see it, and the pool decides.

One network a fold and penalty weight. Folds of one penalty weight share one epoch, penalty weights
are blended by the pooled loss, and nothing is chosen fold by fold: a choice that flatters a fold's
few positives makes their scores unlike those of unlabelled positives.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from varpu.crossfit import Split, blend, blend_weights, pooled_loss
from varpu.neural.ensemble import Ensemble, Fitted, Floats, MakeNetwork, diverged, log_phi
from varpu.scale import log_mean_exp
from varpu.training import Trained

# A network of less weight changes no probability that anyone would look at, but costs as much.
_LEAST_WEIGHT = 1e-3


def blended_networks(
    trained: Trained,
    make: MakeNetwork,
    table: NDArray[Any],
    splits: list[Split],
    device: torch.device,
) -> Fitted:
    """All folds of the penalty weights that the pooled out-of-fold ``L_var`` wants.

    Parameters
    ----------
    trained : Trained
        Members penalty weight by penalty weight, and fold by fold within each.
    make : function from a state to a network
    table : array
        The rows as the networks take them.
    splits : list of Split
        One a fold.
    device : torch.device
    """
    epochs = trained.best_epoch.reshape(-1, len(splits))  # (L, F)
    if (epochs < 0).all():
        raise diverged()
    networks = [make(state) for state in trained.states]
    scores = log_phi(networks, table, device).reshape(*epochs.shape, -1)  # (L, F, n)
    log_means, log_ratios = pooled_scores(scores, splits)
    log_ratios[epochs[:, 0] < 0] = np.nan  # diverged: its networks are as they were made

    rows = _whole_pool(splits)
    weight_p, weight_u = np.zeros((2, len(table)))
    weight_p[rows.held_out_p] = weight_u[rows.held_out_u] = 1
    weights = blend_weights(log_ratios, weight_p, weight_u)
    weights[weights < _LEAST_WEIGHT] = 0
    weights /= weights.sum()
    log_ratio = blend(log_ratios, weights)

    used = weights > 0
    kept = [network for network, use in zip(networks, used.repeat(len(splits)), strict=True) if use]
    ensemble = Ensemble(kept, log_means[used], weights[used])
    return Fitted(
        ensemble=ensemble,
        lam_weights=weights,
        loss=pooled_loss(log_ratio, weight_p, weight_u),
        log_ratio=log_ratio,
        log_phi=ensemble.combine(scores[used]),
        log_mean=0.0,  # the scores are density ratios already
        rows=rows,
    )


def pooled_scores(scores: Floats, splits: list[Split]) -> tuple[Floats, Floats]:
    """``log E_U[Phi]`` of each network, (L, F), and out-of-fold log-ratios, (L, n).

    The mean is over the rows that the network was trained on: one over the rows it is to score
    would tell it something about them.
    """
    log_means = np.empty(scores.shape[:2])
    log_ratios = np.full((len(scores), scores.shape[2]), np.nan)
    for k, split in enumerate(splits):
        log_means[:, k] = [log_mean_exp(of_lam[split.u]) for of_lam in scores[:, k]]
        held_out = np.union1d(split.held_out_p, split.held_out_u)
        log_ratios[:, held_out] = scores[:, k, held_out] - log_means[:, k, None]
    return log_means, log_ratios


def _whole_pool(splits: list[Split]) -> Split:
    """Every row held out, as each was once."""
    none = np.zeros(0, dtype=np.int64)
    held_out_p = np.concatenate([split.held_out_p for split in splits])
    return Split(none, none, held_out_p, np.concatenate([split.held_out_u for split in splits]))
