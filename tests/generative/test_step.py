"""One step: who moves, who does not, and which way."""

import numpy as np
import pytest
import torch

from varpu.generative import GenPUMember, ImageGenerator, TableGenerator, Weights, loop
from varpu.generative.generators import build_generators
from varpu.generative.step import (
    AdversarialStep,
    Captured,
    Latents,
    Players,
    Updater,
    _logits,
)
from varpu.nets import MLP, LeNet5
from varpu.training import DeviceRows

CPU = torch.device("cpu")


def players_of(rows, members, recipe):
    seeds = [*loop._seeds(members, "g_p"), *loop._seeds(members, "g_n")]
    roles = ("d_p", "d_u", "d_n")
    discriminators = [loop._discriminators(rows, members, recipe, role)[0] for role in roles]
    return Players(build_generators(recipe.generator, seeds, CPU), *discriminators)


@pytest.fixture
def step(task):
    recipe = task.recipe(ramp=0.0)
    return AdversarialStep(
        players_of(task.rows, task.members, recipe), task.rows, task.members, recipe
    )


def copies(parameters):
    return [value.detach().clone() for value in parameters]


def moved(parameters, before):
    return [not torch.equal(now, then) for now, then in zip(parameters, before, strict=True)]


def batches(step):
    x = step.rows.X[:48].reshape(3, 16, 3)
    fake_p, fake_n = step.players.generators(torch.randn(6, 16, 4)).chunk(2)
    return x, x + 1, fake_p, fake_n


def test_the_discriminators_step_leaves_the_generators_alone(step):
    generators, discriminators = (
        list(step.players.generators.parameters()),
        step.players.discriminator_parameters(),
    )
    before = copies(generators), copies(discriminators)
    x_p, x_u, fake_p, fake_n = batches(step)
    step.update_discriminators(x_p, x_u, fake_p.detach(), fake_n.detach())
    assert not any(moved(generators, before[0]))
    assert all(moved(discriminators, before[1]))


def test_the_generators_step_leaves_the_discriminators_alone(step):
    generators, discriminators = (
        list(step.players.generators.parameters()),
        step.players.discriminator_parameters(),
    )
    before = copies(generators), copies(discriminators)
    step.update_generators(*batches(step))
    assert all(moved(generators, before[0]))
    assert not any(moved(discriminators, before[1]))
    assert all(value.grad is None for value in discriminators)
    assert all(value.requires_grad for value in discriminators)


def test_discriminators_learn_to_tell(step):
    x_p, x_u, fake_p, fake_n = batches(step)
    fakes = fake_p.detach() - 3, fake_n.detach() - 3
    first = step.update_discriminators(x_p, x_u, *fakes)
    for _ in range(200):
        last = step.update_discriminators(x_p, x_u, *fakes)
    assert (last > first + 0.5).all()
    assert (last <= 0).all()


class Slope(torch.nn.Module):
    """A discriminator that finds rows the more real the larger their only column is."""

    n_members = 1

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, x, sizes=()):
        return x[..., 0] * self.weight


@pytest.mark.parametrize(
    ("weights", "positive_rises", "negative_rises"),
    [
        (Weights(1, 0, 1, 0), True, False),  # D_p draws G_p, D_n repels G_n
        (Weights(0, 1, 0, 1), True, True),  # D_u draws both
        (Weights(0, 1, 1000, 1), True, False),  # the push is stronger where it weighs more
    ],
)
def test_generated_rows_move_the_way_their_game_says(task, weights, positive_rises, negative_rises):
    """All three discriminators find large numbers real, D_n therefore takes them for positives."""
    recipe = task.recipe(generator=lambda: TableGenerator(4, 1, (10,)), ramp=0.0, lr_generator=1e-2)
    member = GenPUMember(0, np.arange(20), np.arange(150), weights)
    generators = build_generators(recipe.generator, [1, 2], CPU)
    players = Players(generators, Slope(), Slope(), Slope())
    step = AdversarialStep(players, DeviceRows(task.X[:, :1]), [member], recipe)
    latent = torch.randn(2, 64, 4)
    before = generators(latent).mean(dim=(1, 2)).detach()
    for _ in range(20):
        step.update_generators(*[task.X[None, :20, :1]] * 2, *generators(latent).chunk(2))
    after = generators(latent).mean(dim=(1, 2)).detach()
    assert (after > before).tolist() == [positive_rises, negative_rises]


def test_the_push_grows_to_its_weight(task):
    recipe = task.recipe(ramp=0.5, epochs=5, steps_per_epoch=8)
    players = players_of(task.rows, task.members, recipe)
    step = AdversarialStep(players, task.rows, task.members, recipe)
    pushes = []
    for taken in range(40):
        step._taken.fill_(taken)
        pushes.append(step._push().item())
    assert pushes[9] == pytest.approx(1e-2)  # half of the ramp of twenty steps, geometrically
    np.testing.assert_allclose(np.diff(np.log(pushes[:20])), np.log(1e4) / 20, rtol=1e-4)
    np.testing.assert_allclose(pushes[19:], 1)


