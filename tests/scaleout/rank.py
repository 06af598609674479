"""One process of a group that fits together; started by test_trees.py, several at a time.

    python rank.py RANK SIZE FOLDER CASE...

What each case gives is written to FOLDER. Processes speak through files there, so that no other
library than XGBoost takes part.
"""

import hashlib
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

from varpu.boosting import xgboost_growing
from varpu.boosting.objective import variational_derivatives
from varpu.exceptions import PUInputError, VarpuError
from varpu.scaleout.parquet import ParquetRows
from varpu.scaleout.trees import _joined, fit_trees_stream

SETTINGS = {"max_rounds": 6, "max_depth": 3, "colsample_bytree": 1.0, "n_jobs": 1}


class FolderWorld:
    """Values go round as files: each process writes its own and waits for the others'."""

    def __init__(self, rank, size, folder):
        self.rank, self.size, self.is_alone = rank, size, size == 1
        self._folder, self._step = folder, 0

    def all_of(self, value):
        self._step += 1
        partial = self._folder / f"partial-{self.rank}"
        partial.write_text(json.dumps(value))
        partial.rename(self._folder / f"said-{self._step}-{self.rank}")
        return [self._heard(rank) for rank in range(self.size)]

    def _heard(self, rank):
        path = self._folder / f"said-{self._step}-{rank}"
        until = time.monotonic() + 60
        while not path.exists():
            if time.monotonic() > until:
                raise TimeoutError(f"process {rank} says nothing")
            time.sleep(0.01)
        return json.loads(path.read_text())

    def from_first(self, value):
        return self.all_of(value)[0]

    def agree(self, trouble):
        found = [text for text in self.all_of(trouble) if text]
        if found:
            raise PUInputError("; ".join(found))


def derivatives(world, folder):
    """Of uneven parts of a table: the last process has no labelled row."""
    whole = np.load(folder / "objective.npz")
    ends = [0, *[7, 40][: world.size - 1], len(whole["scores"])]
    own = slice(ends[world.rank], ends[world.rank + 1])
    with _joined(world) as total:
        found = variational_derivatives(
            *(whole[name][own] for name in ("scores", "weight_p", "weight_u")), total=total
        )
    return [part.tolist() for part in found]


def fit(world, folder, name="table"):
    rows = ParquetRows(folder / f"{name}.parquet", label="labelled")
    model = fit_trees_stream(rows, world=world, folder=folder, **SETTINGS)
    own = sum(
        int(part.sum()) for _, part in rows.blocks(epoch=None, shard=(world.rank, world.size))
    )
    return {
        "booster": hashlib.sha256(model.booster_.save_raw("ubj")).hexdigest(),
        "history": model.history_["held_out_loss"].tolist(),
        "log_mean": model._grown.log_mean,
        "prior": model.prior_,
        "scores": model.log_ratio(rows.positives()).tolist(),
        "left": [path.name for path in folder.glob("varpu-*")] if world.is_alone else [],
        "positives": world.all_of(own),
    }


def sorted_fit(world, folder):
    """All labelled rows lie in one row group, so one process has them all."""
    return fit(world, folder, "sorted")


def columns(world, folder):
    other = "other.parquet" if world.rank == 1 else "table.parquet"
    rows = ParquetRows(folder / other, label="labelled")
    return fit_trees_stream(rows, world=world, **SETTINGS)


def empty(world, folder):
    for seed in range(100):
        how = {"label": "labelled", "held_out": 0.5, "random_state": seed}
        rows = ParquetRows(folder / "tiny.parquet", **how)
        if not all(rows.n_train_of(rank, world.size) for rank in range(world.size)):
            break
    return fit_trees_stream(rows, world=world, **SETTINGS)


def unheld(world, folder):
    """One process holds nothing out: its part of that loss is nothing."""
    for seed in range(100):
        how = {"label": "labelled", "held_out": 0.05, "random_state": seed}
        rows = ParquetRows(folder / "small.parquet", **how)
        shards = [(rank, world.size) for rank in range(world.size)]
        if not all(len(rows.held_out_rows(shard=shard).frame) for shard in shards):
            break
    model = fit_trees_stream(rows, world=world, prior=0.4, **SETTINGS)
    return [len(rows.held_out_rows(shard=shard).frame) for shard in shards], model.held_out_loss_


def gone(world, folder):
    own = folder / f"own-{world.rank}.parquet"
    own.write_bytes((folder / "table.parquet").read_bytes())
    rows = ParquetRows(own, label="labelled")
    if world.rank == 1:
        own.unlink()
    return fit_trees_stream(rows, world=world, **SETTINGS)


def lost(world, folder):
    """The last process ends without a word while the others count on it."""
    rows = ParquetRows(folder / "table.parquet", label="labelled")
    known = xgboost_growing._derivatives

    def derivatives_or_end(*args):
        if world.rank == world.size - 1:
            (folder / f"found-{world.rank}").write_text("{}")
            os._exit(0)
        return known(*args)

    xgboost_growing._derivatives = derivatives_or_end
    # A process that is killed removes nothing; the test's own folder is cleared by the test.
    return fit_trees_stream(rows, world=world, folder=folder, **SETTINGS)


def missing(world, folder):
    rows = ParquetRows(folder / "table.parquet", label="labelled")
    if world.rank == 1:
        for name in [name for name in sys.modules if name.split(".")[0] == "xgboost"]:
            del sys.modules[name]
        sys.modules["xgboost"] = None
    return fit_trees_stream(rows, world=world, **SETTINGS)


ALL = (derivatives, fit, sorted_fit, columns, empty, unheld, gone, missing, lost)
CASES = {case.__name__: case for case in ALL}


def main():
    rank, size, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    world = FolderWorld(rank, size, folder)
    found = {}
    for name in sys.argv[4:]:
        try:
            found[name] = CASES[name](world, folder)
        except VarpuError as error:
            found[name] = f"{type(error).__name__}: {error}"
    (folder / f"found-{rank}").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
