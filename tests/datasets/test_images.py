"""The three image sets: the real files where they are, and small ones of the official layouts."""

import gzip

import numpy as np
import pytest

from varpu.datasets import cifar10, fashion_mnist, stl10
from varpu.datasets.images import read_idx
from varpu.datasets.registry import DATASETS
from varpu.exceptions import DatasetError

RANDOM = np.random.default_rng(0)


def some_images(n, *shape):
    return RANDOM.integers(0, 256, (n, *shape), np.uint8)


@pytest.fixture
def small(tmp_path, monkeypatch, made):
    """Put small files in the place of those of a data set, sums and all."""

    def put(name, contents):
        assert [*contents] == [file.path for file in DATASETS[name].files]
        made.files(tmp_path, contents)
        monkeypatch.setitem(DATASETS, name, made.entry(contents))
        return tmp_path

    return put


def idx(array):
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    return gzip.compress(head + array.tobytes())


def test_small_fashion_mnist(small):
    X, y = some_images(7, 28, 28), np.arange(7, dtype=np.uint8)
    raw = "FashionMNIST/raw/"
    home = small(
        "fashion_mnist",
        {
            f"{raw}train-images-idx3-ubyte.gz": idx(X[:5]),
            f"{raw}train-labels-idx1-ubyte.gz": idx(y[:5]),
            f"{raw}t10k-images-idx3-ubyte.gz": idx(X[5:]),
            f"{raw}t10k-labels-idx1-ubyte.gz": idx(y[5:]),
        },
    )
    data = fashion_mnist(data_home=home, download=False)
    assert np.array_equal(data.X, X[:, None])
    assert np.array_equal(data.y, y)
    assert data.test.tolist() == [5, 6]


def test_fashion_mnist(data_dir):
    data = fashion_mnist(data_home=data_dir, download=False)
    assert (data.X.shape, data.X.dtype, data.y.dtype) == ((70_000, 1, 28, 28), np.uint8, np.int64)
    assert np.array_equal(np.bincount(data.y[data.train]), np.full(10, 6_000))
    assert np.array_equal(np.bincount(data.y[data.test]), np.full(10, 1_000))
    assert data.y[0] == 9  # an ankle boot
    assert data.X[data.train].mean() / 255 == pytest.approx(0.2860, abs=1e-4)


@pytest.mark.parametrize("data", [b"\0\0\x09\x01\0\0\0\x01a", b"\0\0\x08\x01\0\0\0\x02a"])
def test_other_files_are_no_idx(tmp_path, data):
    (tmp_path / "file.gz").write_bytes(gzip.compress(data))
    with pytest.raises(DatasetError, match="not an IDX file"):
        read_idx(tmp_path / "file.gz")


def test_small_cifar10(small):
    X, y = some_images(18, 3, 32, 32), RANDOM.integers(0, 10, 18, np.uint8)
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    contents = {}
    for at, name in enumerate(names):
        rows = range(3 * at, 3 * at + 3)
        content = b"".join(bytes([y[row]]) + X[row].tobytes() for row in rows)
        contents[f"cifar-10-batches-bin/{name}.bin"] = content
    data = cifar10(data_home=small("cifar10", contents), download=False)
    assert np.array_equal(data.X, X)
    assert np.array_equal(data.y, y)
    assert data.X.flags.c_contiguous
    assert data.test.tolist() == [15, 16, 17]


def test_cifar10():
    try:
        data = cifar10(download=False)
    except DatasetError as error:
        if "not found" not in str(error):
            raise
        pytest.skip("CIFAR-10 is neither in VARPU_DATA nor in the cache")
    assert (data.X.shape, data.X.dtype, data.n_train) == ((60_000, 3, 32, 32), np.uint8, 50_000)
    assert np.array_equal(np.bincount(data.y[data.train]), np.full(10, 5_000))
    assert np.array_equal(np.bincount(data.y[data.test]), np.full(10, 1_000))
    # The means of the channels that everyone uses.
    means = data.X[:50_000].mean((0, 2, 3)) / 255
    assert means == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-4)


def stl_contents(X, y):
    stored = X.transpose(0, 1, 3, 2)  # column by column
    parts = {
        "train_X": stored[:4],
        "train_y": y[:4] + 1,
        "unlabeled_X": stored[4:9],
        "test_X": stored[9:],
        "test_y": y[9:] + 1,
    }
    return {f"stl10_binary/{name}.bin": part.tobytes() for name, part in parts.items()}


def test_small_stl10(small):
    X, y = some_images(11, 3, 96, 96), RANDOM.integers(0, 10, 11, np.uint8)
    home = small("stl10", stl_contents(X, y))
    data = stl10(data_home=home, download=False)
    assert np.array_equal(data.X, X)
    assert data.y.tolist() == [*y[:4], *[-1] * 5, *y[9:]]
    assert (data.n_train, data.test.tolist()) == (9, [9, 10])
    assert data.X.flags.c_contiguous
    assert data.y.dtype == np.int64


def test_small_stl10_without_unlabelled_images(small):
    X, y = some_images(11, 3, 96, 96), RANDOM.integers(0, 10, 11, np.uint8)
    home = small("stl10", stl_contents(X, y))
    (home / "stl10_binary" / "unlabeled_X.bin").unlink()
    data = stl10(unlabeled=False, data_home=home, download=False)
    assert np.array_equal(data.X, X[[*range(4), 9, 10]])
    assert data.y.tolist() == [*y[:4], *y[9:]]
    assert data.n_train == 4
    with pytest.raises(DatasetError, match=r"unlabeled_X\.bin not found"):
        stl10(data_home=home, download=False)


def test_sizes_of_stl10():
    image = 3 * 96 * 96
    sizes = {file.name: file.size for file in DATASETS["stl10"].files}
    assert sizes == {
        "train_X.bin": 5_000 * image,
        "train_y.bin": 5_000,
        "unlabeled_X.bin": 100_000 * image,
        "test_X.bin": 8_000 * image,
        "test_y.bin": 8_000,
    }
