"""Rows on disk in XGBoost's own order, so that its several passes over them cost little."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varpu.boosting.xgboost_growing import import_xgboost

# XGBoost takes the rows in pages of about so many bytes; a few are in memory at a time.
_PAGE = 64 << 20


class Spool:
    """A file of encoded rows in single precision.

    Parameters
    ----------
    folder : Path
        A temporary folder, which XGBoost uses as well.
    n_columns : int

    Attributes
    ----------
    n_rows : int
    """

    def __init__(self, folder: Path, n_columns: int) -> None:
        self._folder, self._file = folder, folder / "rows"
        self.n_columns, self.n_rows = n_columns, 0
        self._file.touch()

    def append(self, matrix: NDArray[np.float32]) -> None:
        """Add rows."""
        with self._file.open("ab") as file:
            np.ascontiguousarray(matrix).tofile(file)
        self.n_rows += len(matrix)

    def pages(self) -> list[tuple[int, int]]:
        """First row and number of rows of each page; pages are of equal size, nearly."""
        n_pages = max(1, -(-self.n_rows * self.n_columns * 4 // _PAGE))
        ends = [self.n_rows * i // n_pages for i in range(n_pages + 1)]
        return [(a, b - a) for a, b in pairwise(ends)]

    def read(self, first: int, n_rows: int) -> NDArray[np.float32]:
        """Some of the rows, by an ordinary read: mapped memory would count as this process's."""
        flat = np.fromfile(
            self._file,
            dtype=np.float32,
            count=n_rows * self.n_columns,
            offset=first * self.n_columns * 4,
        )
        return flat.reshape(n_rows, self.n_columns)

    def matrix(self, max_bin: int, n_threads: int, types: list[str]) -> Any:
        """The rows as XGBoost's matrix of bins in external memory."""
        xgboost = import_xgboost()
        spool = self

        class Pages(xgboost.DataIter):  # type: ignore[name-defined]
            """One page after the other."""

            def __init__(self) -> None:
                self._left = spool.pages()
                super().__init__(cache_prefix=str(spool._folder / "bins"), on_host=False)

            def next(self, input_data: Any) -> bool:
                if not self._left:
                    return False
                page = spool.read(*self._left.pop(0))
                input_data(data=page, feature_types=types)
                return True

            def reset(self) -> None:
                self._left = spool.pages()

        return xgboost.ExtMemQuantileDMatrix(
            Pages(), max_bin=max_bin, nthread=n_threads, enable_categorical=True
        )
