"""K LeNet-5 networks as one, by batched products; for training speed on a GPU.

No library has a good kernel for convolutions of so few channels, but matrix products are fast, and
these images are small. Two lines of a convolution's output, pooled to one, depend on six lines of
its input: a band. So a convolution is a product of bands with a matrix that holds its kernel many
times over, between zeros: eight times more arithmetic than is needed, and still ten times faster.
The columns of that matrix may stand in any order, so the four pixels that are pooled become four
blocks, and what comes out is laid line by line, as the next layer's bands are.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from varpu.nets.base import Stack, at_least_float32
from varpu.nets.image import LeNet5
from varpu.nets.pooling import fold, max_of_four, spread_to_largest

_SIZE = 5  # of both kernels
_WINDOW, _STEP = _SIZE + 1, 2  # lines of a band, and how far the next one is
_EPS, _MOMENTUM = 1e-5, 0.1  # of batch norm, torch's defaults
_NAMES = ("0", "1", "2", "5", "6", "8")  # of the layers that hold weights, in LeNet5


class StackedLeNet(Stack):
    """K members of :class:`LeNet5`, inputs ``(K, B, 1, 28, 28)``, logits ``(K, B)``.

    Parameters
    ----------
    members : sequence of LeNet5
        Where the weights come from.
    dtype : torch.dtype, optional
        What products are computed in (float32 or bfloat16); weights and batch norm stay as they
        are in the members.
    """

    most_rows = 1 << 17
    running_mean: Tensor
    running_var: Tensor
    num_batches_tracked: Tensor

    def __init__(self, members: Sequence[LeNet5], dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.n_members = len(members)
        states = [member.state_dict() for member in members]
        stacked = {name: torch.stack([state[name] for state in states]) for name in states[0]}
        self.weights = nn.ParameterList(stacked[f"{name}.weight"] for name in _NAMES)
        self.biases = nn.ParameterList(stacked[f"{name}.bias"] for name in _NAMES)
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            self.register_buffer(name, stacked[f"6.{name}"])
        self.compute_dtype = dtype or self.weights[0].dtype

    def forward(self, x: Tensor, sizes: Sequence[int] = ()) -> Tensor:
        """Logits ``(K, B)`` of images ``(K, B, 1, 28, 28)``."""
        k, n = x.shape[:2]
        lines = pad(x.reshape(k, n, 28, 28).to(self.compute_dtype), (2, 2, 2, 2))
        lines = self._convolution(0, lines.reshape(k, n, 32, 32), n_in=1)  # (K, B, 14, 6 * 14)
        lines = self._convolution(1, lines, n_in=6)  # (K, B, 5, 16 * 5)
        # What LeNet5 flattens channel by channel lies line by line here.
        weight = self.weights[2].transpose(2, 3).reshape(k, 120, 400)
        hidden = torch.relu(self._linear(lines.reshape(k, n, 400), weight, self.biases[2]))
        hidden = self._linear(hidden, self.weights[3], self.biases[3])
        hidden = torch.relu(self._normalized(at_least_float32(hidden), sizes))
        # A log-softmax over two outputs is a log-sigmoid of their difference.
        towards = self.weights[5][:, 1] - self.weights[5][:, 0]  # (K, 84)
        return torch.einsum("kbh,kh->kb", hidden, towards) + (
            self.biases[5][:, 1:] - self.biases[5][:, :1]
        )

    def _convolution(self, layer: int, lines: Tensor, n_in: int) -> Tensor:
        """``relu(max_pool(conv))``: (K, B, height, channels * width) to the same, pooled."""
        k, n, _, across = lines.shape
        weight, bias = self.weights[layer], self.biases[layer]
        n_out, width = weight.shape[1], across // n_in
        out_width = (width - _SIZE + 1) // 2
        entries, places = _layout(n_out, n_in, width, lines.device)
        matrix = _BandMatrix.apply(weight.to(lines.dtype).flatten(1), entries, places)
        bands = _Bands.apply(lines)  # (K, B * out_height, 6 * across)
        pooled = _PooledProduct.apply(
            bands, matrix.view(k, _WINDOW * across, -1), bias.to(lines.dtype), out_width
        )
        return pooled.view(k, n, -1, n_out * out_width)

    def _linear(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        weight, bias = weight.to(x.dtype), bias.to(x.dtype)
        return torch.baddbmm(bias.unsqueeze(1), x, weight.transpose(1, 2))

    def _normalized(self, x: Tensor, sizes: Sequence[int]) -> Tensor:
        """Batch norm; while training, each batch of the pass by its own statistics."""
        if not self.training:
            return self._scaled(x - self.running_mean.unsqueeze(1), self.running_var.unsqueeze(1))
        parts = []
        for part in x.split(list(sizes) or x.shape[1], dim=1):
            variance, mean = torch.var_mean(part, dim=1, correction=0, keepdim=True)
            parts.append(self._scaled(part - mean, variance))
            with torch.no_grad():
                unbiased = variance[:, 0] * (part.shape[1] / (part.shape[1] - 1))
                self.running_mean.lerp_(mean[:, 0], _MOMENTUM)
                self.running_var.lerp_(unbiased, _MOMENTUM)
                self.num_batches_tracked += 1
        return torch.cat(parts, dim=1)

    def _scaled(self, centred: Tensor, variance: Tensor) -> Tensor:
        gain = self.weights[4].unsqueeze(1) * torch.rsqrt(variance + _EPS)
        return torch.addcmul(self.biases[4].unsqueeze(1), centred, gain)

    def states(self) -> list[dict[str, Tensor]]:
        """One ``state_dict`` a member, as :class:`LeNet5` wants it."""
        named: dict[str, Tensor] = {}
        for name, weight, bias in zip(_NAMES, self.weights, self.biases, strict=True):
            named |= {f"{name}.weight": weight, f"{name}.bias": bias}
        named |= {f"6.{name}": value for name, value in self.named_buffers()}
        return [
            {name: value.detach()[k].clone() for name, value in named.items()}
            for k in range(self.n_members)
        ]


@lru_cache(maxsize=32)
def _layout(n_out: int, n_in: int, width: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Where a kernel's weights stand in the matrix of a band.

    Rows of the matrix are the band's pixels (line, channel, column); its columns are output pixels
    (which of the four that are pooled, channel, pooled column).

    Returns
    -------
    entries : (rows * columns,)
        Which weight each entry is; one past the last weight where it is zero.
    places : (weights, times)
        In which entries each weight stands.
    """
    out_width = (width - _SIZE + 1) // 2
    line, c_in, column, py, px, c_out, x = torch.meshgrid(
        *(torch.arange(n) for n in (_WINDOW, n_in, width, 2, 2, n_out, out_width)), indexing="ij"
    )
    dy, dx = line - py, column - (2 * x + px)
    weight = ((c_out * n_in + c_in) * _SIZE + dy) * _SIZE + dx
    inside = (dy >= 0) & (dy < _SIZE) & (dx >= 0) & (dx < _SIZE)
    n_weights = n_out * n_in * _SIZE**2
    entries = torch.where(inside, weight, n_weights).flatten()
    # Stable: the same places in the same order for every weight. Zeros sort to the end.
    order = entries.argsort(stable=True)
    places = order[: int(inside.sum())].view(n_weights, -1)
    return entries.to(device), places.to(device)


