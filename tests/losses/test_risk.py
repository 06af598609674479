"""uPU and nnPU: unbiasedness on a finite population, and the corrected step."""

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from varpu.losses import nnpu, supervised, upu

SURROGATES = {
    "sigmoid": lambda margin: 1 / (1 + margin.exp()),
    "logistic": lambda margin: torch.log1p((-margin).exp()),
}
both_surrogates = pytest.mark.parametrize("loss", SURROGATES)
both_risks = pytest.mark.parametrize("risk", [upu, nnpu])


def scores(*shape, seed=0, shift=0.0):
    generator = torch.Generator().manual_seed(seed)
    return shift + torch.randn(*shape, generator=generator, dtype=torch.float64)


def close(actual, expected, atol=1e-14):
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


def negative_risk(g_p, g_u, prior, loss):
    surrogate = SURROGATES[loss]
    return surrogate(-g_u).mean() - prior * surrogate(-g_p).mean()


@both_surrogates
@pytest.mark.parametrize("copies", [1, 3])
def test_upu_is_the_supervised_risk_where_u_is_the_exact_mixture(loss, copies):
    positives, negatives = scores(6, shift=1), scores(14, seed=1, shift=-1)
    prior, surrogate = 6 / 20, SURROGATES[loss]
    supervised = prior * surrogate(positives).mean() + (1 - prior) * surrogate(-negatives).mean()
    value = upu(positives.repeat(copies), torch.cat([positives, negatives]), prior, loss)
    close(value, supervised)


@both_surrogates
def test_nnpu_is_upu_while_the_negative_risk_is_not_negative(loss):
    g_p, g_u = scores(5, shift=1), scores(9, seed=1)
    assert negative_risk(g_p, g_u, 0.3, loss) > 0
    close(nnpu(g_p, g_u, 0.3, loss), upu(g_p, g_u, 0.3, loss), atol=0)


@both_surrogates
def test_nnpu_is_upu_down_to_minus_beta(loss):
    g_p, g_u = scores(5, shift=3), scores(9, seed=1, shift=-3)
    below = negative_risk(g_p, g_u, 0.5, loss)
    assert below < 0
    tolerant, strict = -below.item() + 1e-9, -below.item() - 1e-9
    close(nnpu(g_p, g_u, 0.5, loss, beta=tolerant), upu(g_p, g_u, 0.5, loss), atol=0)
    close(nnpu(g_p, g_u, 0.5, loss, beta=strict), -below)


@both_surrogates
@pytest.mark.parametrize("gamma", [1.0, 0.25])
def test_corrected_step_climbs_the_negative_risk_alone(loss, gamma):
    g_p = scores(5, shift=3).requires_grad_()
    g_u = scores(9, seed=1, shift=-3).requires_grad_()
    climb = -gamma * negative_risk(g_p, g_u, 0.5, loss)
    value = nnpu(g_p, g_u, 0.5, loss, gamma=gamma)
    assert climb > 0
    close(value, climb)
    # Equal gradients at P mean that pi E_P[l(g)] has no part in the step.
    expected = torch.autograd.grad(climb, (g_p, g_u))
    for actual, wanted in zip(torch.autograd.grad(value, (g_p, g_u)), expected, strict=True):
        close(actual, wanted)


def test_each_member_is_corrected_by_itself():
    g_p, g_u = scores(2, 5, shift=3), torch.stack([scores(9), scores(9, shift=-3)])
    value = nnpu(g_p, g_u, 0.5)
    close(value[0], upu(g_p[0], g_u[0], 0.5))
    close(value[1], -negative_risk(g_p[1], g_u[1], 0.5, "sigmoid"))


@both_risks
@both_surrogates
@pytest.mark.parametrize("members", [(4,), (2, 3)])
def test_members_are_scored_as_if_alone_each_with_its_prior(risk, loss, members):
    g_p, g_u = scores(*members, 5), scores(*members, 7, seed=1)
    prior = torch.linspace(0.1, 0.9, g_p[..., 0].numel(), dtype=torch.float64)
    together = risk(g_p, g_u, prior.reshape(members), loss)
    assert together.shape == members
    alone = [
        risk(p, u, pi.item(), loss)
        for p, u, pi in zip(g_p.reshape(-1, 5), g_u.reshape(-1, 7), prior, strict=True)
    ]
    close(together, torch.stack(alone).reshape(members))


@both_risks
@both_surrogates
@pytest.mark.parametrize("shift", [0.0, -3.0])  # the second is a corrected step of nnPU
def test_gradients_agree_with_finite_differences(risk, loss, shift):
    g_p = scores(2, 4, shift=-shift).requires_grad_()
    g_u = scores(2, 6, seed=1, shift=shift).requires_grad_()
    assert gradcheck(lambda p, u: risk(p, u, 0.5, loss), (g_p, g_u))


@both_risks
@both_surrogates
@pytest.mark.parametrize("p", [-1e4, 1e4])
@pytest.mark.parametrize("u", [-1e4, 1e4])
def test_extreme_logits_give_finite_values_and_gradients(risk, loss, p, u):
    g_p = torch.full((3,), p, requires_grad=True)
    g_u = torch.full((4,), u, requires_grad=True)
    value = risk(g_p, g_u, 0.5, loss)
    value.backward()
    assert value.isfinite()
    assert g_p.grad.isfinite().all()
    assert g_u.grad.isfinite().all()


@both_risks
def test_unknown_surrogate_is_refused(risk):
    with pytest.raises(ValueError, match="'hinge'"):
        risk(scores(2), scores(2), 0.5, "hinge")


def test_with_labels_the_risk_is_the_weighted_log_loss():
    g_p, g_n = torch.randn(2, 5, dtype=torch.float64), torch.randn(2, 4, dtype=torch.float64)
    prior = torch.tensor([0.2, 0.9], dtype=torch.float64)
    loss = supervised(g_p, g_n, prior)
    phi_p, phi_n = (1 / (1 + np.exp(-g.numpy())) for g in (g_p, g_n))
    for k, share in enumerate([0.2, 0.9]):
        by_hand = -share * np.log(phi_p[k]).mean() - (1 - share) * np.log(1 - phi_n[k]).mean()
        assert loss[k].item() == pytest.approx(by_hand)


@both_surrogates
def test_with_labels_weights_count_rows(loss):
    g_p, g_n = scores(4, seed=2), scores(3, seed=3)
    weight_p = torch.tensor([2.0, 1.0, 0.0, 1.0], dtype=torch.float64)
    value = supervised(g_p, g_n, 0.3, loss, weight_p, torch.ones(3, dtype=torch.float64))
    close(value, supervised(g_p[[0, 0, 1, 3]], g_n, 0.3, loss))


def test_with_labels_an_unknown_surrogate_is_refused():
    with pytest.raises(ValueError, match="loss must be one of"):
        supervised(scores(2), scores(2), 0.5, "hinge")
