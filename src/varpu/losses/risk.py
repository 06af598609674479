"""The misclassification risks of uPU and nnPU, for a class prior that is given.

Scores ``g`` are logits: positive means positive. ``l(g)`` is the loss of a positive row and
``l(-g)`` that of a negative one.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import softplus

_SURROGATES: dict[str, Callable[[Tensor], Tensor]] = {
    "sigmoid": lambda margin: torch.sigmoid(-margin),
    "logistic": lambda margin: softplus(-margin),
}


def _risks(g_p: Tensor, g_u: Tensor, prior: float | Tensor, loss: str) -> tuple[Tensor, Tensor]:
    """``pi E_P[l(g)]`` and ``R- = E_U[l(-g)] - pi E_P[l(-g)]``."""
    if loss not in _SURROGATES:
        raise ValueError(f"loss must be one of {sorted(_SURROGATES)}, got {loss!r}")
    surrogate = _SURROGATES[loss]
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
