"""Boosted trees on a table larger than memory, by one process or by several that share its rows."""

import contextlib
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from varpu.boosting.xgboost_classifier import VPUXGBoostClassifier
from varpu.boosting.xgboost_growing import (
    HeldOutLoss,
    Levels,
    Total,
    as_matrix,
    feature_types,
    grow,
    import_xgboost,
    levels_of,
)
from varpu.checks import whole
from varpu.crossfit import marginal_rows
from varpu.exceptions import PUInputError, VarpuError
from varpu.scaleout.parquet import HeldOutRows, ParquetRows
from varpu.scaleout.spool import Spool
from varpu.world import World, current_world

# For how long a process waits for another that neither answers nor ends, in seconds.
_PATIENCE = 1800

Floats = NDArray[np.float64]
Found = TypeVar("Found")


def fit_trees_stream(
    rows: ParquetRows,
    *,
    prior: float | None = None,
    learning_rate: float = 0.25,
    max_depth: int = 6,
    min_child_weight: float = 10.0,
    reg_lambda: float = 1.0,
    max_delta_step: float = 3.0,
    subsample: float = 1.0,
    colsample_bytree: float = 0.8,
    max_bin: int = 256,
    max_rounds: int = 48,
    early_stopping_rounds: int = 8,
    n_jobs: int | None = None,
    random_state: int | None = None,
    folder: str | Path | None = None,
    world: World | None = None,
) -> VPUXGBoostClassifier:
    """Fit XGBoost's trees on rows that are read from files and kept on disk, not in memory.

    The encoded rows are written once, in single precision, to a temporary folder, and XGBoost keeps
    its binned copy there: 4 bytes and 1 byte (2 with more than 256 bins) for each row and encoded
    column, so 2 GB for 20 million rows and 20 columns. The folder is removed at the end, also
    after an error. In memory are about 60 bytes for each row, and the held-out rows.

    Of several processes each has a part of the rows, see :meth:`ParquetRows.blocks`; all of them
    get the same trees, those of the loss over all rows, and the same model.

    Parameters
    ----------
    rows : ParquetRows
        Of several processes, each opens the same table in the same way.
    prior, learning_rate, max_depth, min_child_weight, reg_lambda, max_delta_step, subsample, \
colsample_bytree, max_bin, n_jobs
        As in :class:`VPUXGBoostClassifier`. Trees grow level by level, as each step needs a pass
        over the rows.
    max_rounds, early_stopping_rounds : int
        Few large steps: on many rows a tree is expensive and hardly noisy.
    random_state : int, optional
        Decides sampling of rows and columns; by default that of ``rows``.
    folder : path, optional
        Where to make the temporary folder.
    world : World, optional
        The processes to fit with; by default those of :func:`varpu.world.joined_world`.

    Returns
    -------
    VPUXGBoostClassifier
        It takes frames that ``rows.encoder`` made.

    Raises
    ------
    PUInputError
        On every process, if one of them lacks XGBoost, cannot read its rows, has none, or has
        opened another table than the first.
    VarpuError
        If a process fails later, or is lost: on the others, which do not wait for it.
    """
    workers = current_world() if world is None else world
    whole("max_depth", max_depth, 1)
    seed = whole("random_state", rows.random_state if random_state is None else random_state, 0)
    model = VPUXGBoostClassifier(
        learning_rate=learning_rate,
        num_leaves=2 ** min(max_depth, 30),
        max_depth=max_depth,
        min_child_weight=min_child_weight,
        reg_lambda=reg_lambda,
        max_delta_step=max_delta_step,
        subsample=subsample,
        colsample_bytree=colsample_bytree,
        max_bin=max_bin,
        max_rounds=max_rounds,
        early_stopping_rounds=early_stopping_rounds,
        held_out=rows.held_out_share,
        prior=prior,
        scenario=rows.scenario,
        n_jobs=n_jobs,
        random_state=seed,
    )
    _on_all(workers, import_xgboost)
    _on_all(workers, model._check_params)
    rows.check_same(workers)
    shard = (workers.rank, workers.size)
    with tempfile.TemporaryDirectory(prefix="varpu-", dir=folder) as cache:

        def read() -> tuple[HeldOutRows, Levels, Spool, NDArray[np.bool_]]:
            held_out = rows.held_out_rows(shard=shard)
            levels = levels_of(held_out.frame)
            spool, labelled = _written(rows, shard, levels, Path(cache))
            return held_out, levels, spool, labelled

        # All that can go wrong with files does so here, while no process waits inside XGBoost.
        held_out, levels, spool, labelled = _on_all(workers, read)
        with _joined(workers) as total:
            _grow(model, seed, rows, held_out, levels, spool, labelled, workers, total)
    return model


