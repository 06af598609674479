"""Write tables, whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from varpu.exceptions import PUInputError
from varpu.tabular.formats import compressed, format_of


class TableWriter:
    """Write batches of rows to one file, which appears only when all went well.

    Use it as a context: rows go to a file beside the target that is renamed at the end, or removed
    if there was an error. The formats are those of :func:`read_table`.

    Parameters
    ----------
    path : path
        An existing file is replaced at the end.

    Examples
    --------
    >>> import tempfile, pandas as pd
    >>> from varpu.tabular import TableWriter, read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with TableWriter(f"{folder}/scores.csv") as writer:
    ...         writer.write(pd.DataFrame({"row": [0, 1], "probability": [0.25, 0.5]}))
    ...     read_table(f"{folder}/scores.csv")["probability"].tolist()
    [0.25, 0.5]
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._format = format_of(self.path)
        if self.path.is_dir():
            raise PUInputError(f"{self.path} is a folder, wanted the name of a file to write")
        if not self.path.parent.is_dir():
            raise PUInputError(f"{self.path.parent} is not a folder to write to")
        self._partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        self._schema: pa.Schema | None = None
        self._sink: Any = None
        self.rows = 0

    def __enter__(self) -> Self:
        with self._told():
            self._raw = self._partial.open("wb")
        self._stream = compressed(self._raw, self._format.compression)
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is None:
                with self._told():
                    self._finish()
                    os.replace(self._partial, self.path)
            else:
                with suppress(Exception):  # closed all the same, or it would be when forgotten
                    self._finish()
        finally:
            self._raw.close()
            self._partial.unlink(missing_ok=True)

    def write(self, frame: pd.DataFrame) -> None:
        """Add rows; every batch has the columns of the first."""
        with self._told():
            self._write(frame)
        self.rows += len(frame)

    def _write(self, frame: pd.DataFrame) -> None:
        if self._format.kind == "jsonl":
            text = frame.to_json(orient="records", lines=True, date_format="iso", force_ascii=False)
            text = text.strip("\n")
            self._stream.write(f"{text}\n".encode() if text else b"")
        else:
            table = pa.Table.from_pandas(frame, schema=self._schema, preserve_index=False)
            if self._schema is None:
                self._schema = table.schema.remove_metadata()
                self._sink = self._open(self._schema)
            self._sink.write_table(table.replace_schema_metadata())

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say which file it is that the disk has no room for, or may not be written."""
        try:
            yield
        except OSError as error:
            what = error.strerror or error
            raise PUInputError(f"{self.path} cannot be written: {what}") from None

    def _open(self, schema: pa.Schema) -> Any:
        kind = self._format.kind
        if kind == "parquet":
            return pyarrow.parquet.ParquetWriter(self._stream, schema)
        if kind == "arrow":
            return pyarrow.ipc.new_file(self._stream, schema)
        options = pyarrow.csv.WriteOptions(
            delimiter="\t" if kind == "tsv" else ",", quoting_style="needed"
        )
        return pyarrow.csv.CSVWriter(self._stream, schema, write_options=options)

    def _finish(self) -> None:
        if self._sink is not None:
            self._sink.close()
        if not self._stream.closed:
            self._stream.close()
