"""CifarCNN's four convolutions as one function, for a GPU's bfloat16 units.

Its layers are wide and shallow, so a step's time goes into reading and writing activations. Here
the gradient of ``h1``, the largest table, is never written, and ``h3`` is not kept but computed
anew; biases, ReLUs and the sums over pixels that are the gradients of biases cost no pass of their
own. The strided convolution and its weight's gradient are cuDNN's.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from varpu.nets.kernels import triton_module


def takes(x: Tensor) -> bool:
    """Whether the function below can do this pass."""
    return (
        x.is_cuda
        and not x.requires_grad
        and torch.is_autocast_enabled("cuda")
        and torch.get_autocast_dtype("cuda") == torch.bfloat16
        and torch.cuda.get_device_capability(x.device) >= (8, 0)  # older ones have no such units
        and triton_module("cifar") is not None
    )


def trunk(convolutions: Iterable[nn.Module], x: Tensor) -> Tensor:
    """The fourth convolution's activations, ``(B, 1960)``, of images ``(B, 3, 32, 32)``."""
    parameters = [p for layer in convolutions for p in (layer.weight, layer.bias)]
    with torch.autocast("cuda", enabled=False):
        return _Trunk.apply(x.to(torch.bfloat16).contiguous(), *parameters)


class _Trunk(torch.autograd.Function):
    """Arguments are the parameters as ``nn.Conv2d`` has them; names as in the kernels' module."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *parameters: Tensor) -> Tensor:
        kernels = triton_module("cifar")
        w1, b1, w2, b2, w3, b3, w4, b4 = (p.to(x.dtype) for p in parameters)
        with_bias = torch.cat([w1.flatten(1), b1.unsqueeze(1)], dim=1).t()
        first = pad(with_bias, (0, 0, 0, kernels.PATCH - len(with_bias))).contiguous()
        third = w3.flatten(1).t().contiguous()
        fourth = pad(w4.flatten(1).t(), (0, 6)).contiguous()
        h1 = kernels.first(x, first)
        second = w2.contiguous(memory_format=torch.channels_last)
        h2 = torch.cudnn_convolution_relu(
            _as_images(h1, len(x), 30), second, b2, (2, 2), (0, 0), (1, 1), 1
        )
        h2 = h2.permute(0, 2, 3, 1).reshape(-1, 96)
        # The product adds the bias and applies the ReLU. Its ten columns are 16, which suits it.
        h3 = torch._addmm_activation(b3, h2, third)
        h4 = torch._addmm_activation(pad(b4, (0, 6)), h3, fourth)[:, :10]
        h4 = h4.view(len(x), -1, 10).transpose(1, 2).reshape(len(x), -1)
        ctx.save_for_backward(x, first, h1, second, h2, third, b3.float(), fourth, h4)
        return h4

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        kernels = triton_module("cifar")
        x, first, h1, second, h2, third, b3, fourth, h4 = ctx.saved_tensors
        n = len(x)
        g2, g3, (w4, b2, b3, b4) = kernels.last_backward(
            h2, third, b3, fourth, h4, grad.contiguous()
        )
        w3 = torch.mm(h2.t(), g3)  # (96, 192)
        _, w2, _ = torch.ops.aten.convolution_backward(
            _as_images(g2, n, 14),
            _as_images(h1, n, 30),
            second,
            None,
            [2, 2],
            [0, 0],
            [1, 1],
            False,
            [0, 0],
            1,
            [False, True, False],
        )
        by_tap = second.permute(2, 3, 0, 1).reshape(-1, 96)  # (3 * 3 * out, in)
        w1 = kernels.first_backward(g2, by_tap, x, first)
        return (
            None,
            w1[:27].t().reshape(96, 3, 3, 3),
            w1[27],
            w2.float(),
            b2,
            w3.t().float()[..., None, None],
            b3,
            w4[:, :10].t()[..., None, None],
            b4[:10],
        )


def _as_images(table: Tensor, n: int, side: int) -> Tensor:
    """A table of one row a pixel as ``n`` images, channels last."""
    return table.view(n, side, side, -1).permute(0, 3, 1, 2)
