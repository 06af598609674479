"""The three image sets of the paper, read from the official binary files."""

import gzip
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from varpu.datasets.dataset import Dataset
from varpu.datasets.files import fetch
from varpu.datasets.folders import Folder
from varpu.datasets.registry import DATASETS
from varpu.exceptions import DatasetError

Images = NDArray[np.uint8]
Labels = NDArray[np.int64]

_CIFAR_ROW = 1 + 3 * 32 * 32  # bytes


def fashion_mnist(*, data_home: Folder = None, download: bool = True) -> Dataset:
    """Fashion-MNIST: 70,000 grey images of 28 x 28, classes 0 to 9, the last 10,000 to test on.

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
    paths = fetch(DATASETS["fashion_mnist"], data_home, allow_download=download)
    X_train, y_train, X_test, y_test = map(read_idx, paths.values())
    X = np.concatenate([X_train, X_test])[:, None]  # (n, 1, 28, 28)
    y = np.concatenate([y_train, y_test]).astype(np.int64)
    return Dataset("fashion_mnist", X, y, len(y_train))


def cifar10(*, data_home: Folder = None, download: bool = True) -> Dataset:
    """CIFAR-10: 60,000 colour images of 32 x 32, classes 0 to 9, the last 10,000 to test on.

    Parameters
    ----------
    data_home : path, optional
        The folder to look in first, and to download to.
    download : bool
        Whether to download what is not found; 170 MB.

    Returns
    -------
    Dataset
    """
    paths = list(fetch(DATASETS["cifar10"], data_home, allow_download=download).values())
    X, y = read_cifar(paths)
    n_test = paths[-1].stat().st_size // _CIFAR_ROW
    return Dataset("cifar10", X, y, len(y) - n_test)


def stl10(*, unlabeled: bool = True, data_home: Folder = None, download: bool = True) -> Dataset:
    """STL-10: colour images of 96 x 96, 13,000 of them with classes 0 to 9, 100,000 without.

    First the 5,000 labelled training images, then the 100,000 unlabelled ones, whose class is -1,
    then the 8,000 to test on.

    Parameters
    ----------
    unlabeled : bool
        Whether to read the unlabelled images. All images take 3.1 GB of memory, the others 0.4 GB.
    data_home : path, optional
        The folder to look in first, and to download to.
    download : bool
        Whether to download what is not found; 2.6 GB, with the unlabelled images in any case.

    Returns
    -------
    Dataset
    """
    entry = DATASETS["stl10"]
    parts = ["train", "unlabeled", "test"] if unlabeled else ["train", "test"]
    only = [f.name for f in entry.files if f.name.partition("_")[0] in parts]
    paths = fetch(entry, data_home, allow_download=download, only=only)
    X = read_stl_images([paths[f"{part}_X.bin"] for part in parts])
    y_train, y_test = (
        np.fromfile(paths[f"{part}_y.bin"], np.uint8).astype(np.int64) - 1  # published as 1 to 10
        for part in ("train", "test")
    )
    y_between = np.full(len(X) - len(y_train) - len(y_test), -1)
    y = np.concatenate([y_train, y_between, y_test])
    return Dataset("stl10", X, y, len(X) - len(y_test))


def read_idx(path: Path) -> Images:
    """The array of bytes in a packed file of the MNIST format."""
    with gzip.open(path) as stream:
        data = stream.read()
    # Two zeros, 8 for unsigned bytes, the number of axes; then each axis as a big-endian integer.
    n_axes = data[3]
    shape = np.frombuffer(data, ">i4", n_axes, offset=4)
    if data[:3] != b"\0\0\x08" or len(data) != 4 + 4 * n_axes + np.prod(shape):
        raise DatasetError(f"{path} is not an IDX file of bytes")
    return np.frombuffer(data, np.uint8, offset=4 + 4 * n_axes).reshape(shape)


def read_cifar(paths: Sequence[Path]) -> tuple[Images, Labels]:
    """Images and labels of files in which each row is a label and 3 x 32 x 32 bytes."""
    rows = np.concatenate([np.fromfile(path, np.uint8) for path in paths]).reshape(-1, _CIFAR_ROW)
    X = np.ascontiguousarray(rows[:, 1:]).reshape(-1, 3, 32, 32)
    return X, rows[:, 0].astype(np.int64)


def read_stl_images(paths: Sequence[Path]) -> Images:
    """Images of files in which each is 3 x 96 x 96 bytes, column by column."""
    counts = [path.stat().st_size // (3 * 96 * 96) for path in paths]
    X = np.empty((sum(counts), 3, 96, 96), np.uint8)
    start = 0
    for path, n in zip(paths, counts, strict=True):
        # Mapped, not read: gigabytes would be held twice.
        stored = np.memmap(path, np.uint8, "r", shape=(n, 3, 96, 96))  # (n, C, W, H)
        X[start : start + n] = stored.transpose(0, 1, 3, 2)
        start += n
    return X
