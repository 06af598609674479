"""Tables in files: read them, find out what their columns are, learn, score and write.

>>> from varpu.tabular import TableModel, read_table
"""

from varpu.tabular.encoder import TableEncoder
from varpu.tabular.labels import find_column, joined_tables, read_labels
from varpu.tabular.model import TableModel
from varpu.tabular.reading import read_table, table_batches
from varpu.tabular.writing import TableWriter

__all__ = [
    "TableEncoder",
    "TableModel",
    "TableWriter",
    "find_column",
    "joined_tables",
    "read_labels",
    "read_table",
    "table_batches",
]
