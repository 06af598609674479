"""What classifiers of one network share once it is trained: scores, storage, attributes."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import nn

from varpu.base import BasePUClassifier, arrays_under
from varpu.neural.inputs import factory_of
from varpu.neural.single import HISTORY, SingleNetwork, TrainedSingle
from varpu.training import pick_device


class SingleNetworkClassifier(BasePUClassifier):
    """A classifier whose score is ``Phi``, the sigmoid of one network; a subclass trains it."""

    _accepts_images = True

    module_: nn.Module
    lr_: float
    best_epoch_: int
    held_out_loss_: float
    history_: pd.DataFrame
    device: str

    def _take_over(self, trained: TrainedSingle) -> None:
        self._single = trained.network
        self.module_ = trained.network.network
        self.lr_ = trained.lr
        self.best_epoch_ = trained.best_epoch
        self.held_out_loss_ = trained.held_out_loss
        self.history_ = trained.history

    def _log_phi(self, X: NDArray[Any]) -> NDArray[np.float64]:
        return self._single.log_phi(X, pick_device(self.device))

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        fields, arrays = super()._to_state()
        fields |= {
            "lr": self.lr_,
            "best_epoch": self.best_epoch_,
            "held_out_loss": None if np.isnan(self.held_out_loss_) else self.held_out_loss_,
        }
        arrays |= {f"single.{name}": v for name, v in self._single.to_arrays().items()}
        arrays |= {f"history.{name}": self.history_[name].to_numpy() for name in HISTORY}
        return fields, arrays

    def _from_state(self, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._from_state(fields, arrays)
        single = SingleNetwork.from_arrays(arrays_under("single.", arrays), factory_of(self))
        history = arrays_under("history.", arrays)
        loss = fields["held_out_loss"]
        self._take_over(
            TrainedSingle(
                single,
                fields["lr"],
                fields["best_epoch"],
                np.nan if loss is None else loss,
                pd.DataFrame({name: history[name] for name in HISTORY}),
            )
        )
