"""Adversarial and virtual adversarial smoothness, the other regularisers the paper names.

Both need the network itself, since they look for the worst direction around a row: the first
argument is a function from inputs ``(..., B, *features)`` to logits ``(..., B)``.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

LogitFunction = Callable[[Tensor], Tensor]


def _gradient(objective: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Gradient of a sum over rows with respect to the inputs, constants as far as weights go."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(objective(x).sum(), x)
    return gradient


def adversarial(logits: LogitFunction, x_p: Tensor, epsilon: float) -> Tensor:
    """Adversarial training on the known label: ``mean_P -log Phi(x + epsilon sign(step))``.

    ``step`` is the gradient of ``-log Phi`` at a labelled positive (Goodfellow et al., 2014), so
    the term asks that positives stay positive under the worst move of ``epsilon`` in every feature.
    """
    step = _gradient(lambda x: -logsigmoid(logits(x)), x_p).sign()
    return -logsigmoid(logits(x_p + epsilon * step)).mean(dim=-1)


def virtual_adversarial(
    logits: LogitFunction, x_u: Tensor, noise: Tensor, epsilon: float, xi: float = 1e-2
) -> Tensor:
    """Virtual adversarial smoothness (Miyato et al., 2018): ``mean_U KL(Phi(x) || Phi(x + r))``.

    ``r`` has length ``epsilon`` and points where the divergence grows fastest, found by one power
    iteration from ``noise`` with the finite difference ``xi``. ``Phi(x)`` is the reference and
    carries no gradient.

    Parameters
    ----------
    logits : function from inputs to logits
    x_u : Tensor of shape (*members, B, *features)
    noise : Tensor like ``x_u``
        Where the search starts; standard normal draws.
    """
    with torch.no_grad():
        reference = logits(x_u)
    direction = _gradient(
        lambda x: _bernoulli_kl(reference, logits(x)), x_u + xi * _unit_rows(noise, reference)
    )
    moved = logits(x_u + epsilon * _unit_rows(direction, reference))
    return _bernoulli_kl(reference, moved).mean(dim=-1)


def _bernoulli_kl(reference: Tensor, logit: Tensor) -> Tensor:
    positive = torch.sigmoid(reference) * (logsigmoid(reference) - logsigmoid(logit))
    negative = torch.sigmoid(-reference) * (logsigmoid(-reference) - logsigmoid(-logit))
    return positive + negative


def _unit_rows(direction: Tensor, per_row: Tensor) -> Tensor:
    """Scale each row to length one; ``per_row`` has the leading shape of one value a row."""
    rows = direction.flatten(start_dim=per_row.dim())
    # Dividing by the largest entry first keeps tiny gradients from underflowing when squared.
    rows = rows / rows.abs().amax(dim=-1, keepdim=True).clamp(min=1e-30)
    rows = rows / rows.norm(dim=-1, keepdim=True).clamp(min=1e-30)
    return rows.reshape(direction.shape)
