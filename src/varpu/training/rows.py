"""Rows on the device: the one table all members share, and which rows each batch takes."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from varpu.training.draws import permutations
from varpu.training.members import RowNumbers


class DeviceRows:
    """The table, resident on the device in the type it came in (uint8 images stay uint8).

    Parameters
    ----------
    X : Tensor of shape (n, ...)
    prepare : function, optional
        From stored rows to what the networks take; it is applied to every batch.
    weight : Tensor of shape (n,), optional
        Of the rows, for a supervised risk.
    """

    def __init__(
        self,
        X: Tensor,
        prepare: Callable[[Tensor], Tensor] | None = None,
        weight: Tensor | None = None,
    ) -> None:
        self.X, self.weight = X, weight
        self.prepare = prepare or (lambda rows: rows)

    def __getitem__(self, rows: Tensor) -> Tensor:
        """Rows ``(K, B)`` of the table as inputs ``(K, B, ...)``."""
        taken = self.prepare(self.X.index_select(0, rows.flatten()))
        return taken.reshape(*rows.shape, *taken.shape[1:])


def padded(rows: Sequence[RowNumbers], device: torch.device) -> tuple[Tensor, Tensor]:
    """Row numbers of each member as one table ``(K, longest)``, and their true lengths ``(K,)``."""
    lengths = [len(member) for member in rows]
    table = np.zeros((len(rows), max(lengths)), dtype=np.int64)
    for line, member in zip(table, rows, strict=True):
        line[: len(member)] = member
    return torch.from_numpy(table).to(device), torch.tensor(lengths, device=device)


class RowStream:
    """Batches of one side (P or U): slices of permutations that are made on the device.

    A permutation is used up to its last full batch, then the next begins, as a shuffled loader
    without its last incomplete batch would do. A side smaller than a batch repeats: each batch is
    then made of whole permutations, the last one cut, so that every row comes equally often.

    Parameters
    ----------
    rows : sequence of int arrays
        The rows of each member.
    batch_size, steps : int
    seeds : Tensor of shape (K,)
    stream : int
    """

    def __init__(
        self, rows: Sequence[RowNumbers], batch_size: int, steps: int, seeds: Tensor, stream: int
    ) -> None:
        self._table, self._lengths = padded(rows, seeds.device)
        self._seeds, self._stream = seeds, stream
        self._shape = (len(rows), steps, batch_size)
        turns = [_turns(len(member), batch_size, steps) for member in rows]
        self._passes = 1 + max(int(turn.max()) for turn, _ in turns)
        width = self._table.shape[1]
        taken = np.stack([turn * width + place for turn, place in turns])
        self._taken = torch.from_numpy(taken).to(seeds.device)

    def epoch(self, epoch: int) -> Tensor:
        """Row numbers of an epoch's batches, shape (steps, K, batch)."""
        order = permutations(
            self._seeds, self._stream, epoch, self._passes, self._lengths, self._table.shape[1]
        )
        places = order.flatten(start_dim=1).gather(1, self._taken)
        return self._table.gather(1, places).reshape(self._shape).transpose(0, 1).contiguous()


def _turns(length: int, batch: int, steps: int) -> tuple[RowNumbers, RowNumbers]:
    """For each slot of an epoch: which permutation it reads, and where in it."""
    step, slot = np.divmod(np.arange(steps * batch), batch)
    if length >= batch:
        full = length // batch
        return step // full, (step % full) * batch + slot
    each = -(-batch // length)
    return step * each + slot // length, slot % length
