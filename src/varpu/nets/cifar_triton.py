"""Triton kernels for CifarCNN's four convolutions, in bfloat16 with float32 sums.

Activations are kept channels last, as tables of one row a pixel: the input ``x`` of shape
(B, 3, 32, 32), ``h1`` (B * 30 * 30, 96), ``h2`` (B * 14 * 14, 96), ``h3`` (.., 192), and ``h4``
(B, 10 * 14 * 14), as the dense layer wants it. All are after their ReLU, and a gradient ``g1``,
``g2``, ``g3`` is that before it.

A width of 96 is 64 and 32 here, since a Triton block has a power of two.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

PATCH = 32  # numbers of a patch: 27 pixels, the constant 1 that carries the bias, and zeros
# Rows of a block, and how many programs share all rows and sum up over theirs: two or four for each
# multiprocessor of an H200, where these were the fastest. A large block reads weights less often,
# a small one has registers to spare.
_SMALL, _LARGE = (64, 528), (128, 264)


@triton.jit
def _patches(x, b, y, column, inside):
    """The 3 x 3 patches of images ``b`` whose upper left corners are given, (rows, 32)."""
    k = tl.arange(0, 32)
    corner = b * 3072 + y * 32 + column
    place = (k // 9) * 1024 + ((k % 9) // 3) * 32 + k % 3
    pixels = tl.load(
        x + corner[:, None] + place[None, :], mask=inside[:, None] & (k < 27)[None, :], other=0.0
    )
    with_one = tl.where((k == 27)[None, :], 1.0, pixels.to(tl.float32))
    return with_one.to(x.dtype.element_ty)


@triton.jit
def _first_kernel(x, w1, h1, n_rows, TILE: tl.constexpr):
    rows = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = rows < n_rows
    pixel = rows % 900
    patches = _patches(x, rows // 900, pixel // 30, pixel % 30, inside)
    k, a, b = tl.arange(0, 32), tl.arange(0, 64), 64 + tl.arange(0, 32)
    out_a = tl.dot(patches, tl.load(w1 + k[:, None] * 96 + a[None, :]))
    out_b = tl.dot(patches, tl.load(w1 + k[:, None] * 96 + b[None, :]))
    out = h1 + rows.to(tl.int64)[:, None] * 96
    dtype = h1.dtype.element_ty
    tl.store(out + a[None, :], tl.maximum(out_a, 0.0).to(dtype), mask=inside[:, None])
    tl.store(out + b[None, :], tl.maximum(out_b, 0.0).to(dtype), mask=inside[:, None])


@triton.jit
def _third_backward_kernel(
    h2, w3, b3, w4, h4, grad, g3, sums, n_rows, PER: tl.constexpr, TILE: tl.constexpr
):
    """``g3``, 64 of its columns a program, and its part of the gradients of w4, b3 and b4.

    ``sums`` is (programs, 192 * 16 + 192 + 3 * 16): the three that share rows each sum up b4's.
    """
    third, program = tl.program_id(0), tl.program_id(1)
    dtype = h2.dtype.element_ty
    a, b = tl.arange(0, 64), 64 + tl.arange(0, 32)
    c, e = third * 64 + tl.arange(0, 64), tl.arange(0, 16)
    w3_a = tl.load(w3 + a[:, None] * 192 + c[None, :])
    w3_b = tl.load(w3 + b[:, None] * 192 + c[None, :])
    w4_c = tl.trans(tl.load(w4 + c[:, None] * 16 + e[None, :]))
    bias = tl.load(b3 + c)[None, :]
    sum_w4 = tl.zeros((64, 16), tl.float32)
    sum_b3 = tl.zeros((64,), tl.float32)
    sum_b4 = tl.zeros((16,), tl.float32)
    for i in range(PER):
        rows = (program * PER + i) * TILE + tl.arange(0, TILE)
        inside = (rows < n_rows)[:, None]
        own = h2 + rows.to(tl.int64)[:, None] * 96
        h2_a = tl.load(own + a[None, :], mask=inside, other=0.0)
        h2_b = tl.load(own + b[None, :], mask=inside, other=0.0)
        h3 = tl.maximum(tl.dot(h2_b, w3_b, tl.dot(h2_a, w3_a)) + bias, 0.0).to(dtype)
        place = ((rows // 196) * 1960 + rows % 196)[:, None] + (e * 196)[None, :]
        is_there = inside & (e < 10)[None, :]
        out = tl.load(h4 + place, mask=is_there, other=0.0).to(tl.float32)
        g4 = tl.load(grad + place, mask=is_there, other=0.0).to(tl.float32)
        g4 = tl.where(out > 0, g4, 0.0)
        sum_b4 += tl.sum(g4, axis=0)
        g4 = g4.to(dtype)
        sum_w4 = tl.dot(tl.trans(h3), g4, sum_w4)
        own_g3 = tl.where(h3.to(tl.float32) > 0, tl.dot(g4, w4_c), 0.0)
        sum_b3 += tl.sum(own_g3, axis=0)
        to = g3 + rows.to(tl.int64)[:, None] * 192 + c[None, :]
        tl.store(to, own_g3.to(dtype), mask=inside)
    own = sums + program * 3312
    tl.store(own + c[:, None] * 16 + e[None, :], sum_w4)
    tl.store(own + 3072 + c, sum_b3)
    tl.store(own + 3264 + third * 16 + e, sum_b4)


@triton.jit
def _second_backward_kernel(g3, w3, h2, g2, sums, n_rows, PER: tl.constexpr, TILE: tl.constexpr):
    """``g2``, and of each program its part of the gradient of b2; ``w3`` is (192, 96) here."""
    program = tl.program_id(0)
    dtype = h2.dtype.element_ty
    k, a, b = tl.arange(0, 64), tl.arange(0, 64), 64 + tl.arange(0, 32)
    sum_a = tl.zeros((64,), tl.float32)
    sum_b = tl.zeros((32,), tl.float32)
    for i in range(PER):
        rows = (program * PER + i) * TILE + tl.arange(0, TILE)
        inside = (rows < n_rows)[:, None]
        long = rows.to(tl.int64)[:, None]
        g2_a = tl.zeros((TILE, 64), tl.float32)
        g2_b = tl.zeros((TILE, 32), tl.float32)
        for t in range(3):
            part = tl.load(g3 + long * 192 + (t * 64 + k)[None, :], mask=inside, other=0.0)
            weight = w3 + (t * 64 + k)[:, None] * 96
            g2_a = tl.dot(part, tl.load(weight + a[None, :]), g2_a)
            g2_b = tl.dot(part, tl.load(weight + b[None, :]), g2_b)
        h2_a = tl.load(h2 + long * 96 + a[None, :], mask=inside, other=0.0).to(tl.float32)
        h2_b = tl.load(h2 + long * 96 + b[None, :], mask=inside, other=0.0).to(tl.float32)
        g2_a = tl.where(h2_a > 0, g2_a, 0.0)
        g2_b = tl.where(h2_b > 0, g2_b, 0.0)
        sum_a += tl.sum(g2_a, axis=0)
        sum_b += tl.sum(g2_b, axis=0)
        tl.store(g2 + long * 96 + a[None, :], g2_a.to(dtype), mask=inside)
        tl.store(g2 + long * 96 + b[None, :], g2_b.to(dtype), mask=inside)
    tl.store(sums + program * 96 + a, sum_a)
    tl.store(sums + program * 96 + b, sum_b)


@triton.jit
def _first_backward_kernel(
    g2,
    w2,
    x,
    w1,
    sums,
    n_rows,
    PER: tl.constexpr,
    PY: tl.constexpr,
    PX: tl.constexpr,
    TILE: tl.constexpr,
):
    """From ``g2`` to the gradient of w1, through pixels of h1 in lines 2 i + PY, columns 2 j + PX.

    The gradient of h1 itself, the largest table of all, never leaves the processor; which of its
    pixels the ReLU cut off is computed anew from the image. ``w2`` is (3 * 3, out, in).
    """
    program = tl.program_id(0)
    dtype = x.dtype.element_ty
    k, a, b = tl.arange(0, 32), tl.arange(0, 64), 64 + tl.arange(0, 32)
    w1_a = tl.load(w1 + k[:, None] * 96 + a[None, :])
    w1_b = tl.load(w1 + k[:, None] * 96 + b[None, :])
    sum_a = tl.zeros((32, 64), tl.float32)
    sum_b = tl.zeros((32, 32), tl.float32)
    across: tl.constexpr = 2 - PX
    taps: tl.constexpr = (2 - PY) * (2 - PX)
    for step in range(PER):
        rows = (program * PER + step) * TILE + tl.arange(0, TILE)
        image = rows // 225
        i, j = (rows % 225) // 15, rows % 15
        g1_a = tl.zeros((TILE, 64), tl.float32)
        g1_b = tl.zeros((TILE, 32), tl.float32)
        for t in range(taps * 3):
            up, left = (t // 3) // across, (t // 3) % across
            y, column = i - up, j - left
            inside = (rows < n_rows) & (y >= 0) & (y < 14) & (column >= 0) & (column < 14)
            channel = (t % 3) * 32 + k
            pixel = (image * 196 + y * 14 + column).to(tl.int64)
            g2_part = tl.load(
                g2 + pixel[:, None] * 96 + channel[None, :], mask=inside[:, None], other=0.0
            )
            tap = (PY + 2 * up) * 3 + PX + 2 * left
            weight = w2 + (tap * 96 + channel)[:, None] * 96
            g1_a = tl.dot(g2_part, tl.load(weight + a[None, :]), g1_a)
            g1_b = tl.dot(g2_part, tl.load(weight + b[None, :]), g1_b)
        patches = _patches(x, image, 2 * i + PY, 2 * j + PX, rows < n_rows)
        g1_a = tl.where(tl.dot(patches, w1_a) > 0, g1_a, 0.0).to(dtype)
        g1_b = tl.where(tl.dot(patches, w1_b) > 0, g1_b, 0.0).to(dtype)
        across_rows = tl.trans(patches)
        sum_a = tl.dot(across_rows, g1_a, sum_a)
        sum_b = tl.dot(across_rows, g1_b, sum_b)
    own = sums + program * 3072 + k[:, None] * 96
    tl.store(own + a[None, :], sum_a)
    tl.store(own + b[None, :], sum_b)


def first(x: Tensor, w1: Tensor) -> Tensor:
    """``h1`` from images and weights of shape (32, 96), the bias in line 27."""
    n_rows = len(x) * 900
    h1 = x.new_empty(n_rows, 96)
    tile, _ = _SMALL
    _first_kernel[(triton.cdiv(n_rows, tile),)](x, w1, h1, n_rows, TILE=tile)
    return h1


def last_backward(
    h2: Tensor, w3: Tensor, b3: Tensor, w4: Tensor, h4: Tensor, grad: Tensor
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """``g2``, ``g3``, and the gradients of w4, b2, b3 and b4."""
    n_rows = len(h2)
    g2, g3 = torch.empty_like(h2), h2.new_empty(n_rows, 192)
    programs, per, tile = _shares(n_rows, *_SMALL)
    sums = torch.empty(programs, 3312, dtype=torch.float32, device=h2.device)
    _third_backward_kernel[(3, programs)](
        h2, w3, b3, w4, h4, grad, g3, sums, n_rows, PER=per, TILE=tile
    )
    programs, per, tile = _shares(n_rows, *_LARGE)
    sums_b2 = torch.empty(programs, 96, dtype=torch.float32, device=h2.device)
    _second_backward_kernel[(programs,)](
        g3, w3.t().contiguous(), h2, g2, sums_b2, n_rows, PER=per, TILE=tile
    )
    w4_grad, b3_grad, b4_grad, _ = sums.sum(dim=0).split([3072, 192, 16, 32])
    return g2, g3, [w4_grad.view(192, 16), sums_b2.sum(dim=0), b3_grad, b4_grad]


def first_backward(g2: Tensor, w2: Tensor, x: Tensor, w1: Tensor) -> Tensor:
    """The gradient of w1, (32, 96), from ``g2`` and w2 of shape (3 * 3 * 96 out, 96 in)."""
    n_rows = len(x) * 225
    programs, per, tile = _shares(n_rows, *_LARGE)
    sums = torch.empty(4, programs, PATCH, 96, dtype=torch.float32, device=x.device)
    for i, part in enumerate(sums):
        _first_backward_kernel[(programs,)](
            g2, w2, x, w1, part, n_rows, PER=per, PY=i // 2, PX=i % 2, TILE=tile
        )
    return sums.sum(dim=(0, 1))


def _shares(n_rows: int, tile: int, most: int) -> tuple[int, int, int]:
    """How many programs, at most so many, how many tiles each, and of how many rows."""
    tiles = triton.cdiv(n_rows, tile)
    per = triton.cdiv(tiles, most)
    return triton.cdiv(tiles, per), per, tile
