"""Training: members alone and together, the same bits, the same whatever stands beside them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from varpu.generative import (
    GenPUMember,
    GenPURecipe,
    ImageGenerator,
    Weights,
    train_classifiers,
    train_genpu,
)
from varpu.generative.generators import build_generators
from varpu.generative.step import _SETTLING_PASSES
from varpu.nets import MLP, LeNet5, logit
from varpu.training import DeviceRows

NETWORKS = ("classifiers", "positive_generators", "negative_generators")


def all_values(trained, k=0):
    return [value for name in NETWORKS for value in getattr(trained, name)[k].values()]


def test_same_seed_same_bits(task):
    first, second = (train_genpu(task.rows, task.members, task.recipe()) for _ in range(2))
    for k in range(3):
        for one, other in zip(all_values(first, k), all_values(second, k), strict=True):
            assert torch.equal(one, other)
    np.testing.assert_array_equal(first.history, second.history)


def test_another_seed_is_another_run(task):
    member = task.members[0]
    first = train_genpu(task.rows, [member], task.recipe())
    second = train_genpu(task.rows, [replace(member, seed=99)], task.recipe())
    for one, other in zip(all_values(first), all_values(second), strict=True):
        assert not torch.equal(one, other)


def test_members_train_together_as_alone(task):
    recipe = task.recipe(epochs=3, labelled_share=0.5)
    together = train_genpu(task.rows, task.members, recipe)
    for k, member in enumerate(task.members):
        alone = train_genpu(task.rows, [member], recipe)
        np.testing.assert_allclose(together.history[:, :, k], alone.history[:, :, 0], atol=1e-5)
        for one, other in zip(all_values(together, k), all_values(alone), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


class Unstackable(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad


class UnstackableMLP(MLP):
    def forward(self, x):
        return Unstackable.apply(super().forward(x))


def test_members_that_cannot_be_stacked_are_trained_one_after_another(task):
    recipe = task.recipe(discriminator=lambda: UnstackableMLP(3, (8, 6)))
    apart = train_genpu(task.rows, task.members, recipe)
    stacked = train_genpu(task.rows, task.members, task.recipe())
    assert len(apart.classifiers) == 3
    np.testing.assert_allclose(apart.history, stacked.history, atol=1e-5)


def test_global_generators_are_left_alone(task):
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    train_genpu(task.rows, task.members[:1], task.recipe())
    assert torch.equal(before[0], torch.random.get_rng_state())
    np.testing.assert_array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002


def test_history_has_a_line_an_epoch_and_a_value_a_game(task):
    trained = train_genpu(task.rows, task.members, task.recipe(epochs=3))
    assert trained.history.shape == (3, 4, 3)
    assert (trained.history < 0).all()
    # Where nobody learns, the games stay what they are, but for the draws.
    still = task.recipe(epochs=2, steps_per_epoch=50, lr_discriminator=1e-9, lr_generator=1e-9)
    first, second = train_genpu(task.rows, task.members, still).history
    np.testing.assert_allclose(first, second, atol=0.02)


def test_is_finite_notices_what_is_not(task):
    trained = train_genpu(task.rows, task.members[:1], task.recipe())
    assert trained.is_finite()
    trained.negative_generators[0]["0.bias"][0] = torch.nan
    assert not trained.is_finite()


def test_the_generators_returned_are_in_evaluation_mode_what_the_classifier_saw():
    """Images with batch norm: states come back whole, running statistics included."""
    images = torch.randint(0, 255, (60, 1, 28, 28), dtype=torch.uint8)
    rows = DeviceRows(images, lambda rows: (rows.float() - 127.5) / 127.5)
    member = GenPUMember(0, np.arange(20), np.arange(60), Weights(1, 1, 1, 1))
    recipe = GenPURecipe(
        LeNet5, lambda: ImageGenerator(4, (1, 28, 28), channels=4), 4, 1, 3, 8, classifier_epochs=1
    )
    trained = train_genpu(rows, [member], recipe)
    generator = build_generators(recipe.generator, [0], torch.device("cpu")).members[0]
    generator.load_state_dict(trained.positive_generators[0])
    # Three steps, and the passes that settle batch norm; none of the classifier's.
    assert generator.layers[2].num_batches_tracked == 3 + _SETTLING_PASSES
    classifier = LeNet5().eval()
    classifier.load_state_dict(trained.classifiers[0])
    with torch.no_grad():
        g = logit(classifier(generator.eval()(torch.randn(5, 4))))
    assert g.isfinite().all()


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_precision_does_not_matter_on_a_cpu(task, precision):
    trained = train_genpu(task.rows, task.members[:1], task.recipe(precision=precision))
    expected = train_genpu(task.rows, task.members[:1], task.recipe())
    np.testing.assert_array_equal(trained.history, expected.history)


@pytest.mark.parametrize("network", [MLP, UnstackableMLP])
def test_classifiers_can_be_trained_again_on_the_same_generators(task, network):
    recipe = task.recipe(discriminator=lambda: network(3, (8, 6)))
    trained = train_genpu(task.rows, task.members, recipe)
    again = train_classifiers(task.rows, task.members, recipe, trained)
    other = train_classifiers(task.rows, task.members, replace(recipe, labelled_share=1.0), trained)
    for first, second, third in zip(trained.classifiers, again, other, strict=True):
        for name in first:
            assert torch.equal(first[name], second[name])
            assert not torch.equal(first[name], third[name])


def test_layers_that_draw_by_themselves_follow_the_seed(task):
    def with_dropout():
        return torch.nn.Sequential(
            torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2)
        )

    recipe = task.recipe(discriminator=with_dropout)
    torch.manual_seed(1)
    first = train_genpu(task.rows, task.members[:1], recipe)
    torch.manual_seed(2)
    second = train_genpu(task.rows, task.members[:1], recipe)
    np.testing.assert_array_equal(first.history, second.history)
    for one, other in zip(all_values(first), all_values(second), strict=True):
        assert torch.equal(one, other)
