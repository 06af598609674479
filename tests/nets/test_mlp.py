"""The paper's network for tables."""

import pytest
import torch
from torch import nn

from varpu.nets import MLP


def test_default_is_the_papers_seven_layers():
    widths = [(layer.in_features, layer.out_features) for layer in MLP(16).linears()]
    assert widths == [(16, 300), *[(300, 300)] * 5, (300, 2)]


def test_parameter_count_of_the_papers_network():
    count = sum(p.numel() for p in MLP(16).parameters())
    assert count == (16 * 300 + 300) + 5 * (300 * 300 + 300) + (300 * 2 + 2)


def test_every_hidden_layer_is_followed_by_a_relu_and_the_last_is_not():
    kinds = [type(layer) for layer in MLP(3, (5, 4))]
    assert kinds == [nn.Linear, nn.ReLU, nn.Linear, nn.ReLU, nn.Linear]


@pytest.mark.parametrize("hidden", [(), (5,), [4, 3]])
def test_two_outputs_a_row_whatever_the_hidden_layers(hidden):
    assert MLP(3, hidden)(torch.zeros(7, 3)).shape == (7, 2)


def test_without_hidden_layers_it_is_linear():
    network, x = MLP(3, ()), torch.rand(7, 3)
    (layer,) = network.linears()
    assert torch.equal(network(x), x @ layer.weight.t() + layer.bias)
