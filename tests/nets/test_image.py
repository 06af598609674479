"""The paper's networks for images, layer by layer as in the authors' program."""

import pytest
import torch
from torch import nn

from varpu.nets import CifarCNN, LeNet5, StlCNN

# Shape of what each layer with weights gives, and how many weights and biases it has.
LAYERS = {
    LeNet5: [
        ((6, 14, 14), 5 * 5 * 1 * 6 + 6),  # pooled
        ((16, 5, 5), 5 * 5 * 6 * 16 + 16),
        ((120, 1, 1), 5 * 5 * 16 * 120 + 120),
        ((84,), 120 * 84 + 84),
        ((84,), 84 + 84),  # batch norm
        ((2,), 84 * 2 + 2),
    ],
    CifarCNN: [
        ((96, 30, 30), 3 * 3 * 3 * 96 + 96),
        ((96, 14, 14), 3 * 3 * 96 * 96 + 96),
        ((192, 14, 14), 96 * 192 + 192),
        ((10, 14, 14), 192 * 10 + 10),
        ((1000,), 1960 * 1000 + 1000),
        ((1000,), 1000 * 1000 + 1000),
        ((2,), 1000 * 2 + 2),
    ],
    StlCNN: [
        ((6, 94, 94), 3 * 3 * 3 * 6 + 6),
        ((6, 45, 45), 3 * 3 * 6 * 6 + 6),
        ((16, 41, 41), 5 * 5 * 6 * 16 + 16),
        ((32, 16, 16), 5 * 5 * 16 * 32 + 32),
        ((120,), 2048 * 120 + 120),
        ((84,), 120 * 84 + 84),
        ((2,), 84 * 2 + 2),
    ],
}
TOTALS = {LeNet5: 61_194, CifarCNN: 3_070_284, StlCNN: 271_960}


def with_weights(network):
    return [layer for layer in network.modules() if list(layer.parameters(recurse=False))]


@pytest.mark.parametrize("kind", LAYERS)
def test_layer_shapes_and_parameter_counts(kind):
    network, seen = kind(), []
    for layer in with_weights(network):
        count = sum(p.numel() for p in layer.parameters())
        layer.register_forward_hook(
            lambda _, __, out, count=count: seen.append((tuple(out.shape[1:]), count))
        )
    network(torch.zeros(2, *kind.input_shape))
    assert seen == LAYERS[kind]
    assert sum(p.numel() for p in network.parameters()) == TOTALS[kind]


@pytest.mark.parametrize("kind", LAYERS)
def test_all_but_the_last_layer_end_in_a_relu(kind):
    """The input of every layer after the first is an activation, so never negative."""
    network, lowest = kind(), []
    for layer in with_weights(network)[1:]:
        if not isinstance(layer, nn.BatchNorm1d):  # it stands between a dense layer and its ReLU
            layer.register_forward_pre_hook(lambda _, args: lowest.append(args[0].min().item()))
    output = network(torch.randn(4, *kind.input_shape))
    assert len(lowest) >= 4
    assert min(lowest) >= 0
    assert output.min() < 0


def test_the_dense_layer_of_lenet_alone_has_batch_norm():
    norms = {k: [m for m in k().modules() if isinstance(m, nn.BatchNorm1d)] for k in LAYERS}
    assert [norm.num_features for norm in norms[LeNet5]] == [84]
    assert norms[CifarCNN] == norms[StlCNN] == []
