"""Rows from a trained generator, in the units of the table or the images it learned from."""

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

_MADE_AT_ONCE = 8192


def generated_rows(
    generator: nn.Module,
    n_latent: int,
    n_rows: int,
    seed: int,
    device: torch.device,
) -> NDArray[np.float32]:
    """Rows as the networks see them, shape (n_rows, ...); the generator is in evaluation mode."""
    random = torch.Generator().manual_seed(seed)  # on the CPU: the same draws for every device
    own = deepcopy(generator).to(device)  # to move it itself would disturb another thread
    parts = []
    with torch.no_grad():
        for start in range(0, n_rows, _MADE_AT_ONCE):
            n = min(_MADE_AT_ONCE, n_rows - start)
            latent = torch.randn(n, n_latent, generator=random)
            parts.append(own(latent.to(device)).cpu().numpy())
    return np.concatenate(parts)


def in_input_units(
    rows: NDArray[np.float32],
    mean: NDArray[np.float64],
    std: NDArray[np.float64],
    as_bytes: bool,
) -> NDArray[Any]:
    """Columns scaled back to the table's; pixels as bytes where the images were bytes."""
    if rows.ndim == 2:
        return rows * std + mean
    if as_bytes:
        return np.clip(np.rint(rows * 127.5 + 127.5), 0, 255).astype(np.uint8)
    return rows


def spread(made: NDArray[Any], real: NDArray[Any]) -> float:
    """How widely generated rows vary, relative to real ones: the mean over columns that vary.

    Near 1 where a generator varies as widely as its data, near 0 where it has collapsed.
    """
    made, real = (rows.reshape(len(rows), -1).astype(np.float64) for rows in (made, real))
    deviation = real.std(axis=0)
    varies = deviation > 1e-12
    if not varies.any():
        return float("nan")
    return float((made.std(axis=0)[varies] / deviation[varies]).mean())
