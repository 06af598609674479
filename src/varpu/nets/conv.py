"""Convolutions in the form that is fast for the shapes at hand; the function is the plain one.

State dictionaries are those of ``nn.Conv2d``.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

_PATCH_WIDTH = 32  # what the matrix units like, and room for 3 x 3 patches of three colours


class DenseConv(nn.Conv2d):
    """A convolution whose kernel covers its whole input: one product, not a search for a kernel."""

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of shape (B, C, 1, 1)."""
        out = nn.functional.linear(x.flatten(1), self.weight.flatten(1), self.bias)
        return out[..., None, None]


class ConvReLU(nn.Conv2d):
    """``relu(conv(x))`` without padding.

    On a GPU the bias and the ReLU are applied as the product leaves the matrix units, which saves
    two passes over the activations: for wide, shallow networks the larger part of a step. An input
    layer of few channels, for which cuDNN has no good kernel, becomes a product of patches.
    """

    def __init__(self, n_in: int, n_out: int, kernel_size: int, stride: int = 1) -> None:
        super().__init__(n_in, n_out, kernel_size, stride=stride)

    def forward(self, x: Tensor) -> Tensor:
        """The activations, shape (B, C, H, W)."""
        if not x.is_cuda:
            return torch.relu(super().forward(x))
        dtype = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else x.dtype
        assert self.bias is not None
        x, weight, bias = x.to(dtype), self.weight.to(dtype), self.bias.to(dtype)
        is_thin = weight[0].numel() < _PATCH_WIDTH and not x.requires_grad
        fused = _Patches if is_thin else _Fused
        return fused.apply(x, weight, bias, self.stride)


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


class _Patches(torch.autograd.Function):
    """The same as a product of patches; for inputs that need no gradient.

    A patch is padded to 32 numbers, the first spare one being 1: so the product that gives the
    weight's gradient gives the bias's too.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, stride: Any) -> Tensor:
        n_out, n_in, height, width = weight.shape
        size = n_in * height * width
        patches = x.unfold(2, height, stride[0]).unfold(3, width, stride[1])
        patches = patches.permute(0, 2, 3, 1, 4, 5)  # (B, H, W, C, kh, kw)
        rows = x.new_zeros(*patches.shape[:3], _PATCH_WIDTH)
        rows[..., :size].unflatten(-1, patches.shape[3:]).copy_(patches)
        rows[..., size] = 1
        padded = weight.new_zeros(_PATCH_WIDTH, n_out)
        padded[:size] = weight.flatten(1).t()
        out = torch._addmm_activation(bias, rows.flatten(0, 2), padded)  # relu(rows @ padded + b)
        out = out.unflatten(0, rows.shape[:3])  # (B, H, W, C): channels last
        ctx.save_for_backward(rows, out)
        ctx.shape = weight.shape
        return out.permute(0, 3, 1, 2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, out = ctx.saved_tensors
        grad = torch.ops.aten.threshold_backward(grad.permute(0, 2, 3, 1), out, 0)
        # One product an image, then a sum: one product over all would keep few units busy.
        product = torch.bmm(rows.flatten(1, 2).transpose(1, 2), grad.flatten(1, 2))
        exact = torch.promote_types(grad.dtype, torch.float32)  # bfloat16 would lose in the sum
        product = product.sum(dim=0, dtype=exact).to(grad.dtype)
        size = ctx.shape[1:].numel()
        return None, product[:size].t().reshape(ctx.shape), product[size], None
