"""Convolutions in the form that is fast for the shapes at hand; the function is the plain one.

State dictionaries are those of ``nn.Conv2d``.
"""

from functools import lru_cache
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


class ConvPoolReLU(nn.Conv2d):
    """``relu(max_pool(conv(x)))`` of small images with few channels, pooled two by two.

    The matrix that a convolution is, one row an input pixel and one column an output pixel, is
    mostly zeros. For small images it is small too, and on a GPU one dense product with it, thirty
    times more than is needed, beats the kernels that exist for so few channels. Its columns may
    stand in any order: so the four pixels that are pooled become four blocks.
    """

    def __init__(self, n_in: int, n_out: int, kernel_size: int, padding: int = 0) -> None:
        super().__init__(n_in, n_out, kernel_size, padding=padding)

    def forward(self, x: Tensor) -> Tensor:
        """The activations, shape (B, C, H, W)."""
        if not x.is_cuda:
            return torch.relu(nn.functional.max_pool2d(super().forward(x), 2))
        assert self.bias is not None
        dtype = _dtype(x)
        return _pooled_product(
            x.to(dtype), self.weight.to(dtype), self.bias.to(dtype), int(self.padding[0])
        )


def _pooled_product(x: Tensor, weight: Tensor, bias: Tensor, padding: int) -> Tensor:
    """``relu(max_pool(conv(x)))`` by one product, in plain torch."""
    _, _, height, width = x.shape
    size = weight.shape[2]
    out_height, out_width = ((side + 2 * padding - size + 1) // 2 for side in (height, width))
    places = _places(tuple(weight.shape), padding, height, width, x.device)
    matrix = _ConvMatrix.apply(weight, places, x[0].numel())
    n_pooled = out_height * out_width
    bias = bias.reshape(-1, 1).expand(4, -1, n_pooled).flatten()
    product = torch.addmm(bias, x.flatten(1), matrix)  # (B, 4 C H W)
    # Of equal pixels the first is taken, as by max_pool2d.
    largest = product.unflatten(1, (4, -1)).max(dim=1).values
    return torch.relu(largest).unflatten(1, (-1, out_height, out_width))


class _ConvMatrix(torch.autograd.Function):
    """The matrix of a convolution, (input pixels, output pixels), from its weights."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, places: Tensor, n_rows: int) -> Tensor:
        n_columns = weight.shape[0] * places.shape[1]
        # One entry more than the matrix has: there go the weights that meet the padding.
        entries = weight.new_zeros(n_rows * n_columns + 1)
        entries[places] = weight.reshape(-1, 1).expand(places.shape)
        ctx.save_for_backward(places)
        ctx.shape = weight.shape
        return entries[:-1].view(n_rows, n_columns)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (places,) = ctx.saved_tensors
        outside = places == grad.numel()
        own = grad.flatten()[places.masked_fill(outside, 0)].masked_fill_(outside, 0)
        return own.sum(dim=1).reshape(ctx.shape), None, None


@lru_cache(maxsize=32)
def _places(
    shape: tuple[int, ...], padding: int, height: int, width: int, device: torch.device
) -> Tensor:
    """Where in the matrix each weight stands for each output pixel, (weights, pixels).

    Output pixels in the order in which they are pooled: all that are first in their square of
    four, then all that are second, and so on. A last odd line or column is left out, as by pooling.
    """
    n_out, n_in, size, _ = shape
    out = [(side + 2 * padding - size + 1) // 2 for side in (height, width)]
    c_out, c_in, dy, dx, py, px, y, x = torch.meshgrid(
        *(torch.arange(n) for n in (n_out, n_in, size, size, 2, 2, *out)), indexing="ij"
    )
    in_y, in_x = 2 * y + py + dy - padding, 2 * x + px + dx - padding
    row = (c_in * height + in_y) * width + in_x
    column = (((2 * py + px) * n_out + c_out) * out[0] + y) * out[1] + x
    n_columns = 4 * n_out * out[0] * out[1]
    inside = (in_y >= 0) & (in_y < height) & (in_x >= 0) & (in_x < width)
    nowhere = n_in * height * width * n_columns
    places = torch.where(inside, row * n_columns + column, nowhere)
    return places.reshape(n_out * n_in * size * size, -1).to(device)


def _dtype(x: Tensor) -> torch.dtype:
    """What products of ``x`` are to be computed in."""
    return torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else x.dtype


class ConvReLU(nn.Conv2d):
    """``relu(conv(x))`` without padding.

    On a GPU the bias and the ReLU are applied as the product leaves the matrix units, which saves
    two passes over the activations: for wide, shallow networks the larger part of a step. An input
    layer of few channels, for which cuDNN has no good kernel, becomes a product of patches.

    Parameters
    ----------
    n_in, n_out, kernel_size, stride : int
    blocks : bool
        Whether a GPU may hand on each 2 x 2 block of pixels as one pixel of four times the
        channels, if the input is thin. The next layer must then be a ``ConvReLU`` of stride 2 and
        at most 4 x 4: on such input it is one of stride 1, for which cuDNN's kernels are faster.
    """

    def __init__(
        self, n_in: int, n_out: int, kernel_size: int, stride: int = 1, blocks: bool = False
    ) -> None:
        super().__init__(n_in, n_out, kernel_size, stride=stride)
        self._blocks = blocks

    def forward(self, x: Tensor) -> Tensor:
        """The activations, shape (B, C, H, W)."""
        if not x.is_cuda:
            return torch.relu(super().forward(x))
        assert self.bias is not None
        dtype = _dtype(x)
        x, weight, bias = x.to(dtype), self.weight.to(dtype), self.bias.to(dtype)
        if weight[0].numel() < _PATCH_WIDTH and not x.requires_grad:
            return _Patches.apply(x, weight, bias, self.stride, self._blocks)
        if x.shape[1] == 4 * self.in_channels:
            return _Fused.apply(x, _blocked(weight), bias, (1, 1))
        return _Fused.apply(x, weight, bias, self.stride)


def _blocked(weight: Tensor) -> Tensor:
    """The kernel, of stride 2, as one of stride 1 for inputs of 2 x 2 blocks."""
    n_out, n_in, size, _ = weight.shape
    padded = nn.functional.pad(weight, (0, 4 - size, 0, 4 - size))
    blocks = padded.reshape(n_out, n_in, 2, 2, 2, 2)  # y and x: block, then pixel in it
    blocks = blocks.permute(0, 3, 5, 1, 2, 4).reshape(n_out, 4 * n_in, 2, 2)
    return blocks.contiguous(memory_format=torch.channels_last)


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
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, stride: Any, blocks: bool
    ) -> Tensor:
        shape = tuple(weight.shape)
        _, _, height, width = x.shape
        out_shape = [
            (side - shape[2]) // step + 1 for side, step in zip(x.shape[2:], stride, strict=True)
        ]
        blocks = blocks and not (out_shape[0] % 2 or out_shape[1] % 2)
        taken = _taken(shape, tuple(stride), height, width, blocks, x.device)
        constants = x.new_zeros(len(x), 1), x.new_ones(len(x), 1)
        rows = torch.cat([x.flatten(1), *constants], dim=1).index_select(1, taken)
        rows = rows.view(len(x), -1, _PATCH_WIDTH)  # (B, pixels, patch)
        size = weight[0].numel()
        padded = weight.new_zeros(_PATCH_WIDTH, len(weight))
        padded[:size] = weight.flatten(1).t()
        out = torch._addmm_activation(bias, rows.flatten(0, 1), padded)  # relu(rows @ padded + b)
        out = out.view(len(x), -1, len(weight))
        ctx.save_for_backward(rows, out)
        ctx.shape = weight.shape
        if blocks:
            out_shape = [side // 2 for side in out_shape]
        return out.view(len(x), *out_shape, -1).permute(0, 3, 1, 2)  # channels last

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        rows, out = ctx.saved_tensors
        grad = torch.ops.aten.threshold_backward(
            grad.permute(0, 2, 3, 1).reshape(out.shape), out, 0
        )
        # One product an image, then a sum: one product over all would keep few units busy.
        product = torch.bmm(rows.transpose(1, 2), grad)
        exact = torch.promote_types(grad.dtype, torch.float32)  # bfloat16 would lose in the sum
        product = product.sum(dim=0, dtype=exact).to(grad.dtype)
        size = ctx.shape[1:].numel()
        return None, product[:size].t().reshape(ctx.shape), product[size], None, None


@lru_cache(maxsize=32)
def _taken(
    shape: tuple[int, ...],
    stride: tuple[int, int],
    height: int,
    width: int,
    blocks: bool,
    device: torch.device,
) -> Tensor:
    """Which input pixels, a 0 and a 1 at their end, make the patches; pixel by output pixel.

    With ``blocks`` the four output pixels of a 2 x 2 block stand together.
    """
    _, n_in, size, _ = shape
    y = torch.arange((height - size) // stride[0] + 1)
    x = torch.arange((width - size) // stride[1] + 1)
    pixels = torch.cartesian_prod(y, x).view(len(y), len(x), 2)
    if blocks:
        pixels = pixels.view(len(y) // 2, 2, len(x) // 2, 2, 2).transpose(1, 2)
    pixels = pixels.reshape(-1, 1, 2)
    channel, dy, dx = torch.cartesian_prod(*map(torch.arange, (n_in, size, size))).unbind(1)
    in_y, in_x = pixels[..., 0] * stride[0] + dy, pixels[..., 1] * stride[1] + dx
    taken = torch.full((len(pixels), _PATCH_WIDTH), n_in * height * width)
    taken[:, : len(channel)] = (channel * height + in_y) * width + in_x
    taken[:, len(channel)] = n_in * height * width + 1
    return taken.flatten().to(device)
