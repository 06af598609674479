"""The three tables of the paper, from the UCI archive."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varpu.checks import one_of
from varpu.datasets.dataset import Dataset
from varpu.datasets.files import fetch
from varpu.datasets.folders import Folder
from varpu.datasets.registry import DATASETS

_BLOCKS = "height length area eccen p_black p_and mean_tr blackpix blackand wb_trans"
_GRID = "tau1 tau2 tau3 tau4 p1 p2 p3 p4 g1 g2 g3 g4 stab"
_AVILA = (
    "intercolumnar_distance upper_margin lower_margin exploitation row_number modular_ratio"
    " interlinear_spacing weight peak_number modular_ratio_by_interlinear_spacing"
)


def page_blocks(*, copy: str = "uci", data_home: Folder = None, download: bool = True) -> Dataset:
    """Page Blocks: 5,473 parts of scanned pages, 10 columns, no published test set.

    The classes are 1 text, 2 horizontal line, 3 graphic, 4 vertical line and 5 picture, with 4,913,
    329, 28, 88 and 115 rows.

    Parameters
    ----------
    copy : {"uci", "authors"}
        ``"authors"`` is the copy that came with the program of the paper's authors, to compare with
        it: 5,472 rows, as it lacks one of class 4, and two of them are damaged. Row 4 has ``eccen``
        500 where UCI has 0.5; row 13 has ``blackpix`` 1 and ``blackand`` 737 where UCI has 17 and
        37. They are read as they stand, since they are what the authors learned from. This copy
        cannot be downloaded.
    data_home : path, optional
        The folder to look in first, and to download to.
    download : bool
        Whether to download what is not found.

    Returns
    -------
    Dataset
    """
    one_of("copy", copy, ("uci", "authors"))
    entry = DATASETS["page_blocks" if copy == "uci" else "page_blocks_authors"]
    (path,) = fetch(entry, data_home, allow_download=download).values()
    X, y = _read(path, separator=r"\s+" if copy == "uci" else ",")
    return Dataset("page_blocks", X, y.astype(np.int64), None, tuple(_BLOCKS.split()))


def grid_stability(
    *, stab: bool = False, data_home: Folder = None, download: bool = True
) -> Dataset:
    """Electrical Grid Stability: 10,000 simulated grids, 12 columns, no published test set.

    The classes are ``"stable"`` (3,620) and ``"unstable"`` (6,380).

    Parameters
    ----------
    stab : bool
        Whether to keep the column ``stab``, from which the class was made: a grid is unstable where
        it is positive. A classifier that sees it has nothing to learn.
    data_home : path, optional
        The folder to look in first, and to download to.
    download : bool
        Whether to download what is not found.

    Returns
    -------
    Dataset
    """
    (path,) = fetch(DATASETS["grid_stability"], data_home, allow_download=download).values()
    X, y = _read(path, n_header=1)
    n_columns = 13 if stab else 12
    return Dataset(
        "grid_stability", X[:, :n_columns].copy(), y, None, tuple(_GRID.split()[:n_columns])
    )


def avila(*, data_home: Folder = None, download: bool = True) -> Dataset:
    """Avila: 20,867 patterns of a Latin bible, 10 columns, and which of 12 copyists wrote each.

    The first 10,430 rows are the published training set, the other 10,437 its test set. The
    classes are letters. The columns were standardised by those who published them.

    Parameters
    ----------
    data_home : path, optional
        The folder to look in first, and to download to.
    download : bool
        Whether to download what is not found.

    Returns
    -------
    Dataset
    """
    paths = fetch(DATASETS["avila"], data_home, allow_download=download)
    (X_train, y_train), (X_test, y_test) = map(_read, paths.values())
    X, y = np.concatenate([X_train, X_test]), np.concatenate([y_train, y_test])
    return Dataset("avila", X, y, len(y_train), tuple(_AVILA.split()))


def _read(
    path: Path, separator: str = ",", n_header: int = 0
) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """All columns but the last, and the last."""
    import pandas as pd

    frame = pd.read_csv(path, sep=separator, header=None, skiprows=n_header)
    y = frame.iloc[:, -1]
    X = frame.iloc[:, :-1].to_numpy(np.float32)
    return X, y.to_numpy() if pd.api.types.is_numeric_dtype(y) else y.to_numpy(str)
