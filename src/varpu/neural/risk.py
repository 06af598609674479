"""What uPU and nnPU share: a network trained on a risk that a class prior makes known."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from varpu.base import SCENARIOS
from varpu.checks import one_of, real
from varpu.losses import SURROGATES
from varpu.neural.checks import check_single_params
from varpu.neural.inputs import factory_of
from varpu.neural.single import train_single
from varpu.neural.single_classifier import SingleNetworkClassifier
from varpu.neural.split import split_rows
from varpu.priors import BasePriorEstimator, check_prior, resolve_prior
from varpu.seeding import random_of
from varpu.training import Risk


class RiskClassifier(SingleNetworkClassifier):
    """A network trained on a PU risk; a subclass says which one in ``_risk``."""

    prior_interval_: tuple[float, float]

    def __init__(
        self,
        *,
        prior: float | str | BasePriorEstimator = "auto",
        loss: str = "sigmoid",
        mixup: bool = False,
        alpha: float = 0.3,
        hidden: Sequence[int] = (128, 128, 128),
        module: str | Callable[[], nn.Module] | None = None,
        lr: float | Sequence[float] = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        weight_decay: float = 5e-3,
        batch_size: int | None = None,
        epochs: int = 50,
        steps_per_epoch: int = 30,
        lr_milestones: Sequence[int] = (),
        lr_decay: float = 0.5,
        validation_fraction: float | tuple[int, int] = 0.1,
        patience: int | None = None,
        standardize: bool = True,
        device: str = "auto",
        precision: str = "fp32",
        scenario: str = "single-set",
        random_state: int | np.random.RandomState | None = None,
        progress: bool | None = None,
    ) -> None:
        self.prior = prior
        self.loss = loss
        self.mixup = mixup
        self.alpha = alpha
        self.hidden = hidden
        self.module = module
        self.lr = lr
        self.betas = betas
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.epochs = epochs
        self.steps_per_epoch = steps_per_epoch
        self.lr_milestones = lr_milestones
        self.lr_decay = lr_decay
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.standardize = standardize
        self.device = device
        self.precision = precision
        self.scenario = scenario
        self.random_state = random_state
        self.progress = progress

    def _risk(self) -> Risk:
        raise TypeError(f"{type(self).__name__} must define _risk")

    def _check_params(self) -> None:
        check_prior(self.prior)
        one_of("scenario", self.scenario, SCENARIOS)
        one_of("loss", self.loss, tuple(SURROGATES))
        real("alpha", self.alpha, 0, open_low=True)
        check_single_params(self)

    def _fit(self, X: NDArray[Any], positive: NDArray[np.bool_]) -> None:
        factory_of(self)  # complains of a network that does not fit before any work is done
        random = random_of(self.random_state)
        split = split_rows(positive, self.validation_fraction, self.scenario, random)
        seed, prior_seed = (int(random.randint(2**31 - 1)) for _ in range(2))
        prior, self.prior_interval_ = resolve_prior(
            self.prior, X, positive, self.scenario, prior_seed
        )
        risk = self._risk()
        self._take_over(train_single(self, X, split, risk, prior, seed, alpha=self.alpha))
        self._take_probabilities(self._log_phi(X[split.marginal]), prior)
