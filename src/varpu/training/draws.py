"""Random draws as a function of (seed, epoch, position), not of a generator's state.

A draw is a hash of counters. So a member draws the same batches alone or inside a stack of a
hundred, on a CPU or on a GPU, and a resumed run needs no generator state to go on exactly.
"""

import math

import numpy as np
import torch
from torch import Tensor

# Streams keep the draws for different purposes apart.
(
    STREAM_P,
    STREAM_U,
    STREAM_PAIRS,
    STREAM_NOISE,
    STREAM_GAMMA,
    STREAM_CRITIC,
    STREAM_LAYERS,
) = range(7)


def _signed(constant: int) -> int:
    return constant - 2**64 if constant >= 2**63 else constant


# The increment and multipliers of SplitMix64 (Steele, Lea and Flood, 2014).
_INCREMENT = _signed(0x9E3779B97F4A7C15)
_FIRST = _signed(0xBF58476D1CE4E5B9)
_SECOND = _signed(0x94D049BB133111EB)


def _scramble(z: Tensor) -> Tensor:
    z = (z ^ _shift(z, 30)) * _FIRST
    z = (z ^ _shift(z, 27)) * _SECOND
    return z ^ _shift(z, 31)


def _shift(z: Tensor, bits: int) -> Tensor:
    """Shift right without the sign (torch's own shift keeps it)."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def hashed(seeds: Tensor, *counters: Tensor | int) -> Tensor:
    """64 well mixed bits for each combination of a seed and counters, which broadcast."""
    state = _scramble(seeds)
    for counter in counters:
        if isinstance(counter, int):
            offset: Tensor | int = _signed((counter + 1) * _INCREMENT % 2**64)
        else:
            offset = (counter + 1) * _INCREMENT  # wraps, as it should
        state = _scramble(state + offset)
    return state


def permutations(
    seeds: Tensor,
    stream: int,
    epoch: int,
    passes: int,
    lengths: Tensor,
    width: int | None = None,
) -> Tensor:
    """``passes`` permutations of ``range(lengths[k])`` for each member k.

    ``width`` is the largest of the lengths; who knows it need not wait for the device to tell.

    Returns
    -------
    Tensor of shape (K, passes, width)
        Positions past a member's own length are padding and come last.
    """
    device = seeds.device
    width = int(lengths.max()) if width is None else width
    keys = hashed(
        seeds.reshape(-1, 1, 1),
        stream,
        epoch,
        torch.arange(passes, device=device).reshape(1, -1, 1),
        torch.arange(width, device=device),
    )
    padding = torch.arange(width, device=device) >= lengths.reshape(-1, 1, 1)
    return keys.masked_fill_(padding, torch.iinfo(torch.int64).max).argsort(dim=-1)


def normal(seeds: Tensor, counter: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Standard normal draws ``(K, *shape)`` by Box and Muller's transform."""
    count = math.prod(shape)
    position = torch.arange(count, device=seeds.device)
    bits = hashed(seeds.reshape(-1, 1), STREAM_NOISE, counter, position)
    first = ((bits & 0xFFFFFF).float() + 1) / 2**24  # in (0, 1]
    second = (_shift(bits, 32) & 0xFFFFFF).float() / 2**24
    draws = (-2 * first.log()).sqrt() * (2 * math.pi * second).cos()
    return draws.reshape(len(seeds), *shape)


def mixing_weights(seeds: list[int], alpha: float, epochs: int, steps: int) -> Tensor:
    """Beta(alpha, alpha) draws for every step of every epoch, shape (epochs, steps, K)."""
    draws = [
        np.random.default_rng([seed, STREAM_GAMMA]).beta(alpha, alpha, size=(epochs, steps))
        for seed in seeds
    ]
    return torch.from_numpy(np.stack(draws, axis=-1)).float()
