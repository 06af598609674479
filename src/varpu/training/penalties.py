"""The penalties by name: which extra rows each needs scored, and its value from the scores."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from varpu import losses
from varpu.training import draws


@dataclass
class Draw:
    """The random choices of one step."""

    gamma: Tensor  # (K,), the MixUp weight
    pairs: Tensor  # (K, 2B), a random order of P u U; empty where the penalty needs none
    seeds: Tensor  # (K,)
    counter: Tensor  # (1,), the step's number over the whole fit


@dataclass
class Scored:
    """A batch after the forward pass. Inputs are (K, B, ...), log Phi (K, B)."""

    logits: Callable[[Tensor], Tensor]
    x_p: Tensor
    x_u: Tensor
    log_phi_p: Tensor
    log_phi_u: Tensor
    log_phi_mixed: Tensor
    draw: Draw


@dataclass(frozen=True)
class Penalty:
    """``mixed`` makes the extra rows (or None), ``value`` the penalty of each member (K,).

    ``value`` takes the scored batch, the recipe's ``alpha`` and its ``epsilon``.
    """

    value: Callable[[Scored, float, float], Tensor]
    mixed: Callable[[Tensor, Tensor, Draw], Tensor] | None = None
    needs_pairs: bool = False


def _between(x_p: Tensor, x_u: Tensor, draw: Draw) -> Tensor:
    return losses.mix(x_p, x_u, draw.gamma)


def _inside_p(x_p: Tensor, x_u: Tensor, draw: Draw) -> Tensor:
    # The batch is in random order already, so its neighbour is a random partner.
    return losses.mix(x_p, x_p.roll(1, dims=1), draw.gamma)


def _inside_union(x_p: Tensor, x_u: Tensor, draw: Draw) -> Tensor:
    first, second = _paired(torch.cat([x_p, x_u], dim=1), draw.pairs)
    return losses.mix(first, second, draw.gamma)


def _paired(values: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor]:
    """The two halves of ``values`` (K, 2B, ...) in the order of ``pairs``."""
    order = pairs.reshape(*pairs.shape, *(1,) * (values.dim() - 2)).expand_as(values)
    first, second = values.gather(1, order).chunk(2, dim=1)
    return first, second


def _union_value(scored: Scored, alpha: float, epsilon: float) -> Tensor:
    known = torch.zeros_like(scored.log_phi_p)  # log 1: a labelled row's value is known
    values = torch.cat([known, scored.log_phi_u], dim=1)
    first, second = _paired(values, scored.draw.pairs)
    return losses.mixup_union(scored.log_phi_mixed, first, second, scored.draw.gamma)


def _virtual_value(scored: Scored, alpha: float, epsilon: float) -> Tensor:
    shape = tuple(scored.x_u.shape[1:])
    noise = draws.normal(scored.draw.seeds, scored.draw.counter, shape).to(scored.x_u.dtype)
    return losses.virtual_adversarial(scored.logits, scored.x_u, noise, epsilon)


PENALTIES: dict[str, Penalty] = {
    "mixup": Penalty(
        lambda s, alpha, eps: losses.mixup(s.log_phi_mixed, s.log_phi_u, s.draw.gamma), _between
    ),
    "mixup_p": Penalty(lambda s, alpha, eps: losses.mixup_positive(s.log_phi_mixed), _inside_p),
    "mixup_pu": Penalty(_union_value, _inside_union, needs_pairs=True),
    "mixup_mse": Penalty(
        lambda s, alpha, eps: losses.mixup_mse(s.log_phi_mixed, s.log_phi_u, s.draw.gamma), _between
    ),
    "margin": Penalty(lambda s, alpha, eps: losses.margin(s.log_phi_p, alpha)),
    "adversarial": Penalty(lambda s, alpha, eps: losses.adversarial(s.logits, s.x_p, eps)),
    "vat": Penalty(_virtual_value),
}
