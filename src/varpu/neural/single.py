"""One network trained on a risk, with what its inputs go through."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.functional import logsigmoid

from varpu.base import arrays_under
from varpu.crossfit import Split
from varpu.neural.ensemble import Floats, diverged, logits
from varpu.neural.fitting import device_rows, recipe_of
from varpu.neural.inputs import Factory, factory_of, network_in_state, prepared
from varpu.tables import column_scales
from varpu.training import Member, Risk, Trained, pick_device, train

HISTORY = ("lr", "epoch", "loss", "held_out_loss")


@dataclass
class SingleNetwork:
    """A network on the CPU in evaluation mode; columns of a table are centred and scaled first."""

    network: nn.Module
    mean: Floats
    std: Floats

    def log_phi(self, X: NDArray[Any], device: torch.device) -> Floats:
        """``log Phi`` of each row, shape (n,)."""
        g = logits([self.network], prepared(X, self.mean, self.std), device)[0]
        values: Floats = logsigmoid(torch.from_numpy(g)).numpy()
        return values

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Everything there is to it but the kind of network."""
        state = {f"network.{k}": v.numpy() for k, v in self.network.state_dict().items()}
        return {"mean": self.mean, "std": self.std, **state}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], factory: Factory) -> "SingleNetwork":
        """What :meth:`to_arrays` gave, with a network made anew."""
        state = {k: torch.from_numpy(v) for k, v in arrays_under("network.", arrays).items()}
        return cls(network_in_state(factory, state), arrays["mean"], arrays["std"])


@dataclass
class TrainedSingle:
    """The network that was kept.

    Attributes
    ----------
    network : SingleNetwork
    lr : float
        The learning rate it was trained with.
    best_epoch : int
    held_out_loss : float
        NaN where nothing was held out.
    history : DataFrame
        One line an epoch and learning rate.
    """

    network: SingleNetwork
    lr: float
    best_epoch: int
    held_out_loss: float
    history: pd.DataFrame


def train_single(
    model: Any,
    X: NDArray[Any],
    split: Split,
    risk: Risk,
    prior: float,
    seed: int,
    *,
    weight: Floats | None = None,
    alpha: float = 0.3,
) -> TrainedSingle:
    """Train the network that a model's parameters describe.

    Several learning rates are trained together, and the one with the least held-out risk is kept.
    """
    mean, std = np.zeros(1), np.ones(1)
    if X.ndim == 2 and model.standardize:
        mean, std = column_scales(X[np.union1d(split.p, split.u)])
    rows = device_rows(prepared(X, mean, std), pick_device(model.device), weight)
    lrs = [float(lr) for lr in np.atleast_1d(model.lr)]
    members = [
        Member(
            seed=seed,
            lam=0.0,
            lr=lr,
            p=split.p,
            u=split.u,
            held_out_p=split.held_out_p,
            held_out_u=split.held_out_u,
            prior=prior,
        )
        for lr in lrs
    ]
    recipe = recipe_of(model, len(split.u), weight_decay=model.weight_decay, risk=risk, alpha=alpha)
    trained = train(rows, members, recipe, factory_of(model), progress=model.progress)
    usable = np.array([_is_finite(trained, k) for k in range(len(lrs))])
    if not usable.any():
        raise diverged()
    losses = np.where(usable, trained.held_out_loss, np.inf)
    kept = int(np.argmin(losses)) if len(split.held_out_p) else 0
    return TrainedSingle(
        SingleNetwork(network_in_state(factory_of(model), trained.states[kept]), mean, std),
        lrs[kept],
        int(trained.best_epoch[kept]),
        float(losses[kept]) if len(split.held_out_p) else np.nan,
        _history(trained, lrs),
    )


def _is_finite(trained: Trained, k: int) -> bool:
    values = [value for value in trained.states[k].values() if value.is_floating_point()]
    return trained.best_epoch[k] >= 0 and all(bool(value.isfinite().all()) for value in values)


def _history(trained: Trained, lrs: list[float]) -> pd.DataFrame:
    n_epochs = len(trained.history)
    columns = (
        np.repeat(lrs, n_epochs),
        np.tile(np.arange(n_epochs), len(lrs)),
        trained.history[:, 0].T.ravel(),
        trained.history[:, 2].T.ravel(),
    )
    # Networks that were trained one after another may have stopped at different epochs.
    history = pd.DataFrame(dict(zip(HISTORY, columns, strict=True)))
    return history.dropna(subset="loss").reset_index(drop=True)
