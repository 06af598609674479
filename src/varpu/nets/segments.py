"""Batch norm over a pass that holds several batches: each batch has its own statistics.

P and U are normalised together and mixed rows by themselves, which would take a forward pass each.
Batch norm is the only layer that minds, so one pass does if it is told where a batch ends. Where
several processes hold a share of the batch each, its statistics are those of the whole batch.
"""

from collections.abc import Callable, Sequence
from types import MethodType

import torch
from torch import Tensor, nn

from varpu.world import World, current_world


class Segments:
    """The sizes of the batches in the pass under way; empty: one batch."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def attach(self, module: nn.Module) -> None:
        """Make the batch norms of ``module`` heed the sizes while they train."""
        for layer in module.modules():
            if isinstance(layer, nn.modules.batchnorm._BatchNorm):
                layer.forward = MethodType(  # type: ignore[method-assign]
                    self._forward_of(type(layer)), layer
                )

    def _forward_of(
        self, kind: type[nn.modules.batchnorm._BatchNorm]
    ) -> Callable[[nn.modules.batchnorm._BatchNorm, Tensor], Tensor]:
        def forward(layer: nn.modules.batchnorm._BatchNorm, x: Tensor) -> Tensor:
            world = current_world()
            if not layer.training or (len(self.sizes) < 2 and world.is_alone):
                return kind.forward(layer, x)
            parts = x.split(self.sizes) if len(self.sizes) > 1 else [x]
            if world.is_alone:
                return torch.cat([kind.forward(layer, part) for part in parts])
            return torch.cat([_normalized(layer, part, world) for part in parts])

        return forward

    def __call__(self, sizes: Sequence[int]) -> None:
        """Set the sizes of the coming pass."""
        self.sizes = list(sizes)


def _normalized(layer: nn.modules.batchnorm._BatchNorm, x: Tensor, world: World) -> Tensor:
    """Batch norm of this process's rows ``(b, C, ...)`` by the statistics of everybody's."""
    dims = [0, *range(2, x.dim())]
    shape = [1, -1, *(1,) * (x.dim() - 2)]
    own = x.new_full((1,), x.numel() / x.shape[1])
    count = world.sum(own)
    mean = world.sum(x.sum(dim=dims)) / count
    centred = x - mean.reshape(shape)
    variance = world.sum(centred.square().sum(dim=dims)) / count
    if layer.track_running_stats:
        _track(layer, mean.detach(), (variance * count / (count - 1)).detach())
    out = centred * torch.rsqrt(variance + layer.eps).reshape(shape)
    if layer.affine:
        out = out * layer.weight.reshape(shape) + layer.bias.reshape(shape)
    return out


def _track(layer: nn.modules.batchnorm._BatchNorm, mean: Tensor, variance: Tensor) -> None:
    """Running statistics, as torch keeps them."""
    assert layer.running_mean is not None
    assert layer.running_var is not None
    assert layer.num_batches_tracked is not None
    layer.num_batches_tracked.add_(1)
    share: float | Tensor | None = layer.momentum
    if share is None:
        share = 1 / layer.num_batches_tracked  # the plain mean of all batches so far
    layer.running_mean.add_(share * (mean - layer.running_mean))
    layer.running_var.add_(share * (variance - layer.running_var))
