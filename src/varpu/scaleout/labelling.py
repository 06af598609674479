"""Which rows of a table in files are labelled: one bit a row, from the label column alone."""

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from varpu.exceptions import PUInputError
from varpu.scaleout.sources import TableFiles, Unit
from varpu.tabular.labels import read_labels
from varpu.tabular.values import as_text

_ROWS_AT_ONCE = 262_144
# A label column with more values than this is none; further ones are not told apart.
_MOST_VALUES = 10_000

Truths = NDArray[np.bool_]


class Labels:
    """The labels of every row.

    Attributes
    ----------
    positive : str
        The value that marks positives, as text.
    n_positive : int
    """

    def __init__(self, positive: str, bits: dict[tuple[int, int], NDArray[np.uint8]]) -> None:
        self.positive, self._bits = positive, bits
        self.n_positive = sum(int(np.unpackbits(packed).sum()) for packed in bits.values())

    def of(self, unit: Unit) -> Truths:
        """Which rows of a unit are labelled."""
        first, skip = divmod(unit.start, 8)
        last = -(-(unit.start + unit.rows) // 8)
        packed = self._bits[unit.file, unit.group][first:last]
        return np.unpackbits(packed, count=skip + unit.rows).view(np.bool_)[skip:]

    def has_positives(self, unit: Unit) -> bool:
        """Whether the row group of a unit has a labelled row."""
        return bool(self._bits[unit.file, unit.group].any())


def labels_of(files: TableFiles, label: str, positive: Any = None) -> Labels:
    """Read the label column, by the rules of :func:`varpu.tabular.labels.read_labels`.

    It is read twice: what marks positives is only known when all values have been seen.
    """
    counts: Counter[str | None] = Counter()
    for unit in files.units:
        for piece in files.read(unit, [label], _ROWS_AT_ONCE):
            values, codes = _coded(label, piece.column(0))
            times = np.bincount(codes, minlength=len(values))
            for value, n in zip(values, times.tolist(), strict=True):
                if n and (value in counts or len(counts) < _MOST_VALUES):
                    counts[value] += n
    # One row for each value tells the same as all rows, and raises the same errors.
    common = [value for value, _ in counts.most_common()]
    _, marker, _ = read_labels(pd.Series(common, name=label, dtype=object), positive)
    bits = {}
    for unit in files.units:
        labelled = []
        for piece in files.read(unit, [label], _ROWS_AT_ONCE):
            values, codes = _coded(label, piece.column(0))
            labelled.append(np.array([value == marker for value in values])[codes])
        bits[unit.file, unit.group] = np.packbits(np.concatenate(labelled))
    return Labels(marker, bits)


def _coded(label: str, column: Any) -> tuple[list[str | None], NDArray[np.int64]]:
    """Distinct values as text, the last of them missing, and the number of each row's value."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        coded = column.combine_chunks().dictionary_encode()
    except pa.ArrowException:
        raise PUInputError(
            f"the label column {label!r} must hold numbers, words or truth values; it holds"
            f" {column.type}"
        ) from None
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.chunk(0)
    text = as_text(coded.dictionary.to_pandas())
    values = [None if pd.isna(value) or not value.strip() else str(value) for value in text]
    codes = coded.indices.fill_null(len(values)).to_numpy(zero_copy_only=False)
    return [*values, None], codes.astype(np.int64)
