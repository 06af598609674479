"""The variational classifier (VPU)."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from varpu import scale as scaling
from varpu.base import BasePUClassifier
from varpu.exceptions import PUInputError
from varpu.nets import MLP, logit
from varpu.neural.checks import check_vpu_params
from varpu.neural.inputs import network_factory, pixels_to_unit
from varpu.neural.split import Split, split_rows
from varpu.training import DeviceRows, Member, Recipe, Trained, pick_device, train

_SCORED_AT_ONCE = 8192
_HISTORY = ["lam", "epoch", "loss", "penalty", "held_out_loss"]


class VPUClassifier(BasePUClassifier):
    """Variational PU learning (Chen et al., NeurIPS 2020): a network, no prior, no negatives.

    Minimises ``L_var(Phi) = log E_U[Phi] - E_P[log Phi]`` plus ``lam`` times a penalty, on
    mini-batches; keeps the epoch, and of several ``lam`` the one, with the least ``L_var`` on rows
    held out; then fixes the scale. This is Algorithm 1 of the paper; :func:`varpu.paper_recipe`
    gives the settings of its experiments, the defaults are for tables in general.

    Parameters
    ----------
    loss : {"variational", "l2", "js"}, default="variational"
        The divergence: Kullback-Leibler, weighted L2, or Jensen-Shannon with a discriminator.
    penalty : str or None, default="mixup"
        ``"mixup"`` between P and U; its ablations ``"mixup_p"``, ``"mixup_pu"``, ``"mixup_mse"``;
        ``"margin"``, ``"adversarial"``, ``"vat"``; or None.
    lam : float or sequence of float, default=0.1
        Weight of the penalty. All of a grid are trained together and one is chosen by held-out
        ``L_var``.
    alpha : float, default=0.3
        Of the Beta distribution of MixUp, or of the odds in the margin term.
    epsilon : float, default=0.1
        How far ``"adversarial"`` and ``"vat"`` move a row.
    hidden : sequence of int, default=(128, 128, 128)
        Hidden layers of the network for tables. (The paper's are six of 300.)
    module : str, function or None, default=None
        Another network: ``"lenet5"``, ``"cifar_cnn"``, ``"stl_cnn"``, or a function without
        arguments that makes an ``nn.Module`` with one or two outputs a row. None: ``hidden`` for
        tables, the paper's network for images of a shape it knows.
    lr : float, default=3e-4
    betas : pair of float, default=(0.5, 0.99)
        Of Adam.
    batch_size : int or None, default=None
        Rows of P and rows of U in a batch. None: a tenth of the marginal rows, but at least 32 and
        at most 500. A batch larger than the marginal sample is cut to it; a batch larger than P
        repeats P.
    epochs, steps_per_epoch : int, default=50 and 30
    patience : int or None, default=10
        Stop after that many epochs without a better held-out loss. None: train all epochs.
    lr_milestones : sequence of int, default=(19, 39)
        Epochs, from 0, at which the learning rate is multiplied by ``lr_decay`` and Adam restarts.
    lr_decay : float, default=0.5
    validation_fraction : float or pair of int, default=0.1
        Share of P and of U held out to choose epoch and ``lam``, or (positives, marginal rows) as
        counts. With 0 nothing is held out and the last epoch is kept.
    scale : {"max", "quantile", "prior"} or float, default="max"
        ``P(y=1|x) = min(1, Phi / c)``, with ``c`` the largest Phi of the training rows (the
        paper's), a high quantile on labelled positives, what a prior read off the held-out rows
        implies, or this number.
    prior : float or None, default=None
        The share of positives in the marginal, if known: then it sets the scale.
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether labelled rows were drawn from the sample itself, so that all rows are the marginal
        sample, or separately, so that only the unlabelled rows are.
    standardize : bool, default=True
        Centre and scale the columns of a table first. (The paper does not.)
    device : str, default="auto"
        "auto" takes a GPU if there is one.
    precision : {"fp32", "tf32", "bf16"}, default="fp32"
        Arithmetic of the products on a GPU; the loss, the weights and Adam are always float32.
    checkpoint : path or None, default=None
        A folder to save the training to after every epoch; a fit that finds its own state there
        goes on from it.
    random_state : int, RandomState or None, default=None
        Decides everything: split, weights, batches.
    progress : bool or None, default=None
        Show a progress bar; None: if someone is watching a terminal.

    Attributes
    ----------
    module_ : nn.Module
        The trained network, in evaluation mode, on the CPU.
    lam_ : float
        The penalty weight that was chosen.
    best_epoch_ : int
        The epoch that was kept, counted from 0.
    held_out_loss_ : float
        Held-out ``L_var`` there; NaN if nothing was held out.
    history_ : DataFrame
        One line an epoch and ``lam``: ``loss``, ``penalty``, ``held_out_loss``.
    scale_, prior_, log_mean_phi_, classes_, n_features_in_, feature_names_in_
        As in every classifier here.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from varpu import VPUClassifier
    >>> X, truth = make_blobs(400, centers=2, random_state=0)
    >>> labelled = (truth == 1) & (np.arange(400) % 4 == 0)
    >>> model = VPUClassifier(epochs=5, random_state=0).fit(X, labelled)
    >>> model.predict_proba(X).shape
    (400, 2)
    """

    _accepts_images = True

    module_: nn.Module
    lam_: float
    best_epoch_: int
    held_out_loss_: float
    history_: pd.DataFrame

    def __init__(
        self,
        *,
        loss: str = "variational",
        penalty: str | None = "mixup",
        lam: float | Sequence[float] = 0.1,
        alpha: float = 0.3,
        epsilon: float = 0.1,
        hidden: Sequence[int] = (128, 128, 128),
        module: str | Callable[[], nn.Module] | None = None,
        lr: float = 3e-4,
        betas: tuple[float, float] = (0.5, 0.99),
        batch_size: int | None = None,
        epochs: int = 50,
        steps_per_epoch: int = 30,
        patience: int | None = 10,
        lr_milestones: Sequence[int] = (19, 39),
        lr_decay: float = 0.5,
        validation_fraction: float | tuple[int, int] = 0.1,
        scale: str | float = "max",
        prior: float | None = None,
        scenario: str = "single-set",
        standardize: bool = True,
        device: str = "auto",
        precision: str = "fp32",
        checkpoint: str | Path | None = None,
        random_state: int | np.random.RandomState | None = None,
        progress: bool | None = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.lam = lam
        self.alpha = alpha
        self.epsilon = epsilon
        self.hidden = hidden
        self.module = module
        self.lr = lr
        self.betas = betas
        self.batch_size = batch_size
        self.epochs = epochs
        self.steps_per_epoch = steps_per_epoch
        self.patience = patience
        self.lr_milestones = lr_milestones
        self.lr_decay = lr_decay
        self.validation_fraction = validation_fraction
        self.scale = scale
        self.prior = prior
        self.scenario = scenario
        self.standardize = standardize
        self.device = device
        self.precision = precision
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.progress = progress

    def _check_params(self) -> None:
        check_vpu_params(self)

    def _fit(self, X: NDArray[Any], positive: NDArray[np.bool_]) -> None:
        random = check_random_state(self.random_state)
        split = split_rows(positive, self.validation_fraction, self.scenario, random)
        seed = int(random.randint(2**31 - 1))
        self._learn_columns(X[split.u] if X.ndim == 2 else X)
        lams = [float(lam) for lam in np.atleast_1d(self.lam)]
        trained = self._train(X, split, lams, seed)
        self._choose(trained, lams)
        self._fix_scale(X, split)

    def _learn_columns(self, X: NDArray[Any]) -> None:
        if X.ndim == 2 and self.standardize:
            self.mean_ = X.mean(axis=0, dtype=np.float64)
            deviation = X.std(axis=0, dtype=np.float64)
            # A constant column says nothing; dividing by its rounding error would make it shout.
            tiny = deviation <= 1e-12 * np.maximum(np.abs(self.mean_), 1.0)
            self.std_ = np.where(tiny, 1.0, deviation)
        else:
            self.mean_, self.std_ = np.zeros(1), np.ones(1)

    def _prepared(self, X: NDArray[Any]) -> NDArray[Any]:
        return X if X.ndim > 2 else (X - self.mean_) / self.std_

    def _train(self, X: NDArray[Any], split: Split, lams: list[float], seed: int) -> Trained:
        device = pick_device(self.device)
        table = self._prepared(X)
        if table.dtype != np.uint8:
            table = table.astype(np.float32, copy=False)
        rows = DeviceRows(torch.tensor(table, device=device), pixels_to_unit)
        members = [
            Member(seed, lam, self.lr, split.p, split.u, split.held_out_p, split.held_out_u)
            for lam in lams
        ]
        wanted = self.batch_size or int(np.clip(len(split.u) // 10, 32, 500))
        recipe = Recipe(
            loss=self.loss,
            penalty=self.penalty,
            alpha=self.alpha,
            epsilon=self.epsilon,
            epochs=self.epochs,
            steps_per_epoch=self.steps_per_epoch,
            batch_size=min(wanted, len(split.u)),
            betas=(self.betas[0], self.betas[1]),
            lr_milestones=tuple(self.lr_milestones),
            lr_decay=self.lr_decay,
            precision=self.precision,
            patience=self.patience,
        )
        return train(
            rows,
            members,
            recipe,
            self._factory(X.shape[1:]),
            progress=self.progress,
            checkpoint=None if self.checkpoint is None else Path(self.checkpoint),
        )

    def _factory(self, shape: tuple[int, ...]) -> Callable[[], nn.Module]:
        return network_factory(self.module, tuple(self.hidden), shape)

    def _choose(self, trained: Trained, lams: list[float]) -> None:
        """Keep the member with the least held-out ``L_var``."""
        losses = trained.held_out_loss
        if not np.isfinite(losses).any() and not np.isnan(losses).all():
            raise PUInputError("training diverged: no epoch has a finite held-out loss; lower lr")
        chosen = 0 if np.isnan(losses).all() else int(np.nanargmin(losses))
        self.lam_ = lams[chosen]
        self.best_epoch_ = int(trained.best_epoch[chosen])
        self.held_out_loss_ = float(losses[chosen])
        self.module_ = self._network(trained.states[chosen])
        n_epochs = len(trained.history)
        history = pd.DataFrame(
            {
                "lam": np.repeat(lams, n_epochs),
                "epoch": np.tile(np.arange(n_epochs), len(lams)),
                **{name: trained.history[:, i].T.ravel() for i, name in enumerate(_HISTORY[2:])},
            }
        )
        # Networks that were trained one after another may have stopped at different epochs.
        self.history_ = history.dropna(subset="loss").reset_index(drop=True)

    def _fix_scale(self, X: NDArray[Any], split: Split) -> None:
        log_phi = self._log_phi(X)
        all_u = np.concatenate([split.u, split.held_out_u])
        self.log_mean_phi_ = scaling.log_mean_exp(log_phi[all_u])
        prior = self.prior
        if prior is None and self.scale == "prior":
            prior = scaling.held_out_prior(log_phi[split.held_out_p], log_phi[split.held_out_u])
        if prior is not None:
            self.scale_, self.prior_ = scaling.prior_scale(log_phi[all_u], prior), float(prior)
            return
        if self.scale == "max":
            self.scale_ = scaling.max_scale(log_phi[np.concatenate([split.p, split.u])])
        elif self.scale == "quantile":
            self.scale_ = scaling.quantile_scale(
                log_phi[np.concatenate([split.p, split.held_out_p])]
            )
        else:
            self.scale_ = float(self.scale)
        self.prior_ = scaling.mean_probability(log_phi[all_u], self.scale_)

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        fields, arrays = super()._to_state()
        fields |= {
            "lam": self.lam_,
            "best_epoch": self.best_epoch_,
            "held_out_loss": None if np.isnan(self.held_out_loss_) else self.held_out_loss_,
        }
        arrays |= {"mean": self.mean_, "std": self.std_}
        arrays |= {
            f"module.{name}": value.numpy() for name, value in self.module_.state_dict().items()
        }
        arrays |= {f"history.{name}": self.history_[name].to_numpy() for name in self.history_}
        return fields, arrays

    def _from_state(self, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._from_state(fields, arrays)
        self.lam_ = fields["lam"]
        self.best_epoch_ = fields["best_epoch"]
        loss = fields["held_out_loss"]
        self.held_out_loss_ = np.nan if loss is None else loss
        self.mean_, self.std_ = arrays["mean"], arrays["std"]
        self.history_ = pd.DataFrame(_under("history.", arrays))[_HISTORY]
        weights = _under("module.", arrays)
        self.module_ = self._network({k: torch.from_numpy(v) for k, v in weights.items()})

    def _network(self, state: dict[str, Tensor]) -> nn.Module:
        shape = getattr(self, "image_shape_", (self.n_features_in_,))
        with torch.random.fork_rng(devices=[]):  # its first weights are thrown away at once
            network = self._factory(shape)()
        network.load_state_dict(state)
        return network.cpu().eval()

    def _log_phi(self, X: NDArray[Any]) -> NDArray[np.float64]:
        device = pick_device(self.device)
        table = self._prepared(X)
        # In float64 a row's score does not depend on the rows it is scored with. Images are large
        # and keep the type they were trained in.
        dtype = torch.float64 if isinstance(self.module_, MLP) else torch.float32
        # A copy: to move the model itself would break a prediction in another thread.
        module = deepcopy(self.module_).to(device, dtype)
        scores = []
        with torch.no_grad():
            for start in range(0, len(table), _SCORED_AT_ONCE):
                part = torch.tensor(table[start : start + _SCORED_AT_ONCE], device=device)
                inputs = pixels_to_unit(part).to(dtype)
                scores.append(logsigmoid(logit(module(inputs)).double()).cpu().numpy())
        return np.concatenate(scores)


def _under(prefix: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
