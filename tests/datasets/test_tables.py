"""The three tables, as published."""

import numpy as np
import pytest

from varpu.datasets import Dataset, avila, grid_stability, page_blocks
from varpu.exceptions import DatasetError, PUInputError

UCI_COUNTS = {1: 4913, 2: 329, 3: 28, 4: 88, 5: 115}


def counts(y):
    return dict(zip(*(part.tolist() for part in np.unique(y, return_counts=True)), strict=True))


def test_page_blocks(data_dir):
    data = page_blocks(data_home=data_dir, download=False)
    assert (data.X.shape, data.X.dtype) == ((5473, 10), np.float32)
    assert counts(data.y) == UCI_COUNTS
    assert len(data.feature_names) == 10
    first = [5, 7, 35, 1.4, 0.4, 0.657, 2.33, 14, 23, 6]
    assert np.array_equal(data.X[0], np.array(first, np.float32))
    # Of the columns by name: area is height times length, up to one case in the file itself.
    height, length, area = (data.X[:, data.feature_names.index(n)] for n in data.feature_names[:3])
    assert np.mean(height * length == area) > 0.999


def test_authors_page_blocks(data_dir):
    uci = page_blocks(data_home=data_dir)
    authors = page_blocks(copy="authors", data_home=data_dir)
    assert counts(authors.y) == {**UCI_COUNTS, 4: 87}
    assert (authors.y.dtype, authors.X.dtype) == (np.int64, np.float32)
    uci_rows = {tuple(row) for row in uci.X.tolist()}
    others = [at for at, row in enumerate(authors.X.tolist()) if tuple(row) not in uci_rows]
    assert others == [4, 13]
    assert authors.X[4, 3] == 500
    assert authors.X[13, 7:9].tolist() == [1, 737]


def test_grid_stability(data_dir):
    data = grid_stability(data_home=data_dir)
    assert (data.X.shape, data.X.dtype) == ((10_000, 12), np.float32)
    assert counts(data.y) == {"stable": 3620, "unstable": 6380}
    assert data.y.dtype.kind == "U"
    assert "stab" not in data.feature_names
    p = data.X[:, 4:8]
    assert np.allclose(p[:, 0], -p[:, 1:].sum(1), atol=1e-5)  # what is made is used


def test_the_sign_of_stab_is_the_label(data_dir):
    data = grid_stability(stab=True, data_home=data_dir)
    assert data.feature_names[12] == "stab"
    assert np.array_equal(data.X[:, 12] > 0, data.y == "unstable")
    assert np.array_equal(data.X[:, :12], grid_stability(data_home=data_dir).X)


def test_avila(data_dir):
    data = avila(data_home=data_dir)
    assert (data.X.shape, data.X.dtype) == ((20_867, 10), np.float32)
    assert (len(data.train), len(data.test)) == (10_430, 10_437)
    assert np.array_equal(np.concatenate([data.train, data.test]), np.arange(20_867))
    assert set(counts(data.y)) == set("ABCDEFGHIWXY")
    # From the description of the data set.
    assert counts(data.y[data.train])["A"] == 4286
    assert len(data.feature_names) == 10


def test_without_a_published_test_set():
    data = Dataset("made", np.zeros((3, 1)), np.zeros(3))
    for part in ("train", "test"):
        with pytest.raises(DatasetError, match=r"made .*sklearn\.model_selection"):
            getattr(data, part)
    assert repr(data) == "Dataset('made', X=float64(3, 1), n_train=None)"


def test_bad_copy():
    with pytest.raises(PUInputError, match="copy must be one of 'uci', 'authors'; got 'mine'"):
        page_blocks(copy="mine")
