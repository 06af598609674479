"""The four games of GenPU: what the discriminators maximise and what the generators minimise.

A discriminator's output is a logit ``d``, and ``D = sigmoid(d)`` its belief that a row is real. All
functions take logits of shape (K, B), a member a line, and give one value a member, shape (K,).
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, softplus

# The games, generator first, then discriminator.
GAMES = ("positive_p", "positive_u", "negative_n", "negative_u")


@dataclass(frozen=True)
class Weights:
    """The four products in GenPU's value function, in the order of :data:`GAMES`.

    Attributes
    ----------
    positive_p : float
        ``pi lam_p``: generated positives against labelled positives.
    positive_u : float
        ``pi lam_u``: generated positives against the marginal.
    negative_n : float
        ``(1 - pi) lam_n``: generated negatives away from labelled positives.
    negative_u : float
        ``(1 - pi) lam_u``: generated negatives against the marginal.
    """

    positive_p: float
    positive_u: float
    negative_n: float
    negative_u: float


@dataclass(frozen=True)
class Games:
    """Weights of K members as tensors of shape (K,)."""

    positive_p: Tensor
    positive_u: Tensor
    negative_n: Tensor
    negative_u: Tensor

    @classmethod
    def of(cls, weights: list[Weights], device: torch.device) -> "Games":
        """The weights of all members, on the device."""
        columns = [[float(getattr(w, game)) for w in weights] for game in GAMES]
        return cls(*(torch.tensor(column, device=device) for column in columns))


def gan_value(d_real: Tensor, d_fake: Tensor) -> Tensor:
    """``V(G, D) = E_real[log D] + E_fake[log(1 - D)]``.

    At most 0, and ``-2 log 2`` for a discriminator that cannot tell.
    """
    return logsigmoid(d_real).mean(dim=1) + logsigmoid(-d_fake).mean(dim=1)


def game_values(
    p_real: Tensor,
    p_fake: Tensor,
    u_real: Tensor,
    u_positive: Tensor,
    u_negative: Tensor,
    n_real: Tensor,
    n_fake: Tensor,
) -> Tensor:
    """The four values, not yet weighted, shape (4, K), in the order of :class:`Weights`.

    Parameters
    ----------
    p_real, p_fake : logits of D_p on labelled and on generated positives
    u_real, u_positive, u_negative : of D_u on the marginal, on generated positives and negatives
    n_real, n_fake : of D_n on labelled positives and on generated negatives
    """
    return torch.stack(
        [
            gan_value(p_real, p_fake),
            gan_value(u_real, u_positive),
            gan_value(n_real, n_fake),
            gan_value(u_real, u_negative),
        ]
    )


def total_value(values: Tensor, games: Games) -> Tensor:
    """The weighted sum that all three discriminators maximise."""
    weights = torch.stack([games.positive_p, games.positive_u, games.negative_n, games.negative_u])
    return (weights * values).sum(dim=0)


def generator_loss(
    p_fake: Tensor, u_positive: Tensor, u_negative: Tensor, n_fake: Tensor, games: Games
) -> Tensor:
    """What both generators minimise; the first two terms are G_p's, the last two G_n's.

    G_p fools D_p and D_u and G_n fools D_u by the non-saturating ``-log D``. Against D_n the sign
    is turned: G_n *helps* it, by ``-log(1 - D_n)``, which pushes it away from P. That term fades by
    itself where D_n already takes a generated row for no positive, so its weight can be large.
    """
    return (
        games.positive_p * softplus(-p_fake).mean(dim=1)
        + games.positive_u * softplus(-u_positive).mean(dim=1)
        + games.negative_u * softplus(-u_negative).mean(dim=1)
        + games.negative_n * softplus(n_fake).mean(dim=1)
    )
