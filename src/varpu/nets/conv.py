"""Convolutions in the form that is fast for the shapes at hand; the function is the plain one.

State dictionaries are those of ``nn.Conv2d``.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


class DenseConv(nn.Conv2d):
    """A convolution whose kernel covers its whole input: one product, not a search for a kernel."""

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of shape (B, C, 1, 1)."""
        out = nn.functional.linear(x.flatten(1), self.weight.flatten(1), self.bias)
        return out[..., None, None]


class ConvPoolReLU(nn.Conv2d):
    """``relu(max_pool(conv(x)))``, pooled two by two: the ReLU sees a quarter of the pixels."""

    def __init__(self, n_in: int, n_out: int, kernel_size: int, padding: int = 0) -> None:
        super().__init__(n_in, n_out, kernel_size, padding=padding)

    def forward(self, x: Tensor) -> Tensor:
        """The activations, shape (B, C, H, W)."""
        return torch.relu(nn.functional.max_pool2d(super().forward(x), 2))


def _dtype(x: Tensor) -> torch.dtype:
    """What products of ``x`` are to be computed in."""
    return torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else x.dtype


class ConvReLU(nn.Conv2d):
    """``relu(conv(x))`` without padding.

    On a GPU the bias and the ReLU are applied as the product leaves the matrix units, which saves
    two passes over the activations: for wide, shallow networks the larger part of a step.
    """

    def __init__(self, n_in: int, n_out: int, kernel_size: int, stride: int = 1) -> None:
        super().__init__(n_in, n_out, kernel_size, stride=stride)

    def forward(self, x: Tensor) -> Tensor:
        """The activations, shape (B, C, H, W)."""
        if not x.is_cuda:
            return torch.relu(super().forward(x))
        assert self.bias is not None
        dtype = _dtype(x)
        return _Fused.apply(x.to(dtype), self.weight.to(dtype), self.bias.to(dtype), self.stride)


class _Fused(torch.autograd.Function):
    """cuDNN's convolution with bias and ReLU in one kernel; backward of the usual kind."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, stride: Any) -> Tensor:
        out = torch.cudnn_convolution_relu(x, weight, bias, stride, (0, 0), (1, 1), 1)
        ctx.save_for_backward(x, weight, out)
        ctx.stride = stride
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, out = ctx.saved_tensors
        grad = torch.ops.aten.threshold_backward(grad, out, 0)
        needs = [ctx.needs_input_grad[0], True, True]
        grad_x, grad_weight, grad_bias = torch.ops.aten.convolution_backward(
            grad, x, weight, [len(weight)], ctx.stride, [0, 0], [1, 1], False, [0, 0], 1, needs
        )
        return grad_x, grad_weight, grad_bias, None
