"""nnPU: the non-negative risk."""

from collections.abc import Callable, Sequence

import numpy as np
from torch import nn

from varpu.checks import real
from varpu.neural.risk import RiskClassifier
from varpu.priors import BasePriorEstimator
from varpu.tags import PUTags
from varpu.training import Risk


class NNPUClassifier(RiskClassifier):
    """nnPU (Kiryo et al., 2017): a network on the non-negative risk, for a given class prior.

    As uPU, but where the estimated risk of the negatives, ``R- = E_U[l(-g)] - pi E_P[l(-g)]``,
    falls below ``-beta``, which no risk can, the step climbs: it descends ``-gamma R-`` alone,
    without the positive term. ``predict`` is the sign of the network's output; with the logistic
    loss its sigmoid is an estimate of the probability, with the sigmoid loss it only says how sure
    the network is.

    Parameters
    ----------
    prior : float, prior estimator or "auto", default="auto"
        The share of positives in the marginal: a number, an estimator such as
        :class:`varpu.priors.KM2`, or the default of :mod:`varpu.priors`. The risk is only right for
        the right one.
    loss : {"sigmoid", "logistic"}, default="sigmoid"
        The surrogate of a wrong decision.
    mixup : bool, default=False
        Augment the unlabelled rows of a batch by as many mixtures of them (the paper's
        "+ MixUp").
    alpha : float, default=0.3
        Of the Beta distribution that mixing weights come from.
    beta : float, default=0.0
        How far below zero the estimated risk of the negatives may fall.
    gamma : float, default=1.0
        Length of the corrected step.
    hidden : sequence of int, default=(128, 128, 128)
        Hidden layers of the network for tables.
    module : str, function or None, default=None
        Another network, as in :class:`VPUClassifier`.
    lr : float or sequence of float, default=1e-3
        All of a grid are trained together and the one with the least held-out risk is kept.
    betas : pair of float, default=(0.9, 0.999)
        Of Adam.
    weight_decay : float, default=5e-3
        Weight of an L2 penalty on the network's weights.
    batch_size : int or None, default=None
        Rows of P and rows of U in a batch. None: a tenth of the marginal rows, from 32 to 500.
    epochs, steps_per_epoch : int, default=50 and 30
    lr_milestones : sequence of int, default=()
        Epochs, from 0, at which the learning rate is multiplied by ``lr_decay`` and Adam restarts.
    lr_decay : float, default=0.5
    validation_fraction : float or pair of int, default=0.1
        Share of P and of U held out to choose the epoch by the held-out risk, or (positives,
        marginal rows) as counts. With 0 the last epoch is kept, as published.
    patience : int or None, default=None
        Stop after that many epochs without a better held-out risk.
    standardize : bool, default=True
        Centre and scale the columns of a table first.
    device : str, default="auto"
        "auto" takes a GPU if there is one.
    precision : {"fp32", "tf32", "bf16", "auto"}, default="fp32"
        Arithmetic of the products; "auto" takes bf16 where the device has instructions for it.
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether labelled rows were drawn from the sample itself, so that all rows are the marginal
        sample, or separately, so that only the unlabelled rows are.
    random_state : int, RandomState or None, default=None
        Decides everything.
    progress : bool or None, default=None
        Show a progress bar; None: if someone is watching a terminal.

    Attributes
    ----------
    module_ : nn.Module
        The network, in evaluation mode, on the CPU.
    lr_, best_epoch_, held_out_loss_ : float, int and float
        Of that network; the loss is NaN where nothing was held out.
    prior_interval_ : pair of float
        Of the prior's estimate; both ends are ``prior`` where that was given.
    history_ : DataFrame
        One line an epoch and learning rate: ``lr``, ``epoch``, ``loss``, ``held_out_loss``.
    scale_, prior_, log_mean_phi_, classes_, n_features_in_, feature_names_in_
        As in every classifier here.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from varpu import NNPUClassifier
    >>> X, truth = make_blobs(400, centers=2, random_state=0)
    >>> labelled = (truth == 1) & (np.arange(400) % 4 == 0)
    >>> model = NNPUClassifier(prior=0.5, epochs=5, random_state=0).fit(X, labelled)
    >>> bool((model.predict(X) == truth).mean() > 0.9)
    True
    """

    pu_tags = PUTags(
        method="nnPU",
        reference="Kiryo et al., NeurIPS 2017",
        needs_prior=True,
        needs_separability=False,
        learner="a network",
        images=True,
        cost="one network, and a prior",
    )

    def __init__(
        self,
        *,
        prior: float | str | BasePriorEstimator = "auto",
        loss: str = "sigmoid",
        mixup: bool = False,
        alpha: float = 0.3,
        beta: float = 0.0,
        gamma: float = 1.0,
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
        super().__init__(
            prior=prior,
            loss=loss,
            mixup=mixup,
            alpha=alpha,
            hidden=hidden,
            module=module,
            lr=lr,
            betas=betas,
            weight_decay=weight_decay,
            batch_size=batch_size,
            epochs=epochs,
            steps_per_epoch=steps_per_epoch,
            lr_milestones=lr_milestones,
            lr_decay=lr_decay,
            validation_fraction=validation_fraction,
            patience=patience,
            standardize=standardize,
            device=device,
            precision=precision,
            scenario=scenario,
            random_state=random_state,
            progress=progress,
        )
        self.beta = beta
        self.gamma = gamma

    def _check_params(self) -> None:
        super()._check_params()
        real("beta", self.beta, 0)
        real("gamma", self.gamma, 0, 1)

    def _risk(self) -> Risk:
        return Risk("nnpu", self.loss, self.beta, self.gamma, self.mixup)
