"""Penalties on ``log Phi`` that keep it from collapsing onto the labelled rows.

The MixUp penalties ask that ``Phi`` at a mixture ``gamma x' + (1 - gamma) x''`` agree with the same
mixture of the (known or predicted) values at its ends. The first is the paper's (equation 8); the
others are its ablation (Table 4). The margin term is the alternative of its supplement (Table 12).
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import softplus

# The authors' Beta(0.3, 0.3) draws come within rounding of 0 and 1; log of either must stay finite.
_GAMMA_EDGE = 1e-6
# log Phi = 0 means "Phi rounds to one"; the margin needs the odds there, which are finite.
_LARGEST_LOG_PHI = -1e-30


def mix(first: Tensor, second: Tensor, gamma: Tensor) -> Tensor:
    """``gamma * first + (1 - gamma) * second``, one ``gamma`` for all rows of a member's batch.

    Parameters
    ----------
    first, second : Tensor of shape (*members, B, ...)
    gamma : Tensor of shape (*members)
    """
    gamma = gamma.reshape(gamma.shape + (1,) * (first.dim() - gamma.dim()))
    return torch.lerp(second, first, gamma.to(first.dtype))


def _log_mixture(log_first: Tensor, log_second: Tensor, gamma: Tensor) -> Tensor:
    gamma = gamma.clamp(_GAMMA_EDGE, 1 - _GAMMA_EDGE).unsqueeze(-1)
    return torch.logaddexp(gamma.log() + log_first, torch.log1p(-gamma) + log_second)


def mixup(log_phi_mixed: Tensor, log_phi_u: Tensor, gamma: Tensor) -> Tensor:
    """MixUp between P and U: ``mean (log(gamma + (1 - gamma) Phi(x_U)) - log Phi(x~))^2``.

    Parameters
    ----------
    log_phi_mixed : Tensor of shape (..., B)
        ``log Phi`` at ``mix(x_p, x_u, gamma)``.
    log_phi_u : Tensor of shape (..., B)
        ``log Phi`` at the ``x_u`` that were mixed in; gradients flow through it.
    gamma : Tensor of shape (...)
    """
    target = _log_mixture(torch.zeros_like(log_phi_u), log_phi_u, gamma)
    return (target - log_phi_mixed).square().mean(dim=-1)


def mixup_positive(log_phi_mixed: Tensor) -> Tensor:
    """MixUp inside P: both ends are known positives, so the target is one, ``mean (log Phi)^2``."""
    return log_phi_mixed.square().mean(dim=-1)


def mixup_union(
    log_phi_mixed: Tensor, log_value_first: Tensor, log_value_second: Tensor, gamma: Tensor
) -> Tensor:
    """MixUp inside P u U; a row's value is 1 (log 0) if it is from P and ``Phi`` if it is from U.

    Parameters
    ----------
    log_phi_mixed : Tensor of shape (..., B)
        ``log Phi`` at ``mix(x_first, x_second, gamma)``.
    log_value_first, log_value_second : Tensor of shape (..., B)
        The log values at the two ends.
    gamma : Tensor of shape (...)
    """
    target = _log_mixture(log_value_first, log_value_second, gamma)
    return (target - log_phi_mixed).square().mean(dim=-1)


def mixup_mse(log_phi_mixed: Tensor, log_phi_u: Tensor, gamma: Tensor) -> Tensor:
    """MixUp between P and U with squared error of ``Phi`` itself instead of ``log Phi``."""
    gamma = gamma.unsqueeze(-1)
    target = gamma + (1 - gamma) * log_phi_u.exp()
    return (target - log_phi_mixed.exp()).square().mean(dim=-1)


def margin(log_phi_p: Tensor, alpha: float) -> Tensor:
    """The large-margin term ``mean_P log(1 + alpha (1 - Phi) / Phi)``, that is
    ``softplus(log alpha - g)`` of the logit ``g`` of ``Phi``.
    """
    log_phi_p = log_phi_p.clamp(max=_LARGEST_LOG_PHI)
    log_odds_against = torch.log(-torch.expm1(log_phi_p)) - log_phi_p
    return softplus(log_odds_against + math.log(alpha)).mean(dim=-1)
