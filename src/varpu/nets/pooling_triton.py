"""Pooling of four blocks of columns, and folding of bands, as Triton kernels: one pass each."""

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 1024
_INT32 = 1 << 31  # from so many numbers on, places are counted in 64 bits


@triton.jit
def _numbers(BLOCK: tl.constexpr, LONG: tl.constexpr):
    """The numbers of this program's entries; divisions of 64-bit ones are slow."""
    program = tl.program_id(0)
    if LONG:
        program = program.to(tl.int64)
    return program * BLOCK + tl.arange(0, BLOCK)


@triton.jit
def _max_kernel(blocks, out, total, N: tl.constexpr, BLOCK: tl.constexpr, LONG: tl.constexpr):
    i = _numbers(BLOCK, LONG)
    inside = i < total
    first = blocks + (i // N) * (4 * N) + i % N
    largest = tl.load(first, mask=inside)
    for block in tl.static_range(1, 4):
        largest = tl.maximum(largest, tl.load(first + block * N, mask=inside))
    tl.store(out + i, largest, mask=inside)


@triton.jit
def _spread_kernel(
    blocks, grad, out, total, N: tl.constexpr, BLOCK: tl.constexpr, LONG: tl.constexpr
):
    i = _numbers(BLOCK, LONG)
    inside = i < total
    place = (i // N) * (4 * N) + i % N
    largest = tl.load(blocks + place, mask=inside)
    which = tl.zeros((BLOCK,), tl.int32)
    for block in tl.static_range(1, 4):
        value = tl.load(blocks + place + block * N, mask=inside)
        is_larger = value > largest
        which = tl.where(is_larger, block, which)
        largest = tl.where(is_larger, value, largest)
    own = tl.load(grad + i, mask=inside).to(tl.float32)
    for block in tl.static_range(4):
        tl.store(out + place + block * N, tl.where(which == block, own, 0.0), mask=inside)


@triton.jit
def _fold_kernel(
    bands,
    out,
    total,
    PAIRS: tl.constexpr,
    BANDS: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
    LONG: tl.constexpr,
):
    """Pair ``p`` of lines is the first of band p, the second of p - 1 and the third of p - 2."""
    i = _numbers(BLOCK, LONG)
    image, column = i // (PAIRS * WIDTH), i % WIDTH
    pair = (i // WIDTH) % PAIRS
    value = tl.zeros((BLOCK,), tl.float32)
    for which in tl.static_range(3):
        band = pair - which
        is_there = (i < total) & (band >= 0) & (band < BANDS)
        place = ((image * BANDS + band) * 3 + which) * WIDTH + column
        value += tl.load(bands + place, mask=is_there, other=0.0).to(tl.float32)
    tl.store(out + i, value, mask=i < total)


def max_of_four(blocks: Tensor) -> Tensor:
    """See :func:`varpu.nets.pooling.max_of_four`."""
    n = blocks.shape[-1] // 4
    out = blocks.new_empty(*blocks.shape[:-1], n)
    _max_kernel[_grid(out)](
        blocks, out, out.numel(), N=n, BLOCK=_BLOCK, LONG=blocks.numel() >= _INT32
    )
    return out


def spread_to_largest(blocks: Tensor, grad: Tensor) -> Tensor:
    """See :func:`varpu.nets.pooling.spread_to_largest`."""
    out = torch.empty_like(blocks)
    _spread_kernel[_grid(grad)](
        blocks,
        grad,
        out,
        grad.numel(),
        N=blocks.shape[-1] // 4,
        BLOCK=_BLOCK,
        LONG=blocks.numel() >= _INT32,
    )
    return out


def fold(bands: Tensor, n_pairs: int) -> Tensor:
    """See :func:`varpu.nets.pooling.fold`."""
    *rows, n_bands, _, width = bands.shape
    out = bands.new_empty(*rows, n_pairs, width)
    _fold_kernel[_grid(out)](
        bands,
        out,
        out.numel(),
        PAIRS=n_pairs,
        BANDS=n_bands,
        WIDTH=width,
        BLOCK=_BLOCK,
        LONG=bands.numel() >= _INT32,
    )
    return out


def _grid(out: Tensor) -> tuple[int]:
    return (triton.cdiv(out.numel(), _BLOCK),)
