"""The misclassification risks of uPU and nnPU, for a class prior that is given, and with labels.

Scores ``g`` are logits: positive means positive. ``l(g)`` is the loss of a positive row and
``l(-g)`` that of a negative one.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import softplus

SURROGATES: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": lambda margin: torch.sigmoid(-margin),
    "logistic": lambda margin: softplus(-margin),
}


def _surrogate(loss: str) -> Callable[[Tensor], Tensor]:
    if loss not in SURROGATES:
        raise ValueError(f"loss must be one of {sorted(SURROGATES)}, got {loss!r}")
    return SURROGATES[loss]


def _risks(g_p: Tensor, g_u: Tensor, prior: float | Tensor, loss: str) -> tuple[Tensor, Tensor]:
    """``pi E_P[l(g)]`` and ``R- = E_U[l(-g)] - pi E_P[l(-g)]``."""
    surrogate = _surrogate(loss)
    positive = prior * surrogate(g_p).mean(dim=-1)
    negative = surrogate(-g_u).mean(dim=-1) - prior * surrogate(-g_p).mean(dim=-1)
    return positive, negative


def upu(g_p: Tensor, g_u: Tensor, prior: float | Tensor, loss: str = "sigmoid") -> Tensor:
    """The unbiased risk ``pi E_P[l(g)] + E_U[l(-g)] - pi E_P[l(-g)]`` (du Plessis et al., 2014)."""
    positive, negative = _risks(g_p, g_u, prior, loss)
    return positive + negative


def nnpu(
    g_p: Tensor,
    g_u: Tensor,
    prior: float | Tensor,
    loss: str = "sigmoid",
    beta: float = 0.0,
    gamma: float = 1.0,
) -> Tensor:
    """The objective of one nnPU step (Kiryo et al., 2017).

    While ``R- >= -beta`` this is the unbiased risk. Below that it is ``-gamma R-`` alone: the step
    climbs out of the overfitted negative part and the positive term has no gradient in it.
    """
    positive, negative = _risks(g_p, g_u, prior, loss)
    return torch.where(negative >= -beta, positive + negative, -gamma * negative)


def supervised(
    g_p: Tensor,
    g_n: Tensor,
    prior: float | Tensor,
    loss: str = "logistic",
    weight_p: Tensor | None = None,
    weight_n: Tensor | None = None,
) -> Tensor:
    """The risk ``pi E_P[w l(g)] + (1 - pi) E_N[w l(-g)]`` of rows whose labels are known.

    Parameters
    ----------
    g_p, g_n : Tensor of shape (..., B)
        Logits of positives and of negatives.
    prior : float or Tensor of shape (...)
        The share of the positives in the whole.
    loss : {"sigmoid", "logistic"}
    weight_p, weight_n : Tensor of shape (..., B), optional
        Weights of the rows, 1 on average over all positives and over all negatives.
    """
    surrogate = _surrogate(loss)
    loss_p, loss_n = surrogate(g_p), surrogate(-g_n)
    if weight_p is not None:
        loss_p = weight_p * loss_p
    if weight_n is not None:
        loss_n = weight_n * loss_n
    return prior * loss_p.mean(dim=-1) + (1 - prior) * loss_n.mean(dim=-1)
