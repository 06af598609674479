"""What is trained: the settings all members share, and what is each member's own."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LOSSES = ("variational", "l2", "js")
RISKS = ("upu", "nnpu", "supervised")

RowNumbers = NDArray[np.int64]


@dataclass(frozen=True)
class Risk:
    """A misclassification risk to be trained instead of a divergence; it needs a class prior.

    Attributes
    ----------
    kind : {"upu", "nnpu", "supervised"}
        For ``"supervised"`` a member's ``p`` are positives and its ``u`` are negatives.
    surrogate : {"sigmoid", "logistic"}
    beta, gamma : float
        Of nnPU's corrected step.
    mixup : bool
        Whether each batch of U is augmented by as many mixtures of its rows.
    """

    kind: str
    surrogate: str = "sigmoid"
    beta: float = 0.0
    gamma: float = 1.0
    mixup: bool = False


@dataclass(frozen=True)
class Recipe:
    """Settings that all members of a fit share.

    Attributes
    ----------
    loss : {"variational", "l2", "js"}
    penalty : str or None
        A name in :data:`varpu.training.PENALTIES`.
    alpha : float
        Of the Beta(alpha, alpha) of MixUp; of the odds in the margin term.
    epsilon : float
        How far the adversarial penalties move a row.
    epochs, steps_per_epoch, batch_size : int
    betas : pair of float
        Of Adam.
    weight_decay : float
        Weight of an L2 penalty on all weights, which Adam sees as part of the gradient.
    lr_milestones : tuple of int
        Epochs, counted from 0, at whose start the learning rate is multiplied by ``lr_decay`` and
        Adam starts afresh.
    lr_decay : float
    precision : {"fp32", "tf32", "bf16"}
    patience : int or None
        Stop once no member, or group of members, has improved its held-out loss for that many
        epochs.
    risk : Risk or None
        Trained in place of ``loss`` and ``penalty``.
    """

    loss: str = "variational"
    penalty: str | None = "mixup"
    alpha: float = 0.3
    epsilon: float = 0.1
    epochs: int = 50
    steps_per_epoch: int = 30
    batch_size: int = 500
    betas: tuple[float, float] = (0.5, 0.99)
    weight_decay: float = 0.0
    lr_milestones: tuple[int, ...] = (19, 39)
    lr_decay: float = 0.5
    precision: str = "fp32"
    patience: int | None = None
    risk: Risk | None = None


@dataclass(frozen=True)
class Member:
    """One network of a fit: its own seed, penalty weight, learning rate and rows.

    Rows are numbers of rows of the one table that all members share. ``u`` is the sample of the
    marginal: in the single-set scenario it holds the rows of ``p`` too. The held-out rows choose
    the epoch; without any, the last epoch is kept.

    Members of one ``group``, such as the folds of one penalty weight, share one choice of epoch:
    the one with the least mean of their held-out losses. ``prior`` is the share of positives in the
    marginal, for a risk alone.
    """

    seed: int
    lam: float
    lr: float
    p: RowNumbers
    u: RowNumbers
    held_out_p: RowNumbers
    held_out_u: RowNumbers
    group: int | None = None
    prior: float = math.nan
