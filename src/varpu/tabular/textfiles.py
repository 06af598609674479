"""Batches from files of text: CSV, TSV and JSON lines, checked as their bytes go by."""

import codecs
import io
import re
import zlib
from collections.abc import Callable, Iterator
from lzma import LZMAError
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.json

from varpu.exceptions import PUInputError
from varpu.tabular.formats import Format, decompressed

# Types are guessed from the first block, and no row may be longer than two of them.
BLOCK = 4 << 20
_CONVERSION = re.compile(r"In CSV column #(\d+):.*? CSV conversion error to ([^:]+):")
_BAD_STREAM = (OSError, EOFError, zlib.error, LZMAError)


class WidenError(Exception):
    """A later block of a CSV file holds values that the guessed type of a column does not."""

    def __init__(self, column: str, to: pa.DataType) -> None:
        super().__init__(column)
        self.column, self.to = column, to


def csv_blocks(
    path: Path, form: Format, types: dict[str, pa.DataType], seen: Callable[[float], None]
) -> Iterator[pa.Table]:
    """Blocks of a CSV or TSV file; :class:`WidenError` where ``types`` or guesses do not hold."""
    names: list[str] = []
    with _Bytes(path, form) as stream:
        try:
            reader = pyarrow.csv.open_csv(
                stream,
                read_options=pyarrow.csv.ReadOptions(block_size=BLOCK),
                parse_options=pyarrow.csv.ParseOptions(
                    delimiter=_delimiter(path, form), newlines_in_values=True
                ),
                convert_options=pyarrow.csv.ConvertOptions(
                    column_types=types, strings_can_be_null=True
                ),
            )
            names = reader.schema.names
            yield reader.schema.empty_table()
            has_newline = False
            for batch in reader:
                block = pa.Table.from_batches([batch])
                has_newline = has_newline or _has_newline(block)
                yield block
                seen(stream.share_read())
        except (pa.ArrowInvalid, UnicodeDecodeError, *_BAD_STREAM) as error:
            if stream.error:
                raise stream.error from None
            found = _CONVERSION.search(str(error))
            if found and names:
                raise _widened(names[int(found[1])], found[2]) from None
            raise _csv_error(path, error) from None
        if stream.quotes % 2 and has_newline:
            raise PUInputError(
                f"{path}: a quote is opened and not closed, so that rows ran into one another:"
                ' look for a cell with an odd number of " characters'
            )


def json_blocks(path: Path, form: Format, seen: Callable[[float], None]) -> Iterator[pa.Table]:
    """Blocks of a file of JSON lines. A key that a whole block lacks is missing in its rows."""
    names: dict[str, None] = {}
    with _Bytes(path, form) as stream:
        rest, number = b"", 0
        while True:
            try:
                data = stream.read(BLOCK)
            except (PUInputError, *_BAD_STREAM) as error:
                raise stream.error or _unreadable(path, error) from None
            head, newline, tail = (rest + data).rpartition(b"\n")
            lines, rest = (head + newline, tail) if data else (tail, b"")
            if lines.strip():
                block = _json_block(path, lines, number)
                names |= dict.fromkeys(block.column_names)
                for name in names:
                    if name not in block.column_names:
                        block = block.append_column(name, pa.nulls(block.num_rows))
                yield block.select(list(names))
                seen(stream.share_read())
            if not data:
                break
            if len(rest) > 2 * BLOCK:
                raise _too_long(path)
            number += lines.count(b"\n")
    if not names:
        raise PUInputError(f"{path} holds no JSON object")


def _json_block(path: Path, lines: bytes, first: int) -> pa.Table:
    if max(map(len, lines.split(b"\n"))) > BLOCK:
        raise _too_long(path)
    try:
        return pyarrow.json.read_json(
            io.BytesIO(lines), read_options=pyarrow.json.ReadOptions(block_size=2 * BLOCK)
        )
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        where = f" (rows are counted from line {first + 1})" if first else ""
        raise PUInputError(
            f"{path} is not JSON lines, one object of the same columns a line: {error}{where}"
        ) from None


class _Bytes(io.RawIOBase):
    """The contents of a file, checked to be UTF-8 as they are read."""

    def __init__(self, path: Path, form: Format) -> None:
        super().__init__()
        self._path = path
        try:
            self._raw = path.open("rb")
        except OSError as error:
            raise _unreadable(path, error) from None
        self._size = max(path.stat().st_size, 1)
        self._stream = decompressed(self._raw, form.compression)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._lines = self._bytes = 0
        self.quotes = 0
        self.error: PUInputError | None = None

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes; an error is also kept, as it may be raised in a thread of pyarrow's."""
        data: bytes = self._stream.read(size)
        try:
            self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            # The decoder may have held back the first bytes of a character from the last block.
            at = max(error.start - (len(error.object) - len(data)), 0)
            line = self._lines + data.count(b"\n", 0, at) + 1
            value = error.object[error.start]
            self.error = PUInputError(
                f"{self._path} is not UTF-8: line {line}, byte {self._bytes + at + 1} of the file"
                f" is 0x{value:02x}. Convert it first, for instance by: iconv -f WINDOWS-1252"
                f" -t UTF-8 {self._path.name} > utf8_{self._path.name}"
            )
            raise self.error from None
        self._lines += data.count(b"\n")
        self._bytes += len(data)
        self.quotes += data.count(b'"')
        return data

    def share_read(self) -> float:
        """How much of the file has been read, from 0 to 1."""
        return 1.0 if self._raw.closed else min(self._raw.tell() / self._size, 1.0)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _delimiter(path: Path, form: Format) -> str:
    if form.kind == "tsv":
        return "\t"
    # Spreadsheets of many countries write semicolons, and some programs tabs, into a .csv.
    with _Bytes(path, form) as stream:
        try:
            header = stream.read(1 << 16).partition(b"\n")[0]
        except (PUInputError, *_BAD_STREAM) as error:
            raise stream.error or _unreadable(path, error) from None
    others = [one for one in (";", "\t", "|") if one.encode() in header]
    return others[0] if others and b"," not in header else ","


def _widened(column: str, guessed: str) -> WidenError:
    return WidenError(column, pa.float64() if guessed.startswith("int") else pa.string())


def _has_newline(block: pa.Table) -> bool:
    return any(
        pyarrow.compute.any(pyarrow.compute.match_substring(column, "\n")).as_py()
        for column in block.columns
        if pa.types.is_string(column.type)
    )


def _csv_error(path: Path, error: Exception) -> PUInputError:
    text = str(error)
    if "straddling" in text:
        return _too_long(path)
    if isinstance(error, pa.ArrowInvalid):
        text = text if len(text) < 300 else text[:300] + " ..."
        return PUInputError(
            f"{path} is no table of rows with the same columns; look for broken quotes: {text}"
        )
    return _unreadable(path, error)


def _too_long(path: Path) -> PUInputError:
    return PUInputError(
        f"{path} has a row of more than {BLOCK >> 20} MB: a quote may not be closed, or a cell"
        " holds a whole file"
    )


def _unreadable(path: Path, error: Any) -> PUInputError:
    what = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return PUInputError(f"{path} cannot be read: {what}")
