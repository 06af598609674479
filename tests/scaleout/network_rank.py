"""A process of torchrun that trains a network on a stream with the others.

torchrun --standalone --nproc-per-node 2 network_rank.py FILE FOLDER
"""

import sys
from pathlib import Path

import numpy as np
import torch

from varpu.scaleout.networks import fit_network_stream
from varpu.scaleout.parquet import ParquetRows
from varpu.world import joined_world


class Uneven(ParquetRows):
    """All rows but those of two row groups are the first process's."""

    def shard_units(self, rank, size):
        if size == 1:
            return list(self.units)
        return self.units[2:] if rank == 0 else self.units[:2]


def fit(rows, passes):
    return fit_network_stream(rows, passes=passes, device="cpu", random_state=0, progress=False)


def main():
    file, folder = map(Path, sys.argv[1:])
    torch.set_num_threads(1)
    rows = ParquetRows(file, label="known", random_state=0)
    encoded = rows.held_out_rows().frame
    with joined_world() as world:
        model = fit(rows, 6)
        few = fit(Uneven(file, label="known", random_state=0), 1)
    np.savez(
        folder / f"{world.rank}.npz",
        scores=model.decision_function(encoded),
        loss=model.held_out_loss_,
        few=few.held_out_loss_,
    )
    if world.is_first:
        np.savez(folder / "alone.npz", loss=fit(rows, 6).held_out_loss_)


if __name__ == "__main__":
    main()
