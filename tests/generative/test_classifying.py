"""The classifier: its proportion, and which rows it is trained on."""

import numpy as np
import pytest
import torch

from varpu.generative import GenPUMember, Weights
from varpu.generative.classifying import ClassifierStep
from varpu.generative.generators import Generators, build_generators
from varpu.nets import MLP, StackedMLP, build_stacks
from varpu.training import DeviceRows


class TwoGaussians(Generators):
    """Generators that are perfect: N(1, 1) makes positives, N(-1, 1) negatives."""

    n_generators = 2

    def forward(self, latent):
        return latent + torch.tensor([1.0, -1.0]).reshape(2, 1, 1)


def trained_logits(task, prior, share, x, far=50.0):
    """Logits at ``x`` of a linear classifier; all labelled rows lie at ``far``."""
    recipe = task.recipe(
        n_latent=1, batch_size=256, steps_per_epoch=120, classifier_lr=3e-2, labelled_share=share
    )
    member = GenPUMember(3, np.arange(5), np.arange(9), Weights(1, 1, 1, 1), prior)
    torch.manual_seed(0)
    stack = StackedMLP([MLP(1, ())])
    rows = DeviceRows(torch.full((9, 1), far))
    step = ClassifierStep(stack, TwoGaussians(), rows, [member], recipe)
    for epoch in range(2):
        step.begin_epoch(epoch)
        for _ in range(recipe.steps_per_epoch):
            step()
    with torch.no_grad():
        return stack(torch.tensor(x).reshape(1, -1, 1))[0].numpy()


@pytest.mark.parametrize("prior", [0.5, 0.2, 0.9])
def test_it_finds_the_log_odds_of_perfect_generators(task, prior):
    """Between N(1, 1) and N(-1, 1) they are ``2 x + log(prior / (1 - prior))``."""
    x = np.array([-1.0, 0.0, 1.0], dtype=np.float32)
    truth = 2 * x + np.log(prior / (1 - prior))
    np.testing.assert_allclose(trained_logits(task, prior, 0.0, x), truth, atol=0.25)


def test_labelled_rows_take_the_place_of_generated_positives(task):
    """With none the negatives' side of them is empty; with all, there is nothing else positive."""
    x = np.array([0.0, 1.0], dtype=np.float32)
    none, half, every = (trained_logits(task, 0.5, s, x, far=-4.0) for s in (0.0, 0.5, 1.0))
    assert none[1] - none[0] > 1.5  # positives on the right
    assert every[1] - every[0] < -0.5  # positives on the left, at -4
    assert every[0] < half[0] < none[1]


def test_the_generators_do_not_learn_from_the_classifier(task):
    recipe, cpu = task.recipe(), torch.device("cpu")
    generators = build_generators(recipe.generator, range(6), cpu).eval()
    (stack,) = build_stacks(recipe.discriminator, range(3), task.X[:1], cpu, torch.float32)
    step = ClassifierStep(stack, generators, task.rows, task.members, recipe)
    before = [value.detach().clone() for value in generators.parameters()]
    step.begin_epoch(0)
    step()
    for then, now in zip(before, generators.parameters(), strict=True):
        assert torch.equal(then, now)
        assert now.grad is None
