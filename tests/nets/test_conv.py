"""Convolutions in a faster form are plain convolutions."""

import pytest
import torch
from torch import nn

from varpu.nets import ConvPoolReLU, ConvReLU, DenseConv

SETTINGS = [(3, 6, 3, 1), (3, 6, 3, 2), (4, 5, 1, 1)]


def pair(n_in, n_out, kernel_size, stride):
    plain = nn.Conv2d(n_in, n_out, kernel_size, stride=stride, dtype=torch.float64)
    with_relu = ConvReLU(n_in, n_out, kernel_size, stride).double()
    with_relu.load_state_dict(plain.state_dict())
    return plain, with_relu


def assert_same(expected, actual, inputs_expected, inputs_actual):
    """Equal outputs, and equal gradients of one random combination of them."""
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-12)
    weights = torch.randn_like(expected)
    gradients = [
        torch.autograd.grad((weights * out).sum(), inputs)
        for out, inputs in ((expected, inputs_expected), (actual, inputs_actual))
    ]
    for wanted, got in zip(*gradients, strict=True):
        torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("settings", SETTINGS)
def test_conv_relu_has_the_state_of_a_plain_convolution(settings):
    plain, with_relu = pair(*settings)
    assert list(plain.state_dict()) == list(with_relu.state_dict())
    plain.load_state_dict(with_relu.state_dict())


@pytest.mark.parametrize("settings", SETTINGS)
def test_conv_relu_is_a_convolution_and_a_relu(settings):
    plain, with_relu = pair(*settings)
    x = torch.randn(4, settings[0], 9, 9, dtype=torch.float64, requires_grad=True)
    expected, actual = torch.relu(plain(x)), with_relu(x)
    assert_same(expected, actual, (x, *plain.parameters()), (x, *with_relu.parameters()))


@pytest.mark.parametrize(
    ("settings", "shape"), [((1, 6, 5, 2), (28, 28)), ((6, 16, 5, 0), (14, 14))]
)
def test_conv_pool_relu_is_a_convolution_pooled_and_a_relu(settings, shape):
    layer = ConvPoolReLU(*settings)
    x = torch.randn(4, settings[0], *shape)
    plain = nn.functional.conv2d(x, layer.weight, layer.bias, padding=settings[3])
    assert torch.equal(layer(x), nn.functional.max_pool2d(torch.relu(plain), 2))


def test_dense_conv_is_a_convolution_over_the_whole_input():
    plain = nn.Conv2d(3, 6, 5, dtype=torch.float64)
    dense = DenseConv(3, 6, 5).double()
    assert list(plain.state_dict()) == list(dense.state_dict())
    dense.load_state_dict(plain.state_dict())
    x = torch.randn(4, 3, 5, 5, dtype=torch.float64, requires_grad=True)
    assert_same(plain(x), dense(x), (x, *plain.parameters()), (x, *dense.parameters()))
