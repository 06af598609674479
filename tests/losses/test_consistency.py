"""The MixUp penalties and the margin term, by hand and at the edges."""

import math

import pytest
import torch
from torch.autograd import gradcheck
from torch.nn.functional import logsigmoid, softplus

from varpu.losses import margin, mix, mixup, mixup_mse, mixup_positive, mixup_union


def logs(*values):
    return torch.tensor(values, dtype=torch.float64).log()


def draws(*shape, seed=0):
    """Values of log Phi."""
    generator = torch.Generator().manual_seed(seed)
    return -3 * torch.rand(*shape, generator=generator, dtype=torch.float64)


def weights(*shape, seed=9):
    """Mixing weights away from the edges."""
    generator = torch.Generator().manual_seed(seed)
    return 0.1 + 0.8 * torch.rand(*shape, generator=generator, dtype=torch.float64)


def close(actual, expected, atol=1e-14):
    actual, expected = (torch.as_tensor(v, dtype=torch.float64) for v in (actual, expected))
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


GAMMA = torch.tensor(0.5, dtype=torch.float64)


def test_mix_weighs_the_first_by_gamma_and_the_second_by_the_rest():
    first = torch.tensor([[4.0, 8.0], [0.0, 4.0]])
    second = torch.tensor([[0.0, 4.0], [4.0, 8.0]])
    mixed = mix(first, second, torch.tensor(0.25))
    close(mixed, [[1.0, 5.0], [3.0, 7.0]], atol=0)


def test_mix_takes_one_weight_a_member_for_rows_of_any_shape():
    generator = torch.Generator().manual_seed(0)
    first, second = (
        torch.randn(3, 2, 4, 5, 5, generator=generator, dtype=torch.float64) for _ in range(2)
    )
    gamma = weights(3)
    for k in range(3):
        expected = gamma[k] * first[k] + (1 - gamma[k]) * second[k]
        close(mix(first, second, gamma)[k], expected)


def test_mix_at_the_ends_is_the_ends():
    first, second = torch.rand(1, 3, 2), torch.rand(1, 3, 2)
    assert torch.equal(mix(first, second, torch.ones(1)), first)
    assert torch.equal(mix(first, second, torch.zeros(1)), second)


def test_mixup_by_hand():
    # The targets are 0.5 + 0.5 * Phi(x_U): 0.75, which is met, and 0.625, which is not.
    value = mixup(logs(0.75, 0.5), logs(0.5, 0.25), GAMMA)
    close(value, math.log(0.625 / 0.5) ** 2 / 2)


def test_mixup_inside_p_by_hand():
    close(mixup_positive(logs(0.5, 1.0)), math.log(2) ** 2 / 2)


def test_mixup_inside_the_union_by_hand():
    # Targets 0.25 * 1 + 0.75 * 0.25 = 0.4375 (a labelled row with one of U) and 0.5 (two of U).
    gamma = torch.tensor(0.25, dtype=torch.float64)
    value = mixup_union(logs(0.5, 0.25), logs(1.0, 0.5), logs(0.25, 0.5), gamma)
    close(value, (math.log(0.4375 / 0.5) ** 2 + math.log(2) ** 2) / 2)


def test_mixup_with_squared_error_by_hand():
    close(mixup_mse(logs(0.75, 0.5), logs(0.5, 0.25), GAMMA), 0.125**2 / 2)


def test_union_of_a_labelled_and_a_marginal_row_is_the_plain_mixup():
    mixed, log_phi_u, gamma = draws(4, 6), draws(4, 6, seed=1), weights(4)
    close(mixup_union(mixed, torch.zeros(4, 6), log_phi_u, gamma), mixup(mixed, log_phi_u, gamma))


def test_union_of_two_labelled_rows_is_the_mixup_inside_p():
    mixed, known = draws(4, 6), torch.zeros(4, 6, dtype=torch.float64)
    close(mixup_union(mixed, known, known, weights(4)), mixup_positive(mixed))


def test_the_target_is_a_log_that_is_compared_with_log_phi():
    # Where Phi(x~) is gamma + (1 - gamma) Phi(x_U) the penalty is nil. Programs that compare with
    # the raw logit of x~, or with a target that is not a log, are not.
    gamma, g_u = weights(1), torch.linspace(-3, 3, 7, dtype=torch.float64).unsqueeze(0)
    target = gamma.unsqueeze(-1) + (1 - gamma.unsqueeze(-1)) * torch.sigmoid(g_u)
    g_mixed = torch.logit(target)
    close(mixup(logsigmoid(g_mixed), logsigmoid(g_u), gamma), [0.0], atol=1e-28)
    assert mixup(g_mixed, logsigmoid(g_u), gamma) > 0.1


