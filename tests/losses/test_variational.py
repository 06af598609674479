"""The variational losses on finite populations, where every expectation is an exact mean."""

import math

import pytest
import torch
from torch.autograd import gradcheck

from varpu.losses import js, js_saddle, l2, variational
from varpu.losses.variational import log_mean_exp

SEEDS = range(5)


class Population:
    """Positives and a marginal over a few atoms, as row counts: sample means are expectations."""

    def __init__(self, seed, atoms=6, smallest=1):
        generator = torch.Generator().manual_seed(seed)
        positives = torch.randint(smallest, 9, (atoms,), generator=generator)
        negatives = torch.randint(0 if smallest else 1, 9, (atoms,), generator=generator)
        marginal = positives + negatives  # an exact mixture of the two classes
        self.f_p = positives.double() / positives.sum()
        self.f = marginal.double() / marginal.sum()
        self.posterior = positives.double() / marginal  # Phi*
        self.rows_p = torch.arange(atoms).repeat_interleave(positives)
        self.rows_u = torch.arange(atoms).repeat_interleave(marginal)
        self.log_phi = -5 * torch.rand(atoms, generator=generator, dtype=torch.float64)

    def implied(self, log_phi):
        """f_Phi, the positives a classifier implies."""
        weighted = log_phi.exp() * self.f
        return weighted / weighted.sum()

    def best_discriminator(self, log_phi):
        return self.f_p.log() - self.implied(log_phi).log()

    def variational(self, log_phi):
        return variational(log_phi[self.rows_p], log_phi[self.rows_u])

    def l2(self, log_phi):
        return l2(log_phi[self.rows_p], log_phi[self.rows_u])

    def js_of(self, log_phi, d):
        return js(log_phi[self.rows_u], d[self.rows_p], d[self.rows_u])

    def js(self, log_phi):
        return self.js_of(log_phi, self.best_discriminator(log_phi))


def kl(first, second):
    return torch.special.xlogy(first, first / second).sum()


def close(actual, expected, atol=1e-10):
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("loss", ["variational", "l2", "js"])
@pytest.mark.parametrize("scale", [1e-3, 0.5, 40.0])
def test_scale_of_phi_does_not_matter(seed, loss, scale):
    population = Population(seed)
    value = getattr(population, loss)
    close(value(population.log_phi + math.log(scale)), value(population.log_phi))


@pytest.mark.parametrize("seed", SEEDS)
def test_variational_excess_is_the_divergence_of_the_implied_positives(seed):
    population = Population(seed)
    excess = population.variational(population.log_phi) - population.variational(
        population.posterior.log()
    )
    close(excess, kl(population.f_p, population.implied(population.log_phi)))


@pytest.mark.parametrize("seed", SEEDS)
def test_variational_minimum_is_minus_the_divergence_of_positives_from_the_marginal(seed):
    # Atoms without any positive are allowed here: there log Phi* is minus infinity, in U alone.
    population = Population(seed, atoms=20, smallest=0)
    close(population.variational(population.posterior.log()), -kl(population.f_p, population.f))


@pytest.mark.parametrize("seed", SEEDS)
def test_l2_excess_is_the_weighted_squared_distance(seed):
    population = Population(seed)
    excess = population.l2(population.log_phi) - population.l2(population.posterior.log())
    implied = population.implied(population.log_phi)
    close(excess, ((implied - population.f_p).square() / population.f).sum())


@pytest.mark.parametrize("seed", SEEDS)
def test_js_with_the_best_discriminator_is_the_jensen_shannon_divergence(seed):
    population = Population(seed)
    implied = population.implied(population.log_phi)
    middle = (implied + population.f_p) / 2
    divergence = (kl(population.f_p, middle) + kl(implied, middle)) / 2
    close(population.js(population.log_phi), 2 * divergence - math.log(4))


@pytest.mark.parametrize("seed", SEEDS)
def test_js_is_largest_at_the_best_discriminator(seed):
    population = Population(seed)
    best = population.best_discriminator(population.log_phi).requires_grad_()
    at_best = population.js_of(population.log_phi, best)
    (gradient,) = torch.autograd.grad(at_best, best)
    close(gradient, torch.zeros_like(gradient), atol=1e-15)
    generator = torch.Generator().manual_seed(seed)
    for size in (1e-3, 0.1, 3.0):
        other = best + size * torch.randn(best.shape, generator=generator, dtype=torch.float64)
        assert population.js_of(population.log_phi, other) < at_best


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("loss", ["variational", "l2", "js"])
def test_gradient_vanishes_at_every_multiple_of_the_posterior_and_only_there(seed, loss):
    population = Population(seed)
    for scale in (1.0, 0.01):
        at = (scale * population.posterior).log().requires_grad_()
        (gradient,) = torch.autograd.grad(getattr(population, loss)(at), at)
        close(gradient, torch.zeros_like(gradient), atol=1e-14)
    elsewhere = population.log_phi.requires_grad_()
    (gradient,) = torch.autograd.grad(getattr(population, loss)(elsewhere), elsewhere)
    assert gradient.norm() > 1e-3


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("loss", ["variational", "l2", "js"])
def test_free_minimiser_is_the_density_ratio_up_to_a_constant(seed, loss):
    population = Population(seed)
    log_phi = population.log_phi.clone().requires_grad_()
    optimizer = torch.optim.LBFGS(
        [log_phi],
        max_iter=500,
        tolerance_grad=1e-13,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
    )

    def closure():
        optimizer.zero_grad()
        value = getattr(population, loss)(log_phi)
        value.backward()
        return value

    optimizer.step(closure)
    found = log_phi.detach() - log_phi.detach().mean()
    ratio = (population.f_p / population.f).log()
    close(found, ratio - ratio.mean(), atol=1e-6)


