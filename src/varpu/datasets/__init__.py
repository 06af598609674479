"""The data sets of the paper, checked against their sums, and PU splits of labelled data.

Files are looked for in ``data_home``, in the folder that the variable ``VARPU_DATA`` names and in
the user's cache; what is in none of them is downloaded from its official source.
"""

from varpu.datasets.dataset import Dataset
from varpu.datasets.images import cifar10, fashion_mnist, stl10
from varpu.datasets.pu import make_pu
from varpu.datasets.split import PUSplit
from varpu.datasets.tables import avila, grid_stability, page_blocks

__all__ = [
    "page_blocks",
    "grid_stability",
    "avila",
    "fashion_mnist",
    "cifar10",
    "stl10",
    "make_pu",
    "Dataset",
    "PUSplit",
]
