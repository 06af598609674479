"""The variational classifier (VPU)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor, nn

from varpu import scale as scaling
from varpu.base import BasePUClassifier, arrays_under
from varpu.calibration import recalibration
from varpu.crossfit import Split, fold_splits
from varpu.neural.checks import check_vpu_params
from varpu.neural.crossfit import blended_networks
from varpu.neural.ensemble import Ensemble, Fitted, best_network
from varpu.neural.fitting import HISTORY, history_of, train_networks
from varpu.neural.inputs import factory_of, network_in_state, prepared
from varpu.neural.split import split_rows
from varpu.seeding import random_of
from varpu.tables import column_scales
from varpu.tags import PUTags
from varpu.training import pick_device


class VPUClassifier(BasePUClassifier):
    """Variational PU learning (Chen et al., NeurIPS 2020): networks, no prior, no negatives.

    Minimises ``L_var(Phi) = log E_U[Phi] - E_P[log Phi]`` plus ``lam`` times a penalty, on
    mini-batches, with one network a fold. The folds of a ``lam`` keep one epoch, the one with the
    least held-out ``L_var``; several ``lam`` are blended by ``L_var`` over the pool of out-of-fold
    scores, and the prior is read off that pool. ``predict`` takes the mean of the folds'
    log-ratios, and of these the blend.

    With ``cv=None`` it is Algorithm 1 of the paper: one network, and rows held out to choose its
    epoch and its ``lam``; :func:`varpu.paper_recipe` gives the settings of the paper's experiments.

    Parameters
    ----------
    loss : {"variational", "l2", "js"}, default="variational"
        The divergence: Kullback-Leibler, weighted L2, or Jensen-Shannon with a discriminator.
    penalty : str or None, default="mixup"
        ``"mixup"`` between P and U; its ablations ``"mixup_p"``, ``"mixup_pu"``, ``"mixup_mse"``;
        ``"margin"``, ``"adversarial"``, ``"vat"``; or None.
    lam : float or sequence of float, default=0.1
        Weight of the penalty. All of a grid are trained together and blended by out-of-fold
        ``L_var``; with ``cv=None`` the best is chosen.
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
    patience : int or None, default=15
        Stop after that many epochs in which no ``lam`` had a better held-out loss. None: train all
        epochs.
    lr_milestones : sequence of int, default=(19, 39)
        Epochs, from 0, at which the learning rate is multiplied by ``lr_decay`` and Adam restarts.
    lr_decay : float, default=0.5
    cv : int or None, default=5
        Folds of cross-fitting; fewer are made where there are not that many distinct labelled or
        unlabelled rows. Identical rows are never parted. None: Algorithm 1.
    validation_fraction : float or pair of int, default=0.1
        Of Algorithm 1 alone (``cv=None``): share of P and of U held out to choose epoch and
        ``lam``, or (positives, marginal rows) as counts. With 0 nothing is held out and the last
        epoch is kept.
    scale : {"prior", "max", "quantile"} or float, default="prior"
        ``P(y=1|x) = min(1, Phi / c)``, with ``c`` what a prior read off the rows held out implies,
        the largest Phi of the training rows (the paper's), a high quantile of Phi on labelled
        positives, or this number. Cross-fitted, Phi is the density ratio ``f_P/f``, the mean over
        folds; only the prior is read off out-of-fold scores.
    prior : float or None, default=None
        The share of positives in the marginal, if known: then it sets the scale.
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether labelled rows were drawn from the sample itself, so that all rows are the marginal
        sample, or separately, so that only the unlabelled rows are.
    standardize : bool, default=True
        Centre and scale the columns of a table first. (The paper does not.)
    device : str, default="auto"
        "auto" takes a GPU if there is one.
    precision : {"fp32", "tf32", "bf16", "auto"}, default="fp32"
        Arithmetic of the products; the loss, the weights and Adam are always float32. tf32 is a
        GPU's; "auto" takes bf16 where the device has instructions for it, as recent processors
        have, and trains three times as fast there (`benchmarks/cpu.py`).
    checkpoint : path or None, default=None
        A folder to save the training to after every epoch; a fit that finds its own state there
        goes on from it.
    random_state : int, RandomState or None, default=None
        Decides everything: folds, weights, batches.
    progress : bool or None, default=None
        Show a progress bar; None: if someone is watching a terminal.

    Attributes
    ----------
    modules_ : list of nn.Module
        The networks that ``predict`` uses, in evaluation mode, on the CPU: ``lam`` by ``lam``, and
        fold by fold within each. With ``cv=None`` there is one.
    lam_weights_ : array of shape (number of lam,)
        Weight of each ``lam`` in the blend, 1 in sum; networks of no weight are not kept.
    lam_ : float
        The ``lam`` of the largest weight.
    best_epoch_ : int
        Its epoch, counted from 0.
    held_out_loss_ : float
        ``L_var`` of the blend over the pool of out-of-fold scores, or of the one network on the
        rows held out; NaN if none were.
    out_of_fold_log_ratio_ : array of shape (n,)
        ``log f_P/f`` of each training row by networks that did not see it; with ``cv=None`` NaN but
        for the rows held out.
    prior_interval_ : pair of float
        A 90% bootstrap interval of ``prior_`` where that was read off scores; otherwise both ends
        are ``prior_``.
    history_ : DataFrame
        One line an epoch and network: ``lam``, ``fold`` (if cross-fitted), ``epoch``, ``loss``,
        ``penalty``, ``held_out_loss``.
    mean_, std_ : arrays
        What the columns of a table were centred and scaled by.
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

    pu_tags = PUTags(
        method="VPU",
        reference="Chen et al., NeurIPS 2020",
        needs_prior=False,
        needs_separability=False,
        learner="networks",
        images=True,
        cost="one network a fold and penalty weight, all at once",
    )
    _accepts_images = True

    modules_: list[nn.Module]
    lam_weights_: NDArray[np.float64]
    lam_: float
    best_epoch_: int
    held_out_loss_: float
    out_of_fold_log_ratio_: NDArray[np.float64]
    prior_interval_: tuple[float, float]
    history_: pd.DataFrame
    mean_: NDArray[np.float64]
    std_: NDArray[np.float64]

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
        patience: int | None = 15,
        lr_milestones: Sequence[int] = (19, 39),
        lr_decay: float = 0.5,
        cv: int | None = 5,
        validation_fraction: float | tuple[int, int] = 0.1,
        scale: str | float = "prior",
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
        self.cv = cv
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
        factory = factory_of(self)
        random = random_of(self.random_state)
        if self.cv is None:
            splits = [split_rows(positive, self.validation_fraction, self.scenario, random)]
        else:
            splits = fold_splits(X, positive, self.cv, self.scenario, random)
        seeds = [int(random.randint(2**31 - 1)) for _ in splits]
        self._learn_columns(X, splits)
        lams = [float(lam) for lam in np.atleast_1d(self.lam)]
        table, device = self._prepared(X), pick_device(self.device)
        trained = train_networks(self, factory, table, splits, lams, seeds)
        self.history_ = history_of(trained, lams, None if self.cv is None else len(splits))
        if self.cv is None:
            fitted = best_network(trained, self._network, table, splits[0], device)
        else:
            fitted = blended_networks(trained, self._network, table, splits, device)
        self._take_over(fitted)
        chosen = int(fitted.lam_weights.argmax())
        self.lam_ = lams[chosen]
        self.best_epoch_ = int(trained.best_epoch[chosen * len(splits)])
        self._fix_scale(fitted)

    def _learn_columns(self, X: NDArray[Any], splits: list[Split]) -> None:
        self.mean_, self.std_ = np.zeros(1), np.ones(1)
        if X.ndim == 2 and self.standardize:
            # Without labels nothing can be given away: with folds, all rows of the marginal count.
            rows = splits[0].u if self.cv is None else splits[0].marginal
            self.mean_, self.std_ = column_scales(X[rows])

    def _prepared(self, X: NDArray[Any]) -> NDArray[Any]:
        return prepared(X, self.mean_, self.std_)

    def _take_over(self, fitted: Fitted) -> None:
        self._ensemble = fitted.ensemble
        self.modules_ = fitted.ensemble.networks
        self.lam_weights_ = fitted.lam_weights
        self.held_out_loss_ = fitted.loss
        self.out_of_fold_log_ratio_ = fitted.log_ratio

    def _fix_scale(self, fitted: Fitted) -> None:
        log_phi, rows = fitted.log_phi, fitted.rows
        self.log_mean_phi_ = fitted.log_mean
        self.recalibration_ = None
        if self.prior is not None or self.scale == "prior":
            in_p, in_u = np.zeros((2, len(log_phi)))
            in_p[rows.held_out_p] = in_u[rows.held_out_u] = 1
            if self.cv is not None:
                self.recalibration_ = recalibration(fitted.log_ratio, in_p, in_u)
            self._settle_prior(self.prior, fitted.log_ratio, in_p, in_u)
            self.scale_ = scaling.prior_scale(fitted.log_mean, self.prior_)
            return
        if self.scale == "max":
            trained_on = np.concatenate([rows.p, rows.u])
            # Cross-fitted, every row was trained on as well as held out.
            self.scale_ = scaling.max_scale(log_phi[trained_on] if len(trained_on) else log_phi)
        elif self.scale == "quantile":
            self.scale_ = scaling.quantile_scale(log_phi[rows.labelled])
        else:
            self.scale_ = float(self.scale)
        self.prior_ = scaling.mean_probability(log_phi[rows.marginal], self.scale_)
        self.prior_interval_ = (self.prior_, self.prior_)

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        fields, arrays = super()._to_state()
        fields |= {
            "lam": self.lam_,
            "best_epoch": self.best_epoch_,
            "held_out_loss": None if np.isnan(self.held_out_loss_) else self.held_out_loss_,
        }
        arrays |= {
            "mean": self.mean_,
            "std": self.std_,
            "lam_weights": self.lam_weights_,
            "out_of_fold_log_ratio": self.out_of_fold_log_ratio_,
        }
        arrays |= {f"ensemble.{name}": v for name, v in self._ensemble.to_arrays().items()}
        arrays |= {f"history.{name}": self.history_[name].to_numpy() for name in self.history_}
        return fields, arrays

    def _from_state(self, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._from_state(fields, arrays)
        self.lam_ = fields["lam"]
        self.best_epoch_ = fields["best_epoch"]
        loss = fields["held_out_loss"]
        self.held_out_loss_ = np.nan if loss is None else loss
        self.mean_, self.std_ = arrays["mean"], arrays["std"]
        self.lam_weights_ = arrays["lam_weights"]
        self.out_of_fold_log_ratio_ = arrays["out_of_fold_log_ratio"]
        history = arrays_under("history.", arrays)
        self.history_ = pd.DataFrame({name: history[name] for name in HISTORY if name in history})
        self._ensemble = Ensemble.from_arrays(arrays_under("ensemble.", arrays), self._network)
        self.modules_ = self._ensemble.networks

    def _network(self, state: dict[str, Tensor]) -> nn.Module:
        return network_in_state(factory_of(self), state)

    def _log_phi(self, X: NDArray[Any]) -> NDArray[np.float64]:
        return self._ensemble.predict(self._prepared(X), pick_device(self.device))
