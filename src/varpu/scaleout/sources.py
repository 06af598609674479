"""A table in one or several Parquet or Arrow files: its columns, its row groups, pieces of it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from varpu.exceptions import PUInputError
from varpu.tabular.formats import checked_source, format_of

_ENDINGS = {".parquet", ".pq", ".arrow", ".feather", ".ipc"}
# Footers of files that were read last: with many row groups they take long to parse.
_MOST_FOOTERS = 64

Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class Unit:
    """Rows that lie together: a row group of Parquet, a record batch of Arrow, or a part of one.

    Attributes
    ----------
    file, group : int
        Numbers of the file and of the row group in it.
    start, rows : int
        The first row within the group, and how many there are.
    first_row : int
        The number of the first row in the whole table.
    """

    file: int
    group: int
    start: int
    rows: int
    first_row: int

    def part(self, start: int, stop: int) -> "Unit":
        """Rows ``start`` to ``stop`` of this unit."""
        return replace(
            self, start=self.start + start, rows=stop - start, first_row=self.first_row + start
        )

    def parts(self, rows: int) -> Iterator["Unit"]:
        """The same rows in parts of at most so many."""
        for start in range(0, self.rows, rows):
            yield self.part(start, min(start + rows, self.rows))


class TableFiles:
    """Files that are one table. Nothing but their footers is read until :meth:`read`.

    Parameters
    ----------
    paths : path or sequence of paths
        Files that end in .parquet, .pq, .arrow, .feather or .ipc, or folders that hold such files;
        rows are numbered in this order, within a folder by the names of its files.

    Attributes
    ----------
    paths : list of Path
    columns : list of str
        Of the first file; the others must have the same, in any order.
    units : list of Unit
        Row groups that have rows, in the order of the rows.
    n_rows : int
    """

    def __init__(self, paths: Paths) -> None:
        self.paths = _listed(paths)
        self._footers: dict[int, Any] = {}
        self.units: list[Unit] = []
        self.n_rows = 0
        kinds: dict[str, str] = {}
        for number, path in enumerate(self.paths):
            with _reading(path):
                schema, groups = self._open(number)
            found = _kinds(path, schema)
            if number == 0:
                kinds, self.columns = dict(found), list(found)
            _check_same(self.paths[0], kinds, path, found)
            for group, rows in enumerate(groups):
                if rows:
                    self.units.append(Unit(number, group, 0, rows, self.n_rows))
                    self.n_rows += rows
        if not self.n_rows:
            raise PUInputError(f"the table has no rows: {self.paths[0]}{_more(self.paths)}")

    def read(self, unit: Unit, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """The rows of a unit in pieces of at most ``rows`` rows, of these columns in this order.

        Memory is that of a piece for Parquet, and of a record batch for Arrow.
        """
        path = self.paths[unit.file]
        skip, left = unit.start, unit.rows
        with _reading(path):
            for batch in self._batches(path, unit, list(columns), rows):
                fresh = batch.slice(min(skip, batch.num_rows))
                skip -= batch.num_rows - fresh.num_rows
                fresh = fresh.slice(0, left)
                left -= fresh.num_rows
                for start in range(0, fresh.num_rows, rows):
                    yield pa.Table.from_batches([fresh.slice(start, rows)]).select(list(columns))
                if not left:
                    break
        if left:
            raise PUInputError(f"{path} is damaged: a row group lacks {left} of its rows")

    def frame(self, unit: Unit, table: pa.Table) -> pd.DataFrame:
        """A piece of that unit for pandas, with times as times."""
        with _reading(self.paths[unit.file]):
            return table.to_pandas(date_as_object=False, ignore_metadata=True)

    def _open(self, number: int) -> tuple[Any, list[int]]:
        path = self.paths[number]
        if format_of(path).kind == "parquet":
            footer = self._footer(number)
            groups = [footer.row_group(i).num_rows for i in range(footer.num_row_groups)]
            return footer.schema.to_arrow_schema(), groups
        with pa.OSFile(str(path)) as source:
            schema = pyarrow.ipc.open_file(source).schema
            # Rows are counted by one column: a batch does not say its size before it is read.
            few = pyarrow.ipc.IpcReadOptions(included_fields=[0] if len(schema) else [])
            with pyarrow.ipc.open_file(source, options=few) as reader:
                return schema, [
                    reader.get_batch(i).num_rows for i in range(reader.num_record_batches)
                ]

    def _footer(self, number: int) -> Any:
        if number not in self._footers:
            while len(self._footers) >= _MOST_FOOTERS:
                self._footers.pop(next(iter(self._footers)))
            self._footers[number] = pyarrow.parquet.read_metadata(self.paths[number])
        return self._footers[number]

    def _batches(self, path: Path, unit: Unit, columns: list[str], rows: int) -> Iterator[Any]:
        if format_of(path).kind == "parquet":
            # Buffered, or a whole row group is held in memory beside its batches.
            with pyarrow.parquet.ParquetFile(
                path, metadata=self._footer(unit.file), buffer_size=1 << 18, pre_buffer=False
            ) as file:
                yield from file.iter_batches(
                    batch_size=rows, row_groups=[unit.group], columns=columns, use_threads=False
                )
            return
        with pa.OSFile(str(path)) as source:
            names = pyarrow.ipc.open_file(source).schema.names
            wanted = [names.index(name) for name in columns]
            some = pyarrow.ipc.IpcReadOptions(included_fields=wanted)
            with pyarrow.ipc.open_file(source, options=some) as reader:
                yield reader.get_batch(unit.group)


def _listed(paths: Paths) -> list[Path]:
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise PUInputError("no file was given, wanted Parquet or Arrow files or folders of them")
    found: list[Path] = []
    for path in map(Path, given):
        if path.is_dir():
            inside = [
                file
                for file in sorted(path.rglob("*"))
                if file.suffix.lower() in _ENDINGS
                and not any(part[0] in "._" for part in file.relative_to(path).parts)
            ]
            if not inside:
                raise PUInputError(f"the folder {path} holds no Parquet or Arrow file")
            found += inside
        else:
            checked, form = checked_source(path)
            if form.kind not in ("parquet", "arrow"):
                raise PUInputError(
                    f"{path} cannot be read in pieces of any order: wanted .parquet, .arrow or"
                    f" .feather, got {form.kind}"
                )
            found.append(checked)
    for path in found:
        checked_source(path)
    return found


def _kinds(path: Path, schema: Any) -> dict[str, str]:
    """What each column holds, coarsely: files may differ in the width of numbers."""
    names = list(schema.names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PUInputError(f"{path} has more than one column named {', '.join(map(repr, twice))}")
    return {field.name: _kind(field.type) for field in schema}


def _kind(type_: Any) -> str:
    kinds = pa.types
    if kinds.is_dictionary(type_):
        return _kind(type_.value_type)
    if kinds.is_null(type_):
        return "nothing"
    if kinds.is_integer(type_) or kinds.is_floating(type_) or kinds.is_decimal(type_):
        return "numbers"
    if kinds.is_string(type_) or kinds.is_large_string(type_) or kinds.is_string_view(type_):
        return "text"
    if kinds.is_date(type_) or kinds.is_timestamp(type_):
        return "times"
    return str(type_)


def _check_same(first: Path, wanted: dict[str, str], path: Path, found: dict[str, str]) -> None:
    lacks = [name for name in wanted if name not in found]
    further = [name for name in found if name not in wanted]
    if lacks or further:
        said = [f"lacks {_named(lacks)}"] if lacks else []
        said += [f"has {_named(further)} besides"] if further else []
        raise PUInputError(
            f"the files differ in their columns: {path} {' and '.join(said)}, unlike {first}"
        )
    for name, kind in found.items():
        if wanted[name] == "nothing":
            wanted[name] = kind
        if kind not in ("nothing", wanted[name]):
            raise PUInputError(
                f"the files differ in column {name!r}: it holds {kind} in {path}, and"
                f" {wanted[name]} in the files before, as in {first}"
            )


def _named(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")


def _more(paths: list[Path]) -> str:
    return f" and {len(paths) - 1} more files" if len(paths) > 1 else ""


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, PUInputError):
            raise
        raise PUInputError(
            f"{path} is not a Parquet or Arrow file, or is damaged: {error}"
        ) from None