def test_log_mean_exp_of_equal_values_is_the_value():
    close(log_mean_exp(torch.full((7,), -3.0, dtype=torch.float64)), torch.tensor(-3.0).double())


def test_js_saddle_descends_in_phi_and_ascends_in_the_discriminator():
    generator = torch.Generator().manual_seed(0)
    log_phi, d_p, d_u = (
        torch.randn(3, 5, generator=generator, dtype=torch.float64).requires_grad_()
        for _ in range(3)
    )
    js_gradient = torch.autograd.grad(js(log_phi, d_p, d_u).sum(), (log_phi, d_p, d_u))
    value = js_saddle(log_phi, d_p, d_u)
    gradient = torch.autograd.grad(value.sum(), (log_phi, d_p, d_u))
    close(value.detach(), torch.zeros(3, dtype=torch.float64), atol=0)
    close(gradient[0], js_gradient[0], atol=0)
    close(gradient[1], -js_gradient[1], atol=0)
    close(gradient[2], -js_gradient[2], atol=0)


# Each loss, and how many arguments it takes; the first two or the first are log Phi, the others
# logits of a discriminator.
ARGUMENTS = [(variational, 2), (l2, 2), (js, 3)]


@pytest.mark.parametrize(("loss", "count"), ARGUMENTS)
def test_gradients_agree_with_finite_differences(loss, count):
    generator = torch.Generator().manual_seed(1)
    inputs = [-3 * torch.rand(2, 4, generator=generator, dtype=torch.float64) for _ in range(count)]
    assert gradcheck(loss, [value.requires_grad_() for value in inputs])


@pytest.mark.parametrize(("loss", "count"), [*ARGUMENTS, (js_saddle, 3)])
@pytest.mark.parametrize("members", [(4,), (2, 3)])
def test_members_are_scored_as_if_alone(loss, count, members):
    generator = torch.Generator().manual_seed(2)
    inputs = [
        -3 * torch.rand(*members, 5, generator=generator, dtype=torch.float64) for _ in range(count)
    ]
    together = loss(*inputs)
    assert together.shape == members
    alone = [loss(*rows) for rows in zip(*(v.reshape(-1, 5) for v in inputs), strict=True)]
    close(together, torch.stack(alone).reshape(members), atol=1e-14)


def test_sides_may_have_different_sizes():
    log_phi_p = torch.tensor([0.5, 0.25], dtype=torch.float64).log()
    log_phi_u = torch.tensor([0.5, 0.25, 0.125, 0.125], dtype=torch.float64).log()
    expected = math.log(0.25) - (math.log(0.5) + math.log(0.25)) / 2
    close(variational(log_phi_p, log_phi_u).item(), expected, atol=1e-15)
    expected = (0.25 + 0.0625 + 2 / 64) / 4 / 0.25**2 - 2 * 0.375 / 0.25
    close(l2(log_phi_p, log_phi_u).item(), expected, atol=1e-15)


EXTREMES = [
    ([1e4, 1e4], [1e4, 1e4]),
    ([-1e4, -1e4], [-1e4, -1e4]),
    ([1e4, 1e4], [-1e4, -1e4]),
    ([-1e4, -1e4], [1e4, 1e4]),
    ([1e4, -1e4], [-1e4, 1e4]),
]


@pytest.mark.parametrize(("g_p", "g_u"), EXTREMES)
@pytest.mark.parametrize("loss", [variational, l2])
def test_extreme_logits_give_finite_values_and_gradients(g_p, g_u, loss):
    g_p, g_u = torch.tensor(g_p, requires_grad=True), torch.tensor(g_u, requires_grad=True)
    value = loss(torch.nn.functional.logsigmoid(g_p), torch.nn.functional.logsigmoid(g_u))
    value.backward()
    assert value.isfinite()
    assert g_p.grad.isfinite().all()
    assert g_u.grad.isfinite().all()


@pytest.mark.parametrize(("d_p", "d_u"), EXTREMES)
@pytest.mark.parametrize("g_u", [[1e4, 1e4], [-1e4, -1e4], [-1e4, 1e4]])
@pytest.mark.parametrize("loss", [js, js_saddle])
def test_extreme_logits_of_both_players_give_finite_values_and_gradients(d_p, d_u, g_u, loss):
    inputs = [torch.tensor(values, requires_grad=True) for values in (g_u, d_p, d_u)]
    value = loss(torch.nn.functional.logsigmoid(inputs[0]), *inputs[1:])
    value.backward()
    assert value.isfinite()
    assert all(tensor.grad.isfinite().all() for tensor in inputs)
