"""K multilayer perceptrons as one: a batched product a layer, for training speed.

Three things make it quick, on a GPU and on a CPU alike, and none of them changes the function:

* all members share one batched product a layer;
* widths are padded to a multiple of 16 with units that stay zero, which is what vector and matrix
  units want (300 units are slower than 304);
* the bias is a row of the weight: one spare unit is the constant 1, so the product adds the bias
  and its backward gives the bias gradient, and neither costs a pass over the activations.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from varpu.nets.base import Stack
from varpu.nets.mlp import MLP

_MULTIPLE = 16


def _padded(width: int) -> int:
    """The stored width of a layer: its units, the constant 1, and padding."""
    return -(-(width + 1) // _MULTIPLE) * _MULTIPLE


class StackedMLP(Stack):
    """K members of :class:`MLP` with equal layers, inputs ``(K, B, d)``, logits ``(K, B)``.

    Parameters
    ----------
    members : sequence of MLP
        Where the weights come from.
    dtype : torch.dtype, optional
        What products are computed in (float32 or bfloat16); weights, their gradients and logits
        stay in the members' own type.
    """

    def __init__(self, members: Sequence[MLP], dtype: torch.dtype | None = None) -> None:
        super().__init__()
        linears = [member.linears() for member in members]
        self.n_members = len(members)
        self.shapes = [(layer.in_features, layer.out_features) for layer in linears[0]]
        self.weights = nn.ParameterList(
            _stack_layer([layers[i] for layers in linears], last=i == len(self.shapes) - 1)
            for i in range(len(self.shapes))
        )
        self.ones = [n_out for _, n_out in self.shapes[:-1]]
        self.compute_dtype = dtype or self.weights[0].dtype
        self._workspace = _Workspace()

    def forward(self, x: Tensor, sizes: Sequence[int] = ()) -> Tensor:
        """Logits ``(K, B)`` of inputs ``(K, B, d)``; no layer minds where a batch ends."""
        width = self.weights[0].shape[1]
        x = pad(x.to(self.compute_dtype), (0, width - x.shape[-1]))
        x[..., self.shapes[0][0]] = 1  # the constant input that carries the first bias
        out = _Chain.apply(x, self, torch.is_grad_enabled(), *self.weights)
        # A log-softmax over two outputs is a log-sigmoid of their difference.
        return out[..., 1] - out[..., 0]

    @torch.no_grad()
    def restore_constants(self) -> None:
        """The constant unit of each layer is made from that of the layer below by a weight of 1."""
        for (n_in, n_out), weight in zip(self.shapes[:-1], self.weights[:-1], strict=True):
            weight[:, n_in, n_out] = 1

    def states(self) -> list[dict[str, Tensor]]:
        """One ``state_dict`` a member, as :class:`MLP` wants it."""
        states: list[dict[str, Tensor]] = [{} for _ in range(self.n_members)]
        for i, ((n_in, n_out), weight) in enumerate(zip(self.shapes, self.weights, strict=True)):
            for state, member in zip(states, weight.detach(), strict=True):
                state[f"{2 * i}.weight"] = member[:n_in, :n_out].t().clone()
                state[f"{2 * i}.bias"] = member[n_in, :n_out].clone()
        return states


def _stack_layer(layers: Sequence[nn.Linear], last: bool) -> nn.Parameter:
    """Weights ``(K, padded in, padded out)``, the bias as the row after the inputs'."""
    n_in, n_out = layers[0].in_features, layers[0].out_features
    weight = layers[0].weight
    stacked = weight.new_zeros(len(layers), _padded(n_in), n_out if last else _padded(n_out))
    stacked[:, :n_in, :n_out] = torch.stack([layer.weight.detach().t() for layer in layers])
    stacked[:, n_in, :n_out] = torch.stack([layer.bias.detach() for layer in layers])
    if not last:
        stacked[:, n_in, n_out] = 1  # one in, one out: relu(1) = 1
    return nn.Parameter(stacked)


class _Workspace:
    """Activation buffers handed out and taken back, so that a CPU step touches no new memory.

    A fresh tensor of a few megabytes is fresh pages from the system, and faulting them in costs
    as much as the product that fills them. A GPU's allocator does this by itself.
    """

    def __init__(self) -> None:
        self._free: dict[tuple[Any, ...], list[Tensor]] = defaultdict(list)

    def take(self, shape: tuple[int, ...], like: Tensor) -> Tensor:
        free = self._free[(shape, like.dtype)] if like.device.type == "cpu" else []
        return free.pop() if free else like.new_empty(shape)

    def give(self, buffer: Tensor) -> None:
        if buffer.device.type == "cpu":
            self._free[(tuple(buffer.shape), buffer.dtype)].append(buffer)

    def __deepcopy__(self, memo: dict[int, Any]) -> "_Workspace":
        return _Workspace()


class _Chain(torch.autograd.Function):
    """The whole chain of products and ReLUs, with the backward written out.

    Shapes: ``x`` is (K, B, D), ``weights[i]`` (K, H_i, H_i+1), the result (K, B, 2).
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, stack: StackedMLP, keep: bool, *weights: Tensor) -> Tensor:
        take = stack._workspace.take
        weights = tuple(weight.to(x.dtype) for weight in weights)
        hidden = [x]
        for weight in weights[:-1]:
            out = take((*x.shape[:2], weight.shape[2]), x)
            torch.bmm(hidden[-1], weight, out=out)
            hidden.append(out.relu_())
        ctx.stack, ctx.hidden, ctx.weights = stack, hidden, weights
        ctx.result_dtype = stack.weights[0].dtype
        result = _bmm_to(hidden[-1], weights[-1], ctx.result_dtype)
        if not keep:  # nobody will ask for a gradient
            _release(ctx)
        return result

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.hidden is None:
            raise RuntimeError("the activations of this pass are gone: backward was called before")
        take, give = ctx.stack._workspace.take, ctx.stack._workspace.give
        hidden, weights = ctx.hidden, ctx.weights
        need_x, _, _, *need_weights = ctx.needs_input_grad
        grad = grad.to(hidden[0].dtype)
        out: list[Tensor | None] = [None] * len(weights)
        for i in reversed(range(len(weights))):
            if need_weights[i]:
                out[i] = _bmm_to(hidden[i].transpose(1, 2), grad, ctx.result_dtype)
            if i == 0:
                break
            down = take(tuple(hidden[i].shape), grad)
            torch.bmm(grad, weights[i].transpose(1, 2), out=down)
            torch.ops.aten.threshold_backward.grad_input(down, hidden[i], 0, grad_input=down)
            down[..., ctx.stack.ones[i - 1]] = 0  # the constant unit does not learn
            if i < len(weights) - 1:
                give(grad)
            grad = down
        grad_x = torch.bmm(grad, weights[0].transpose(1, 2)) if need_x else None
        if len(weights) > 1:
            give(grad)
        _release(ctx)
        return grad_x, None, None, *out


def _release(ctx: Any) -> None:
    for buffer in ctx.hidden[1:]:
        ctx.stack._workspace.give(buffer)
    ctx.hidden = ctx.weights = None


def _bmm_to(a: Tensor, b: Tensor, dtype: torch.dtype) -> Tensor:
    """``a @ b`` in ``dtype``: the matrix units accumulate in float32, so do not round it away."""
    if a.dtype == dtype:
        return torch.bmm(a, b)
    if a.is_cuda:
        return torch.bmm(a, b, out_dtype=dtype)
    return torch.bmm(a, b).to(dtype)
