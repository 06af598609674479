"""K LeNet-5 networks as one are those K networks."""

import copy

import pytest
import torch

from varpu.nets import LeNet5, ModuleStack, StackedLeNet, logit, seeded_network
from varpu.nets.pooling import max_of_four, spread_to_largest

SIZES = [[], [10], [6, 4]]  # how many rows each batch of a pass has


@pytest.fixture
def networks():
    return [seeded_network(LeNet5, seed).double() for seed in range(3)]


@pytest.fixture
def images():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(3, 10, 1, 28, 28, generator=generator, dtype=torch.float64)


def alone(networks, images, sizes):
    """Each network by itself; batch norm heeds the sizes."""
    stacks = [ModuleStack(network) for network in networks]
    return torch.cat([stack(images[k : k + 1], sizes) for k, stack in enumerate(stacks)])


def close(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize("sizes", SIZES)
def test_logits_gradients_and_statistics_are_those_of_the_members(networks, images, sizes):
    stack = StackedLeNet(copy.deepcopy(networks))
    inputs = [images.clone().requires_grad_() for _ in range(2)]
    expected, actual = alone(networks, inputs[0], sizes), stack(inputs[1], sizes)
    close(actual, expected)
    weights = torch.randn(expected.shape, dtype=torch.float64)
    for logits in (expected, actual):
        (weights * logits).sum().backward()
    close(inputs[1].grad, inputs[0].grad)
    for name, gradient in gradients(stack).items():
        for own, network in zip(gradient, networks, strict=True):
            close(own, network.get_parameter(name).grad)
    for state, network in zip(stack.states(), networks, strict=True):
        for name, value in network.state_dict().items():
            close(state[name], value)


def gradients(stack):
    """Of every parameter, by the name it has in LeNet5."""
    named = {}
    for name, weight, bias in zip("012568", stack.weights, stack.biases, strict=True):
        named |= {f"{name}.weight": weight.grad, f"{name}.bias": bias.grad}
    return named


def test_when_not_training_it_uses_and_leaves_the_running_statistics(networks, images):
    alone(networks, images, [10])  # statistics other than the first ones
    stack = StackedLeNet(copy.deepcopy(networks))
    stack.train(False)
    before = copy.deepcopy(stack.states())
    expected = [logit(network.eval()(own)) for network, own in zip(networks, images, strict=True)]
    close(stack(images), torch.stack(expected))
    for state, kept in zip(stack.states(), before, strict=True):
        assert all(torch.equal(state[name], value) for name, value in kept.items())


def test_states_are_those_that_lenet_loads(networks):
    stack = StackedLeNet(copy.deepcopy(networks))
    for state, network in zip(stack.states(), networks, strict=True):
        assert set(state) == set(network.state_dict())
        LeNet5().load_state_dict(state)


def test_products_in_bfloat16_are_near(networks, images):
    stack = StackedLeNet([network.float() for network in networks], torch.bfloat16)
    logits = stack(images.float())
    assert logits.dtype == torch.float32
    expected = StackedLeNet(networks)(images.float())
    assert (logits - expected).norm() < 0.03 * expected.norm()


def test_of_equal_pixels_the_first_takes_the_gradient():
    blocks = torch.tensor([[1.0, 5.0, 1.0, 5.0, 2.0, 5.0, 2.0, 4.0]])  # four blocks of two
    assert max_of_four(blocks).tolist() == [[2.0, 5.0]]
    spread = spread_to_largest(blocks, torch.tensor([[7.0, 9.0]]))
    assert spread.tolist() == [[0.0, 9.0, 0.0, 0.0, 7.0, 0.0, 0.0, 0.0]]
