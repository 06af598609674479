"""Read tables: CSV, TSV, Parquet, Arrow and JSON lines, whole or in batches of flat memory."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from varpu.exceptions import PUInputError
from varpu.tabular.formats import Format, checked_source
from varpu.tabular.textfiles import WidenError, csv_blocks, json_blocks

Seen = Callable[[float], None]


def read_table(
    path: str | Path, *, as_text: Collection[str] = (), seen: Seen | None = None
) -> pd.DataFrame:
    """Read a whole table.

    Parameters
    ----------
    path : path
        Ends in .csv or .tsv, .jsonl (one object a line), .parquet, .arrow or .feather; those of
        text may be compressed: .gz, .bz2, .xz, .zst.
    as_text : collection of str
        Columns of a CSV file to leave as they are written, such as ids with leading zeros.
    seen : callable, optional
        Called with the share of the file that has been read.

    Returns
    -------
    DataFrame
        Empty cells are missing values.
    """
    path, form = checked_source(path)
    seen = seen or _unseen
    if form.kind in ("csv", "tsv"):
        types = dict.fromkeys(as_text, pa.string())
        while True:
            try:
                blocks = list(csv_blocks(path, form, types, seen))
                break
            except WidenError as needed:
                types[needed.column] = needed.to
    else:
        blocks = list(_blocks(path, form, 100_000, seen))
    _check_names(path, blocks[0])
    try:
        table = pa.concat_tables(blocks, promote_options="permissive")
    except pa.ArrowTypeError as error:
        raise PUInputError(f"{path} has a column of several types: {error}") from None
    return _frame(path, table)


def table_batches(
    path: str | Path,
    rows: int = 100_000,
    *,
    as_text: Collection[str] = (),
    seen: Seen | None = None,
) -> Iterator[pd.DataFrame]:
    """Read a table in batches of at most ``rows`` rows, in memory that does not grow.

    There is always a batch, of no rows where the table has none. In a CSV file the type of a
    column is guessed anew where a value does not fit it, so a later batch may have text where
    earlier ones had numbers. Other parameters are those of :func:`read_table`.
    """
    path, form = checked_source(path)
    seen = seen or _unseen
    if form.kind in ("csv", "tsv"):
        blocks = _csv_with_skips(path, form, dict.fromkeys(as_text, pa.string()), seen)
    else:
        blocks = _blocks(path, form, rows, seen)
    some = False
    empty = None
    for block in blocks:
        empty = block.slice(0, 0) if empty is None else empty
        for start in range(0, block.num_rows, rows):
            some = True
            yield _frame(path, block.slice(start, rows))
    if not some and empty is not None:
        yield _frame(path, empty)


def _csv_with_skips(
    path: Path, form: Format, types: dict[str, pa.DataType], seen: Seen
) -> Iterator[pa.Table]:
    done = 0  # rows that were handed on before a type had to be widened
    while True:
        skip = done
        try:
            for block in csv_blocks(path, form, types, seen):
                fresh = block.slice(min(skip, block.num_rows))
                skip -= block.num_rows - fresh.num_rows
                done += fresh.num_rows
                yield fresh
            return
        except WidenError as needed:
            types[needed.column] = needed.to


def _blocks(path: Path, form: Format, rows: int, seen: Seen) -> Iterator[pa.Table]:
    if form.kind == "jsonl":
        yield from json_blocks(path, form, seen)
        return
    read = _parquet_blocks if form.kind == "parquet" else _arrow_blocks
    try:
        yield from read(path, rows, seen)
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, PUInputError):
            raise
        what = "a Parquet" if form.kind == "parquet" else "an Arrow"
        raise PUInputError(f"{path} is not {what} file, or is damaged: {error}") from None


def _parquet_blocks(path: Path, rows: int, seen: Seen) -> Iterator[pa.Table]:
    # Buffered, or a whole row group is held in memory beside its batches.
    with pyarrow.parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
        yield file.schema_arrow.empty_table()
        total, done = max(file.metadata.num_rows, 1), 0
        for batch in file.iter_batches(batch_size=rows):
            yield pa.Table.from_batches([batch])
            done += batch.num_rows
            seen(done / total)


def _arrow_blocks(path: Path, rows: int, seen: Seen) -> Iterator[pa.Table]:
    with pa.OSFile(str(path)) as source, pyarrow.ipc.open_file(source) as reader:
        yield reader.schema.empty_table()
        for i in range(reader.num_record_batches):
            yield pa.Table.from_batches([reader.get_batch(i)])
            seen((i + 1) / reader.num_record_batches)


def _check_names(path: Path, table: pa.Table) -> None:
    names = table.column_names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PUInputError(f"{path} has more than one column named {', '.join(map(repr, twice))}")


def _frame(path: Path, table: pa.Table) -> pd.DataFrame:
    _check_names(path, table)
    try:
        return table.to_pandas(date_as_object=False, ignore_metadata=True)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise PUInputError(f"{path} cannot be read: {error}") from None


def _unseen(share: float) -> Any:
    """Nobody watches."""