class _BandMatrix(torch.autograd.Function):
    """The matrices ``(K, entries)`` of kernels ``(K, weights)``."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, entries: Tensor, places: Tensor) -> Tensor:
        ctx.save_for_backward(places)
        return pad(weight, (0, 1)).index_select(1, entries)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (places,) = ctx.saved_tensors
        taken = grad.index_select(1, places.flatten()).view(len(grad), *places.shape)
        return taken.sum(dim=2), None, None


class _Bands(torch.autograd.Function):
    """Overlapping bands of lines ``(K, B, height, across)``, as ``(K, B * bands, 6 * across)``."""

    @staticmethod
    def forward(ctx: Any, lines: Tensor) -> Tensor:
        k, n, height, _ = ctx.shape = lines.shape
        bands = (height - _WINDOW) // _STEP + 1
        # A copy moves numbers, not bits: 64 of them at a time are fewer than 16.
        wide = lines.contiguous().view(torch.int64)
        of_member, of_image, of_line, one = wide.stride()
        view = wide.as_strided(
            (k, n, bands, _WINDOW * of_line), (of_member, of_image, _STEP * of_line, one)
        )
        return view.reshape(k, n * bands, -1).view(lines.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        k, n, height, across = ctx.shape
        bands = grad.view(k, n, -1, _WINDOW // _STEP, _STEP * across)
        return fold(bands, height // _STEP).view(ctx.shape)


class _PooledProduct(torch.autograd.Function):
    """``relu(max over four blocks of (bands @ matrix) + bias)``, with the backward written out.

    Shapes: bands (K, M, D), matrix (K, D, 4 C W), bias (K, C), the result (K, M, C W).
    """

    @staticmethod
    def forward(ctx: Any, bands: Tensor, matrix: Tensor, bias: Tensor, width: int) -> Tensor:
        product = torch.bmm(bands, matrix)
        largest = max_of_four(product)
        largest += bias.repeat_interleave(width, dim=1).unsqueeze(1)
        largest.relu_()
        ctx.save_for_backward(bands, matrix, product, largest)
        ctx.width = width
        return largest

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        bands, matrix, product, largest = ctx.saved_tensors
        need_bands, need_matrix, need_bias, _ = ctx.needs_input_grad
        grad = torch.ops.aten.threshold_backward(grad, largest, 0)
        at_largest = spread_to_largest(product, grad)
        grad_bands = torch.bmm(at_largest, matrix.transpose(1, 2)) if need_bands else None
        grad_matrix = torch.bmm(bands.transpose(1, 2), at_largest) if need_matrix else None
        grad_bias = None
        if need_bias:
            ones = grad.new_ones(1, 1, 1).expand(len(grad), 1, grad.shape[1])
            sums = torch.bmm(ones, grad)  # a sum over rows: the product does it fastest
            grad_bias = sums.view(len(grad), -1, ctx.width).sum(dim=2)
        return grad_bands, grad_matrix, grad_bias, None