def test_without_a_ramp_the_push_has_its_weight_at_once(step):
    assert step._push().item() == 1


def test_without_memory_the_running_mean_is_the_last_state(task):
    recipe = task.recipe(average=0.0)
    players = players_of(task.rows, task.members, recipe)
    step = AdversarialStep(players, task.rows, task.members, recipe)
    step.begin_epoch(0)
    step()
    last = copies(players.generators.parameters())
    step.settle_generators()
    assert not any(moved(players.generators.parameters(), last))


def test_the_running_mean_by_hand(task):
    recipe = task.recipe(average=0.3)
    players = players_of(task.rows, task.members, recipe)
    step = AdversarialStep(players, task.rows, task.members, recipe)
    step.begin_epoch(0)
    value = next(iter(players.generators.parameters()))
    mean = value.detach().clone()
    for taken in range(4):
        step()
        memory = min(0.3, (1 + taken) / (10 + taken))
        mean = memory * mean + (1 - memory) * value.detach()
    step.settle_generators()
    torch.testing.assert_close(value.detach(), mean)


def test_an_epoch_s_averages_are_those_of_its_steps(step):
    step.begin_epoch(0)
    for _ in range(4):
        step()
    first = step.averages()
    assert first.shape == (4, 3)
    assert (first < 0).all()
    step.begin_epoch(1)
    assert not step.averages().any()


def test_latents_are_standard_normal_and_each_generator_s_own(task):
    recipe = task.recipe(batch_size=500, n_latent=20)
    latents = Latents(torch.tensor([3, 4]), recipe)
    first, again, later = (latents(torch.tensor([t])) for t in (0, 0, 1))
    assert first.shape == (4, 500, 20)
    assert torch.equal(first, again)
    assert first.mean().abs() < 0.02
    assert abs(first.std() - 1) < 0.02
    everything = torch.cat([first, later]).flatten(1)
    correlation = torch.corrcoef(everything) - torch.eye(8)
    assert correlation.abs().max() < 0.05


def lenet_game(task):
    """A discriminator with batch norm, and real images."""
    recipe = task.recipe(discriminator=LeNet5)
    images = DeviceRows(torch.randn(40, 1, 28, 28))
    member = GenPUMember(0, np.arange(20), np.arange(40), Weights(1, 1, 1, 1))
    (d_p,) = loop._discriminators(images, [member], recipe, "d_p")
    return recipe, d_p, images.X[:16].unsqueeze(0)


def test_batch_norm_leaves_what_tells_generated_rows_from_real_ones(task):
    """Were each batch normalised by itself, brighter images would be as good as real ones."""
    recipe, d_p, real = lenet_game(task)
    updater = Updater(list(d_p.parameters()), 1e-3, (0.5, 0.99))
    for _ in range(30):
        of_real, of_brighter = _logits(recipe, d_p, real, real + 1)
        updater.step((of_brighter - of_real).clamp(-5, 5).sum())
    of_real, of_brighter = _logits(recipe, d_p, real, real + 1)
    assert (of_real.min() > of_brighter.max()).item()


def test_on_a_cpu_a_captured_function_is_just_called():
    calls = []
    captured = Captured(lambda: calls.append(1), CPU, wanted=True)
    for _ in range(6):
        captured()
    assert len(calls) == 6


def test_mlp_discriminators_are_one_stack_each(task):
    recipe = task.recipe()
    stacks = loop._discriminators(task.rows, task.members, recipe, "d_u")
    assert [stack.n_members for stack in stacks] == [3]
    assert isinstance(recipe.discriminator(), MLP)


def test_settled_generators_are_the_same_in_both_modes(task):
    """Batch norm's statistics are those of the averaged weights, not of the last ones."""
    recipe = task.recipe(
        generator=lambda: ImageGenerator(4, (1, 8, 8), channels=4),
        discriminator=lambda: torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2)),
        batch_size=64,
        lr_generator=3e-2,
        average=0.9,
    )
    rows = DeviceRows(torch.randn(150, 1, 8, 8))
    step = AdversarialStep(
        players_of(rows, task.members[:1], recipe), rows, task.members[:1], recipe
    )
    for epoch in range(3):
        step.begin_epoch(epoch)
        for _ in range(4):
            step()
    step.settle_generators()
    latent = torch.randn(2, 2000, 4)
    with torch.no_grad():
        evaluated, trained = (step.players.generators.train(mode)(latent) for mode in (False, True))
    assert (evaluated - trained).abs().mean().item() < 0.03