def test_gradient_flows_through_the_target():
    log_phi_u = draws(1, 4).requires_grad_()
    mixup(draws(1, 4, seed=1), log_phi_u, weights(1)).sum().backward()
    assert (log_phi_u.grad != 0).all()


@pytest.mark.parametrize("alpha", [0.01, 0.3, 1.0, 50.0])
def test_margin_is_softplus_of_log_alpha_minus_the_logit(alpha):
    g = torch.linspace(-15, 15, 31, dtype=torch.float64).unsqueeze(-1)
    close(margin(logsigmoid(g), alpha), softplus(math.log(alpha) - g[:, 0]), atol=1e-12)
    phi = torch.sigmoid(g[:, 0])
    close(margin(phi.log().unsqueeze(-1), alpha), torch.log1p(alpha * (1 - phi) / phi), atol=1e-12)


def test_margin_averages_over_positives():
    # Odds against are 1 and 3; alpha is 2.
    close(margin(logs(0.5, 0.25), 2.0), (math.log(3) + math.log(7)) / 2)


PENALTIES = {
    "mixup": (mixup, 2, True),
    "mixup_positive": (mixup_positive, 1, False),
    "mixup_union": (mixup_union, 3, True),
    "mixup_mse": (mixup_mse, 2, True),
    "margin": (lambda log_phi: margin(log_phi, 0.3), 1, False),
}


def arguments(name, *members, rows):
    """Logs (*members, rows) for each argument of a penalty, and gamma where it takes one."""
    _, count, takes_gamma = PENALTIES[name]
    values = [draws(*members, rows, seed=seed) for seed in range(count)]
    return [*values, weights(*members)] if takes_gamma else values


@pytest.mark.parametrize("name", PENALTIES)
def test_gradients_agree_with_finite_differences(name):
    values = [value.requires_grad_() for value in arguments(name, 2, rows=4)]
    assert gradcheck(PENALTIES[name][0], values)


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("members", [(4,), (2, 3)])
def test_members_are_scored_as_if_alone(name, members):
    penalty, values = PENALTIES[name][0], arguments(name, *members, rows=5)
    together = penalty(*values)
    assert together.shape == members
    flat = [value.flatten(end_dim=len(members) - 1) for value in values]
    alone = torch.stack([penalty(*rows) for rows in zip(*flat, strict=True)])
    close(together, alone.reshape(members))


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize("gamma", [0.0, 1e-30, 0.5, 1.0])
def test_extreme_logits_and_weights_give_finite_values_and_gradients(name, gamma):
    penalty, count, takes_gamma = PENALTIES[name]
    edges = torch.tensor([-1e4, -90.0, 0.0, 20.0, 90.0, 1e4])
    grid = torch.cartesian_prod(*[edges] * count).reshape(-1, count)
    inputs = [column.clone().requires_grad_() for column in grid.unbind(-1)]
    # A row each, so that one infinity cannot hide in a mean.
    values = [logsigmoid(value).unsqueeze(-1) for value in inputs]
    gammas = [torch.full((len(grid),), gamma)] if takes_gamma else []
    value = penalty(*values, *gammas)
    value.sum().backward()
    assert value.isfinite().all()
    assert all(tensor.grad.isfinite().all() for tensor in inputs)


def test_mixup_at_the_edge_weights_has_the_ends_as_targets():
    # gamma is held 1e-6 inside (0, 1), which moves the log of a target >= 0.2 by 5e-6 at most, and
    # the square of a difference <= 1.7 by 2 * 1.7 * 5e-6.
    mixed, log_phi_u = logs(0.9, 0.2), logs(0.3, 0.5)
    at_one = mixup(mixed, log_phi_u, torch.tensor(1.0, dtype=torch.float64))
    at_zero = mixup(mixed, log_phi_u, torch.tensor(0.0, dtype=torch.float64))
    close(at_one, mixed.square().mean(), atol=1.7e-5)
    close(at_zero, (log_phi_u - mixed).square().mean(), atol=1.7e-5)
    assert not torch.isclose(at_one, at_zero, rtol=0, atol=0.1)
