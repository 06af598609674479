"""The paper's networks, and the stacked form that trains many members as one.

A network maps inputs to one logit ``g`` a row, or to two outputs whose difference is ``g`` (the
paper's two-way log-softmax); ``Phi = sigmoid(g)``. Networks know nothing of losses or training.
"""

from varpu.nets.base import Stack, at_least_float32, logit
from varpu.nets.conv import ConvPoolReLU, ConvReLU, DenseConv
from varpu.nets.image import CifarCNN, LeNet5, StlCNN
from varpu.nets.mlp import MLP
from varpu.nets.stack import ModuleStack, VmapStack, build_stacks, seeded_network, stacks_of
from varpu.nets.stacked_lenet import StackedLeNet
from varpu.nets.stacked_mlp import StackedMLP

__all__ = [
    "MLP",
    "CifarCNN",
    "LeNet5",
    "ModuleStack",
    "ConvPoolReLU",
    "ConvReLU",
    "DenseConv",
    "Stack",
    "StackedLeNet",
    "StackedMLP",
    "StlCNN",
    "VmapStack",
    "at_least_float32",
    "build_stacks",
    "logit",
    "seeded_network",
    "stacks_of",
]
