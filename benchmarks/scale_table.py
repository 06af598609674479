"""A table of any length whose truth is known, written batch by batch.

    python benchmarks/scale_table.py ROWS FILE [SEED]

Twenty columns of standard normal numbers. The log-odds of the positive class depend on five of them
and on a product of two more; the prior is about 0.3, and 10% of the positives are labelled.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

COLUMNS = 20
GROUP = 100_000
LABELLED = 0.1


def log_odds(X):
    """Of the positive class, by the columns."""
    straight = X[:, :5] @ np.array([2.0, -1.5, 1.0, 1.0, -0.5])
    return straight + 2.0 * X[:, 5] * X[:, 6] - 2.1


def batch(n, seed, number):
    """Columns, truth and labels of one batch; each has a generator of its own."""
    rng = np.random.default_rng([seed, number])
    X = rng.standard_normal((n, COLUMNS), dtype=np.float32)
    truth = rng.random(n) < 1 / (1 + np.exp(-log_odds(X)))
    return X, truth, truth & (rng.random(n) < LABELLED)


def write(path, rows, seed=0):
    """The table, with a column ``labelled`` of 1 and 0; the truth is not in it."""
    schema = pa.schema(
        [(f"x{i}", pa.float32()) for i in range(COLUMNS)] + [("labelled", pa.int8())]
    )
    partial = Path(path).with_suffix(".partial")
    with pyarrow.parquet.ParquetWriter(partial, schema, compression="snappy") as writer:
        for number, first in enumerate(range(0, rows, GROUP)):
            X, _, labelled = batch(min(GROUP, rows - first), seed, number)
            columns = [pa.array(column) for column in np.ascontiguousarray(X.T)]
            columns.append(pa.array(labelled.astype(np.int8)))
            writer.write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=GROUP)
    partial.replace(path)


if __name__ == "__main__":
    write(sys.argv[2], int(sys.argv[1]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