def _grow(
    model: VPUXGBoostClassifier,
    seed: int,
    rows: ParquetRows,
    held_out: HeldOutRows,
    levels: Levels,
    spool: Spool,
    labelled: NDArray[np.bool_],
    workers: World,
    total: Total,
) -> None:
    xgboost = import_xgboost()
    model.n_features_in_ = len(rows.encoder.names_)
    model.feature_names_in_ = np.array(rows.encoder.names_, dtype=object)
    model.classes_ = np.array([False, True])
    types = feature_types(model.n_features_in_, levels)
    params = {**model._booster_params(seed % 2**31), "grow_policy": "depthwise"}
    matrix = as_matrix(held_out.frame, levels)
    other = xgboost.DMatrix(
        matrix, nthread=params["nthread"], feature_types=types, enable_categorical=True
    )
    data = spool.matrix(model.max_bin, params["nthread"], types)
    grown = grow(
        params,
        data,
        labelled,
        marginal_rows(labelled, rows.scenario),
        HeldOutLoss(other, held_out.weight_p, held_out.weight_u, total),
        model.max_rounds,
        model.early_stopping_rounds,
    )
    found = [grown.predict(matrix), held_out.weight_p, held_out.weight_u]
    every = workers.all_of([part.tolist() for part in found])
    log_ratio, weight_p, weight_u = (np.concatenate(parts) for parts in zip(*every, strict=True))
    model._take_over(grown, levels, log_ratio, weight_p, weight_u)
    everyone = held_out if workers.is_alone else rows.held_out_rows()
    model.out_of_fold_log_ratio_ = grown.predict(as_matrix(everyone.frame, levels))


def _written(
    rows: ParquetRows, shard: tuple[int, int], levels: Levels, cache: Path
) -> tuple[Spool, NDArray[np.bool_]]:
    """The training rows of a shard on disk, and which of them are labelled."""
    spool = Spool(cache, len(rows.encoder.names_))
    labelled = [np.zeros(0, dtype=bool)]
    for frame, is_labelled in rows.blocks(epoch=None, shard=shard):
        spool.append(as_matrix(frame, levels))
        labelled.append(is_labelled)
    if not spool.n_rows:
        raise PUInputError(
            f"process {shard[0]} of {shard[1]} has no rows to train on: the table has"
            f" {rows.n_rows}, use fewer processes"
        )
    return spool, np.concatenate(labelled)


def _on_all(workers: World, work: Callable[[], Found]) -> Found:
    """What work gives; if it fails on one process, one error on each, and nobody waits."""
    if workers.is_alone:
        return work()
    try:
        found = work()
    except Exception as error:  # of any kind: the others wait for this process
        workers.agree(str(error) or type(error).__name__)
        raise
    workers.agree(None)
    return found


@contextlib.contextmanager
def _joined(workers: World) -> Iterator[Total]:
    """XGBoost's own group of these processes; gives the sum over them."""
    if workers.is_alone:
        yield lambda sums: sums
        return
    from xgboost import collective
    from xgboost.core import XGBoostError
    from xgboost.tracker import RabitTracker

    hosts = workers.all_of(socket.gethostname())
    tracker, args = None, {}
    if workers.rank == 0:
        host = "127.0.0.1" if len(set(hosts)) == 1 else None  # None: the address it is seen by
        tracker = RabitTracker(
            n_workers=workers.size, host_ip=host, sortby="task", timeout=_PATIENCE
        )
        tracker.start()
        args = tracker.worker_args()
    # Tasks are sorted as text: zeros keep them in the order of their numbers.
    own: dict[str, str | int] = {"dmlc_task_id": f"{workers.rank:06d}", "dmlc_timeout": _PATIENCE}
    args = {**workers.from_first(args), **own}

    def total(sums: Floats) -> Floats:
        return np.asarray(collective.allreduce(sums, collective.Op.SUM))

    try:
        with collective.CommunicatorContext(**args):
            yield total
        if tracker is not None:
            tracker.wait_for(timeout=_PATIENCE)
    except XGBoostError as error:
        reason = str(error).partition("Stack trace")[0].strip()
        raise VarpuError(f"a process of this fit failed or was lost: {reason}") from None
    finally:
        if tracker is not None:
            with contextlib.suppress(XGBoostError):  # one that waits for lost processes complains
                tracker.free()
