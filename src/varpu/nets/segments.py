"""Batch norm over a pass that holds several batches: each batch has its own statistics.

P and U are normalised together and mixed rows by themselves, which would take a forward pass each.
Batch norm is the only layer that minds, so one pass does if it is told where a batch ends.
"""

from collections.abc import Callable, Sequence
from types import MethodType

import torch
from torch import Tensor, nn


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

    def _forward_of(self, kind: type[nn.Module]) -> Callable[[nn.Module, Tensor], Tensor]:
        def forward(layer: nn.Module, x: Tensor) -> Tensor:
            if not layer.training or len(self.sizes) < 2:
                return kind.forward(layer, x)
            return torch.cat([kind.forward(layer, part) for part in x.split(self.sizes)])

        return forward

    def __call__(self, sizes: Sequence[int]) -> None:
        """Set the sizes of the coming pass."""
        self.sizes = list(sizes)
