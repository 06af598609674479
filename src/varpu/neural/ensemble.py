"""Trained networks as one scorer, and the one that Algorithm 1 keeps."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from varpu.base import arrays_under
from varpu.crossfit import Split, blend
from varpu.exceptions import PUInputError
from varpu.nets import MLP, logit
from varpu.neural.inputs import pixels_to_unit
from varpu.scale import log_mean_exp
from varpu.training import Trained

_SCORED_AT_ONCE = 8192

Floats = NDArray[np.float64]
# From the state of a network to the network, on the CPU and in evaluation mode.
MakeNetwork = Callable[[dict[str, Tensor]], nn.Module]


@dataclass
class Ensemble:
    """L penalty weights of F folds each, as one score; a single network is L = F = 1.

    Attributes
    ----------
    networks : list of nn.Module
        Penalty weight by penalty weight, and fold by fold within each; on the CPU.
    log_means : array of shape (L, F)
        What is taken off each network's ``log Phi``: its ``log E_U[Phi]`` over the rows it was
        trained on, after which all speak in density ratios. 0 leaves a score as it is.
    weights : array of shape (L,)
        Of the penalty weights.
    """

    networks: list[nn.Module]
    log_means: Floats
    weights: Floats

    def predict(self, table: NDArray[Any], device: torch.device) -> Floats:
        """The score of each row, shape (n,)."""
        scores = log_phi(self.networks, table, device)
        return self.combine(scores.reshape(*self.log_means.shape, -1))

    def combine(self, scores: Floats) -> Floats:
        """From ``log Phi`` of shape (L, F, n) to (n,): the mean over folds, then the blend."""
        return blend((scores - self.log_means[..., None]).mean(axis=1), self.weights)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything there is to it but the kind of network."""
        arrays: dict[str, NDArray[Any]] = {"log_means": self.log_means, "weights": self.weights}
        for i, network in enumerate(self.networks):
            state = network.state_dict().items()
            arrays |= {f"network.{i}.{name}": value.numpy() for name, value in state}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], make: MakeNetwork) -> "Ensemble":
        """What :meth:`to_arrays` gave, with networks made anew."""
        networks = []
        for i in range(arrays["log_means"].size):
            state = arrays_under(f"network.{i}.", arrays)
            networks.append(make({name: torch.from_numpy(v) for name, v in state.items()}))
        return cls(networks, arrays["log_means"], arrays["weights"])


@dataclass
class Fitted:
    """What a fit found, whichever way its networks were chosen.

    Attributes
    ----------
    ensemble : Ensemble
    lam_weights : array of shape (number of penalty weights,)
    loss : float
        ``L_var`` on rows that were not trained on.
    log_ratio : array of shape (n,)
        ``log f_P/f`` by networks that did not see the row; NaN where there is none.
    log_phi : array of shape (n,)
        The ensemble's scores of the rows.
    log_mean : float
        What makes them log-ratios when it is taken off.
    rows : Split
        Which rows were trained on, and which were held out. Cross-fitted all were both: they are
        given as held out.
    """

    ensemble: Ensemble
    lam_weights: Floats
    loss: float
    log_ratio: Floats
    log_phi: Floats
    log_mean: float
    rows: Split


def best_network(
    trained: Trained, make: MakeNetwork, table: NDArray[Any], split: Split, device: torch.device
) -> Fitted:
    """The one network with the least held-out ``L_var``; the first where nothing is held out."""
    losses = trained.held_out_loss
    if not np.isfinite(losses).any() and not np.isnan(losses).all():
        raise diverged()
    chosen = 0 if np.isnan(losses).all() else int(np.nanargmin(losses))
    ensemble = Ensemble([make(trained.states[chosen])], np.zeros((1, 1)), np.ones(1))
    scores = ensemble.predict(table, device)
    log_mean = log_mean_exp(scores[split.marginal])
    log_ratio = np.full(len(table), np.nan)
    held_out = np.concatenate([split.held_out_p, split.held_out_u])
    log_ratio[held_out] = scores[held_out] - log_mean
    weights = np.eye(len(losses))[chosen]
    return Fitted(ensemble, weights, float(losses[chosen]), log_ratio, scores, log_mean, split)


def diverged() -> PUInputError:
    """The error for a fit that has nothing to show."""
    return PUInputError("training diverged: no epoch has a finite held-out loss; lower lr")


def log_phi(networks: list[nn.Module], table: NDArray[Any], device: torch.device) -> Floats:
    """``log Phi`` by each network, shape (K, n)."""
    values: Floats = logsigmoid(torch.from_numpy(logits(networks, table, device))).numpy()
    return values


def logits(networks: list[nn.Module], table: NDArray[Any], device: torch.device) -> Floats:
    """Logits by each network, shape (K, n); each part of the table is moved once for all."""
    # In float64 a row's score does not depend on the rows it is scored with. Images are large
    # and keep the type they were trained in.
    is_mlp = all(isinstance(network, MLP) for network in networks)
    dtype = torch.float64 if is_mlp else torch.float32
    # Copies: to move the networks themselves would break a prediction in another thread.
    copies = [deepcopy(network).to(device, dtype) for network in networks]
    scores = []
    with torch.no_grad():
        for start in range(0, len(table), _SCORED_AT_ONCE):
            part = torch.tensor(table[start : start + _SCORED_AT_ONCE], device=device)
            inputs = pixels_to_unit(part).to(dtype)
            values = [logit(network(inputs)).double() for network in copies]
            scores.append(torch.stack(values).cpu().numpy())
    return np.concatenate(scores, axis=1)
