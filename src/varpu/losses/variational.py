"""The variational losses: each is least exactly where ``Phi`` is proportional to ``f_P / f``.

``f_Phi = Phi f / E_f[Phi]`` is the distribution of positives that a classifier ``Phi`` implies.
Each loss here is a divergence between ``f_P`` and ``f_Phi`` up to a constant that does not depend
on ``Phi``, estimated from labelled positives (``P``) and a sample of the marginal (``U``) alone.
All are invariant to the scale of ``Phi``.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

# exp() of more than this leaves float32; a ratio of means that large says only "separated".
_LARGEST_EXPONENT = 80.0


def log_mean_exp(values: Tensor) -> Tensor:
    """``log mean exp`` over the last dimension."""
    return torch.logsumexp(values, dim=-1) - math.log(values.shape[-1])


def variational(log_phi_p: Tensor, log_phi_u: Tensor) -> Tensor:
    r"""The variational loss ``L_var = log E_U[Phi] - E_P[log Phi]`` (the KL form).

    ``L_var(Phi) - L_var(Phi*) = KL(f_P || f_Phi)``, so its minimum is ``-KL(f_P || f)``, reached by
    every ``c Phi*`` (Theorem 3 of Chen et al., 2020).

    Parameters
    ----------
    log_phi_p : Tensor of shape (..., M)
        ``log Phi`` of labelled positives.
    log_phi_u : Tensor of shape (..., N)
        ``log Phi`` of rows of the marginal sample.

    Returns
    -------
    Tensor of shape (...)
    """
    return log_mean_exp(log_phi_u) - log_phi_p.mean(dim=-1)


def l2(log_phi_p: Tensor, log_phi_u: Tensor) -> Tensor:
    r"""The weighted L2 form ``L_2 = E_U[Phi^2] / E_U[Phi]^2 - 2 E_P[Phi] / E_U[Phi]``.

    ``L_2(Phi) - L_2(Phi*)`` is the integral of ``(f_Phi - f_P)^2 / f``. Ratios beyond ``e^80``,
    which only a batch whose U rows are all but impossible under ``Phi`` can give, are held there.
    """
    log_mean_u = log_mean_exp(log_phi_u)
    second_moment = log_mean_exp(2 * log_phi_u) - 2 * log_mean_u  # in [0, log N]
    ratio = log_mean_exp(log_phi_p) - log_mean_u
    return second_moment.exp() - 2 * ratio.clamp(max=_LARGEST_EXPONENT).exp()


def js(log_phi_u: Tensor, d_p: Tensor, d_u: Tensor) -> Tensor:
    r"""The Jensen-Shannon form for a given discriminator, ``E_P[log D] + E_{f_Phi}[log(1 - D)]``.

    Its maximum over ``D`` is ``L_JS(Phi) = 2 JS(f_P || f_Phi) - log 4``, reached by
    ``logit D = log f_P - log f_Phi``.

    Parameters
    ----------
    log_phi_u : Tensor of shape (..., N)
        ``log Phi`` of the marginal rows; it weights them, ``w = Phi / sum Phi``.
    d_p, d_u : Tensor of shape (..., M) and (..., N)
        Logits of the discriminator on the positives and on the marginal rows.
    """
    weights = torch.softmax(log_phi_u, dim=-1)
    return logsigmoid(d_p).mean(dim=-1) + (weights * logsigmoid(-d_u)).sum(dim=-1)


def js_saddle(log_phi_u: Tensor, d_p: Tensor, d_u: Tensor) -> Tensor:
    """One objective for both players: its gradient descends ``js`` in Phi and ascends it in D.

    The value is that of :func:`js` for Phi minus that for D, so zero; only the gradient matters.
    """
    return js(log_phi_u, d_p.detach(), d_u.detach()) - js(log_phi_u.detach(), d_p, d_u)
