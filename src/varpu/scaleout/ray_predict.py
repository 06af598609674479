"""Score the rows of a table through Ray Data: each once, in the table's order.

What Ray Data moves are batches, one a row of its data set, so that it can neither cut nor join
them and the scored file is that of the local engine, byte for byte. Of a Parquet file a batch is
two numbers, and the worker that scores it reads its rows itself; any other file is read by one
task, which hands the rows on. Only scores come back to the process that writes.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from varpu.exceptions import PUInputError, VarpuError
from varpu.scaleout.ray_joining import quiet_warnings
from varpu.tabular import TableModel, table_batches
from varpu.tabular.formats import checked_source
from varpu.tabular.reading import Seen

__all__ = ["scored_batches"]

ROWS = 100_000  # a batch, as in the local engine
# A batch whose worker died is begun again so often; one that always kills its worker must end.
RETRIES = 3
# Parts of a table for each worker, and batches of a part: a part costs Ray Data some tenths of a
# second, but what is not evenly dealt out leaves a worker idle at the end.
_PARTS_A_WORKER, _MOST_BATCHES = 10, 8


def scored_batches(
    model: str | Path,
    table: str | Path,
    *,
    as_text: tuple[str, ...] = (),
    rows: int = ROWS,
    workers: int = 1,
    seen: Seen | None = None,
) -> Iterator[pd.DataFrame]:
    """Score a table on the cluster that this process has joined, batch by batch in order.

    Parameters
    ----------
    model : path
        The folder of a model. On a cluster of several machines it and the table must be readable
        under the same path from all of them.
    table : path
    as_text : tuple of str
        As in :func:`varpu.tabular.table_batches`.
    rows : int
        Rows of a batch.
    workers : int
        Batches scored side by side.
    seen : callable, optional
        Called with the share of the table that is scored, where that is known.

    Yields
    ------
    DataFrame
        As :meth:`varpu.tabular.TableModel.predict` gives it. None where the table has no rows.
    """
    path, form = checked_source(table)
    path, model = path.resolve(), Path(model).resolve()
    stamp = (model / "manifest.json").stat().st_mtime_ns
    score = partial(_score, str(model), stamp, str(path))
    import ray

    with _settings(reads_itself=form.kind == "parquet"):
        starts = _starts(path, rows, workers) if form.kind == "parquet" else None
        if starts == [0]:
            return
        with quiet_warnings():
            if starts is not None:
                scored = _of_ranges(score, starts, rows, workers)
            else:
                read = partial(_read, str(path), as_text, rows)
                scored = _of_one_reader(score, read, workers)
        total = 0 if starts is None else len(starts) - 1
        yield from _in_order(ray, scored, total, seen)


def _of_ranges(score: Any, starts: list[int], rows: int, workers: int) -> Any:
    """A data set of the scores of parts of a Parquet file, each read where it is scored."""
    import ray.data

    # Not `ray.data.range`, which would make each number in a task of its own.
    tickets = ray.data.from_arrow([pa.table({"id": [i]}) for i in range(len(starts) - 1)])
    # Twice as many tasks as run: the next one waits beside its core, not for this process to
    # notice that a core is free.
    return tickets.map_batches(
        partial(_score_range, score, np.asarray(starts), rows), **_scoring(2 * workers)
    )


def _of_one_reader(score: Any, read: Any, workers: int) -> Any:
    """A data set of the scores of a file that can only be read from its beginning."""
    import ray.data

    # Reading has no core of its own, or with one worker there would be none to score; and so Ray
    # Data does not make one task of reading and scoring.
    tickets = ray.data.from_arrow([pa.table({"id": [0]})]).map_batches(
        read, batch_size=1, batch_format="pyarrow", num_cpus=0, max_retries=RETRIES
    )
    return tickets.map_batches(partial(_score_rows, score), **_scoring(workers))


def _scoring(tasks: int) -> dict[str, Any]:
    import ray.data

    return {
        "batch_size": 1,
        "batch_format": "pyarrow",
        "compute": ray.data.TaskPoolStrategy(size=tasks),
        "num_cpus": 1,
        "max_retries": RETRIES,
    }


def _in_order(ray: Any, scored: Any, total: int, seen: Seen | None) -> Iterator[pd.DataFrame]:
    done = first_row = 0
    try:
        for block in _blocks(scored):
            columns = (block[name] for name in ("error", "numbered", "scored"))
            for error, numbered, content in zip(*columns, strict=True):
                if error.as_py():
                    raise PUInputError(error.as_py())
                frame = _unpacked(content.as_buffer()).to_pandas(types_mapper=pd.ArrowDtype)
                if numbered.as_py():  # a worker does not know how many rows came before its own
                    numbers = pa.array(np.arange(first_row, first_row + len(frame)))
                    frame["row"] = pd.arrays.ArrowExtensionArray(numbers)
                first_row += len(frame)
                yield frame
            done += len(block)
            if seen is not None and total:
                seen(done / total)
    except ray.exceptions.RayTaskError as error:
        raise error.as_instanceof_cause() from None
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError) as error:
        raise VarpuError(
            f"a worker died {RETRIES + 1} times at the same rows, it may lack memory:"
            f" {' '.join(str(error).split())[:200]}"
        ) from None


def _blocks(scored: Any) -> Iterator[pa.Table]:
    with quiet_warnings():
        blocks = iter(
            scored.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=1)
        )
    while True:
        with quiet_warnings():
            block = next(blocks, None)
        if block is None:
            return
        yield block


@contextmanager
def _settings(*, reads_itself: bool) -> Iterator[None]:
    """Ray Data's settings for the time of a run; they are one object for the whole process.

    Reserving memory for each step keeps a reader from running ahead of those that score, but lets
    Ray Data start a task only when the one before is done, or nearly so. Where a worker reads its
    rows itself nothing can run ahead but scores, which are few bytes.
    """
    with quiet_warnings():
        import ray.data

        context = ray.data.DataContext.get_current()
    options = context.execution_options
    names = ("target_max_block_size", "enable_progress_bars", "op_resource_reservation_enabled")
    before = {name: getattr(context, name) for name in names}
    order = options.preserve_order
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    # Of a reader each batch becomes a block of its own: Ray Data would else gather them to 128 MiB.
    # Where a worker reads, its answer is one block: of several, Ray would hold a task at the second
    # until the tasks before it are done.
    context.target_max_block_size = 1 << 30 if reads_itself else 1
    context.enable_progress_bars = False
    context.op_resource_reservation_enabled = not reads_itself
    options.preserve_order = True
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)
        options.preserve_order = order


def _starts(path: Path, rows: int, workers: int) -> list[int]:
    """Where the parts of a Parquet file begin, and its end; all but the last are full batches.

    A row group cannot be entered in its middle: what stands before a part in its group is read and
    dropped. That too speaks for parts of several batches.
    """
    try:
        about = pyarrow.parquet.read_metadata(path)
    except (pa.ArrowException, OSError) as error:
        raise PUInputError(f"{path} is not a Parquet file, or is damaged: {error}") from None
    batches = about.num_rows // (rows * workers * _PARTS_A_WORKER)
    part = rows * min(max(batches, 1), _MOST_BATCHES)
    return [*range(0, about.num_rows, part), about.num_rows]


def _score_range(score: Any, edges: Any, rows: int, ticket: pa.Table) -> Iterator[pa.Table]:
    [number] = ticket["id"].to_pylist()
    answers = score(
        lambda path: _parquet_rows(path, int(edges[number]), int(edges[number + 1]), rows)
    )
    yield pa.concat_tables(list(answers))


def _score_rows(score: Any, ticket: pa.Table) -> Iterator[pa.Table]:
    [error], [content] = ticket["error"].to_pylist(), ticket["rows"]
    if error:
        yield _answer(error)
    else:
        yield from score(lambda path: [_frame(_unpacked(content.as_buffer()))])


def _score(model: str, stamp: int, path: str, batches: Any) -> Iterator[pa.Table]:
    """Score batches in a worker; an error of ours is an answer, as no other worker fares better."""
    try:
        fitted = _loaded(model, stamp)
        for frame in batches(path):
            table = pa.Table.from_pandas(fitted.predict(frame), preserve_index=False)
            yield _answer("", table, numbered=fitted.id is None)
    except VarpuError as error:
        yield _answer(str(error))


@lru_cache(maxsize=1)
def _loaded(model: str, stamp: int) -> TableModel:
    """Once a worker; a model that was fitted anew has another stamp."""
    return TableModel.load(model)


def _parquet_rows(path: str, start: int, stop: int, rows: int) -> Iterator[pd.DataFrame]:
    with pyarrow.parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
        ends = np.cumsum(
            [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
        )
        first, last = np.searchsorted(ends, [start, stop - 1], side="right")
        at = int(ends[first - 1]) if first else 0
        groups = list(range(first, last + 1))
        waiting: list[pa.Table] = []
        have, end = 0, start
        try:
            for batch in file.iter_batches(batch_size=rows, row_groups=groups):
                low, high = max(start - at, 0), min(stop - at, batch.num_rows)
                at += batch.num_rows
                while low < high:
                    piece = pa.Table.from_batches([batch.slice(low, min(high - low, rows - have))])
                    waiting.append(piece)
                    low, have, end = (n + piece.num_rows for n in (low, have, end))
                    if have == rows or end == stop:
                        yield _frame(pa.concat_tables(waiting))
                        waiting, have = [], 0
        except (pa.ArrowException, OSError) as error:
            raise PUInputError(f"{path} is not a Parquet file, or is damaged: {error}") from None


def _read(path: str, as_text: tuple[str, ...], rows: int, ticket: pa.Table) -> Iterator[pa.Table]:
    try:
        for frame in table_batches(path, rows, as_text=as_text):
            if len(frame):
                content = _packed(pa.Table.from_pandas(frame, preserve_index=False))
                yield pa.table({"error": [""], "rows": content})
    except VarpuError as error:
        yield pa.table({"error": [str(error)], "rows": _packed(None)})


def _answer(error: str, scored: pa.Table | None = None, *, numbered: bool = False) -> pa.Table:
    return pa.table({"error": [error], "numbered": [numbered], "scored": _packed(scored)})


def _packed(table: pa.Table | None) -> pa.Array:
    """A table as one value of a column; without a copy, as it may be large."""
    sink = pa.BufferOutputStream()
    if table is not None:
        with pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    content = sink.getvalue()
    ends = pa.py_buffer(np.array([0, content.size], dtype=np.int64))
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, ends, content])


def _unpacked(content: pa.Buffer) -> pa.Table:
    return pyarrow.ipc.open_stream(content).read_all()


def _frame(table: pa.Table) -> pd.DataFrame:
    """As :func:`varpu.tabular.table_batches` makes it."""
    return table.to_pandas(date_as_object=False, ignore_metadata=True)
