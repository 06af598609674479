"""Which kind of table a file is, told by its name, and the bytes beneath a compressed one."""

import bz2
import gzip
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from varpu.exceptions import PUInputError

_KINDS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}
_TEXT = ("csv", "tsv", "jsonl")
_WANTED = (
    "wanted .csv, .tsv or .jsonl (one object a line), as they are or with .gz, .bz2, .xz or .zst;"
    " .parquet, .arrow or .feather"
)


@dataclass(frozen=True)
class Format:
    """``kind`` is csv, tsv, jsonl, parquet or arrow; the first three may be compressed."""

    kind: str
    compression: str | None

    @property
    def is_text(self) -> bool:
        """Whether the file has lines of text."""
        return self.kind in _TEXT


def format_of(path: str | Path) -> Format:
    """The format that a file's name says; :class:`PUInputError` for any other name."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    compression = _COMPRESSIONS.get(suffixes[-1]) if suffixes else None
    if compression:
        suffixes.pop()
    kind = _KINDS.get(suffixes[-1]) if suffixes else None
    if kind is None:
        raise PUInputError(f"the name of {path} does not say what kind of table it is: {_WANTED}")
    if compression and kind not in _TEXT:
        raise PUInputError(f"{path}: {kind} files are compressed within, not around: {_WANTED}")
    return Format(kind, compression)


def checked_source(path: str | Path) -> tuple[Path, Format]:
    """A file that is there, is a file, is not empty and has a name that we know."""
    path = Path(path)
    if path.is_dir():
        raise PUInputError(f"{path} is a folder, wanted a file that holds a table")
    if not path.exists():
        raise PUInputError(f"{path} does not exist")
    form = format_of(path)
    try:
        if path.stat().st_size == 0:
            raise PUInputError(f"{path} is empty: no header, no rows")
    except OSError as error:
        raise PUInputError(f"{path} cannot be read: {error.strerror}") from None
    return path, form


def decompressed(raw: BinaryIO, compression: str | None) -> Any:
    """A stream to read the contents from; ``raw.tell()`` says how far it has come."""
    if compression == "gzip":
        return gzip.GzipFile(fileobj=raw, mode="rb")
    if compression == "bz2":
        return bz2.BZ2File(raw, "rb")
    if compression == "xz":
        return lzma.LZMAFile(raw, "rb")
    if compression == "zstd":
        return pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
    return raw


def compressed(raw: BinaryIO, compression: str | None) -> Any:
    """A stream to write the contents to."""
    if compression == "gzip":
        # No name and no time within: the same rows give the same bytes.
        return gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0)
    if compression == "bz2":
        return bz2.BZ2File(raw, "wb")
    if compression == "xz":
        return lzma.LZMAFile(raw, "wb", preset=1)
    if compression == "zstd":
        return pa.CompressedOutputStream(pa.PythonFile(raw, "w"), "zstd")
    return raw
