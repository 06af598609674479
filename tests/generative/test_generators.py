"""Generators: shapes, ranges, first rows, and many as one."""

import numpy as np
import pytest
import torch

from varpu.generative import DenseImageGenerator, ImageGenerator, TableGenerator
from varpu.generative.generators import (
    GeneratorList,
    StackedTableGenerators,
    build_generators,
    generator_factory,
)

CPU = torch.device("cpu")


def test_first_rows_vary_as_standardised_columns_do():
    """Else the generator starts as a point, and the discriminators win before it has spread."""
    rows = TableGenerator(32, 6, (128, 128))(torch.randn(4000, 32))
    assert rows.shape == (4000, 6)
    assert rows.pow(2).mean().item() == pytest.approx(1, rel=0.3)
    assert rows.std(dim=0).min().item() > 0.4


def test_stacked_tables_are_their_members():
    members = [TableGenerator(4, 3, (10, 7)) for _ in range(3)]
    stack = StackedTableGenerators(members)
    latent = torch.randn(3, 5, 4)
    apart = torch.stack([m(z) for m, z in zip(members, latent, strict=True)])
    torch.testing.assert_close(stack(latent), apart)
    for state, member in zip(stack.states(), members, strict=True):
        assert state.keys() == member.state_dict().keys()
        for name, value in member.state_dict().items():
            torch.testing.assert_close(state[name], value, rtol=0, atol=0)


def test_stacked_dense_images_are_their_members():
    members = [DenseImageGenerator(4, (1, 3, 2), (10,), low=2.0, high=5.0) for _ in range(3)]
    stack = StackedTableGenerators(members)
    latent = 20 * torch.randn(3, 50, 4)
    made = stack(latent)
    assert made.shape == (3, 50, 1, 3, 2)
    assert made.min().item() == pytest.approx(2.0, abs=1e-3)
    assert made.max().item() == pytest.approx(5.0, abs=1e-3)
    apart = torch.stack([m(z) for m, z in zip(members, latent, strict=True)])
    torch.testing.assert_close(made, apart)


def test_a_generator_s_first_weights_are_its_seed_s_alone():
    def factory():
        return TableGenerator(4, 3, (10,))

    before = torch.random.get_rng_state()
    together = build_generators(factory, [5, 6], CPU)
    alone = build_generators(factory, [6], CPU)
    assert torch.equal(together.weights[0][1], alone.weights[0][0])
    assert not torch.equal(together.weights[0][0], alone.weights[0][0])
    assert torch.equal(before, torch.random.get_rng_state())


SHAPES = [(1, 28, 28), (3, 32, 32), (3, 96, 96), (1, 8, 8), (2, 5, 7), (1, 30, 17), (1, 1, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_images_have_any_shape(shape):
    made = ImageGenerator(16, shape)(torch.randn(3, 16))
    assert made.shape == (3, *shape)
    assert made.abs().max() <= 1
    assert (made[0] != made[1]).any()


def test_pixels_keep_to_their_range():
    generator = ImageGenerator(16, (1, 8, 8), low=3.0, high=5.0)
    with torch.no_grad():
        generator.layers[-2].bias.fill_(50.0)
        assert generator(torch.randn(4, 16)).max().item() == pytest.approx(5.0)
        generator.layers[-2].bias.fill_(-50.0)
        assert generator(torch.randn(4, 16)).min().item() == pytest.approx(3.0)


def test_a_generator_carries_its_range_in_its_state():
    first = ImageGenerator(16, (1, 8, 8), low=0.0, high=2.0).eval()
    second = ImageGenerator(16, (1, 8, 8)).eval()
    second.load_state_dict(first.state_dict())
    latent = torch.randn(2, 16)
    assert torch.equal(first(latent), second(latent))


def test_images_side_by_side_are_each_by_itself():
    generators = build_generators(lambda: ImageGenerator(4, (1, 8, 8)), [1, 2], CPU)
    assert isinstance(generators, GeneratorList)
    latent = torch.randn(2, 3, 4)
    alone = build_generators(lambda: ImageGenerator(4, (1, 8, 8)), [2], CPU)
    torch.testing.assert_close(generators(latent)[1], alone(latent[1:])[0])
    names = ImageGenerator(4, (1, 8, 8)).state_dict().keys()
    assert [state.keys() for state in generators.states()] == [names] * 2


def test_the_factory_knows_tables_from_images():
    assert isinstance(generator_factory(4, (3,), (5,), -1, 1)(), TableGenerator)
    image = generator_factory(4, (1, 8, 8), (5,), 0, 1)()
    assert isinstance(image, ImageGenerator)
    np.testing.assert_array_equal(image.span, [0, 1])
