"""Maxima of four blocks of columns, bands of lines, and their gradients: one pass each on a GPU."""

import torch
from torch import Tensor

from varpu.nets.kernels import triton_module


def max_of_four(blocks: Tensor) -> Tensor:
    """The largest of four blocks, ``(..., 4 n)`` to ``(..., n)``."""
    if blocks.is_cuda and (kernels := triton_module("pooling")):
        return kernels.max_of_four(blocks)
    return blocks.unflatten(-1, (4, -1)).amax(dim=-2)


def spread_to_largest(blocks: Tensor, grad: Tensor) -> Tensor:
    """``grad (..., n)`` where a block is the first of the largest, 0 elsewhere: ``(..., 4 n)``."""
    if blocks.is_cuda and (kernels := triton_module("pooling")):
        return kernels.spread_to_largest(blocks, grad.contiguous())
    four = blocks.unflatten(-1, (4, -1))
    first = four.max(dim=-2, keepdim=True).indices
    out = torch.zeros_like(four).scatter_(-2, first, grad.unsqueeze(-2))
    return out.flatten(-2)


def fold(bands: Tensor, n_pairs: int) -> Tensor:
    """Bands ``(..., bands, 3, n)`` that overlap, summed up to pairs of lines ``(..., pairs, n)``.

    Each pair is the first of one band, the second of the one before and the third of one more
    before.
    """
    if bands.is_cuda and (kernels := triton_module("pooling")):
        return kernels.fold(bands.contiguous(), n_pairs)
    n_bands = bands.shape[-3]
    pairs = bands.new_zeros(*bands.shape[:-3], n_pairs, bands.shape[-1])
    for which in range(3):
        pairs[..., which : which + n_bands, :] += bands[..., which, :]
    return pairs
