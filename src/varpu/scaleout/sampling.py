"""Rows from all over a table in files, to find out on what its columns are."""

import numpy as np
import pandas as pd

from varpu.scaleout.sources import TableFiles

# About so many rows, from up to so many places of the table.
_ROWS, _PLACES = 100_000, 32


def sample_of(files: TableFiles, columns: list[str]) -> pd.DataFrame:
    """These columns of about 100,000 rows, or of all where there are fewer."""
    places, each = files.units, files.n_rows
    if files.n_rows > _ROWS:
        if len(places) > _PLACES:
            spread = np.linspace(0, len(places) - 1, _PLACES).round()
            places = [files.units[int(i)] for i in spread]
        each = -(-_ROWS // len(places))
    frames = []
    for unit in places:
        first = unit.part(0, min(each, unit.rows))
        frames += [files.frame(unit, table) for table in files.read(first, columns, first.rows)]
    return pd.concat(frames, ignore_index=True)
