"""Convolutions in a faster form are plain convolutions."""

import pytest
import torch
from torch import nn

from varpu.nets import ConvPoolReLU, ConvReLU, DenseConv
from varpu.nets.conv import _blocked, _Patches, _pooled_product

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


@pytest.mark.parametrize("settings", [(3, 6, 3, 1), (3, 6, 3, 2), (1, 4, 5, 1), (2, 5, 3, 3)])
def test_product_of_patches_is_a_convolution_and_a_relu(settings):
    # The form that a GPU takes for thin inputs; it is plain torch, so a CPU can check it. Small
    # whole numbers and their sums are float32 numbers, so nothing may be lost to rounding.
    plain = of_whole_numbers(nn.Conv2d(*settings[:3], stride=settings[3]))
    x = torch.randint(-3, 4, (4, settings[0], 9, 11)).float()
    expected = torch.relu(plain(x))
    actual = _Patches.apply(x, plain.weight, plain.bias, plain.stride, False)
    assert_equal(expected, actual, list(plain.parameters()))


def test_blocks_of_pixels_and_stride_one_are_stride_two():
    first, second = (of_whole_numbers(conv) for conv in (nn.Conv2d(3, 4, 3), nn.Conv2d(4, 5, 3, 2)))
    x = torch.randint(-1, 2, (4, 3, 10, 12)).float()
    expected = second(torch.relu(first(x)))
    blocks = _Patches.apply(x, first.weight, first.bias, first.stride, True)
    assert blocks.shape == (4, 16, 4, 5)
    actual = nn.functional.conv2d(blocks, _blocked(second.weight), second.bias)
    assert_equal(expected, actual, [*first.parameters(), *second.parameters()])


@pytest.mark.parametrize(
    ("settings", "shape"),
    [((1, 6, 5, 2), (28, 28)), ((6, 16, 5, 0), (14, 14)), ((2, 3, 3, 1), (5, 8))],
)
def test_one_product_is_a_convolution_pooled(settings, shape):
    # Whole numbers again; many are equal, so the one that pooling takes of equals is tested too.
    layer = of_whole_numbers(ConvPoolReLU(*settings))
    x = torch.randint(-1, 2, (4, settings[0], *shape)).float().requires_grad_()
    expected = layer(x)
    plain = nn.functional.conv2d(x, layer.weight, layer.bias, padding=settings[3])
    assert torch.equal(expected, torch.relu(nn.functional.max_pool2d(plain, 2)))
    actual = _pooled_product(x, layer.weight, layer.bias, settings[3])
    assert_equal(expected, actual, [x, *layer.parameters()])


def of_whole_numbers(layer):
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randint(-3, 4, parameter.shape))
    return layer


def assert_equal(expected, actual, inputs):
    """Equal to the last bit, gradients of one combination of the outputs too."""
    assert torch.equal(actual, expected)
    weights = torch.randint(-3, 4, expected.shape).float()
    gradients = [torch.autograd.grad((weights * out).sum(), inputs) for out in (expected, actual)]
    for wanted, got in zip(*gradients, strict=True):
        assert torch.equal(got, wanted)


def test_dense_conv_is_a_convolution_over_the_whole_input():
    plain = nn.Conv2d(3, 6, 5, dtype=torch.float64)
    dense = DenseConv(3, 6, 5).double()
    assert list(plain.state_dict()) == list(dense.state_dict())
    dense.load_state_dict(plain.state_dict())
    x = torch.randn(4, 3, 5, 5, dtype=torch.float64, requires_grad=True)
    assert_same(plain(x), dense(x), (x, *plain.parameters()), (x, *dense.parameters()))
