"""The table of files is complete, and the package light."""

import hashlib
import subprocess
import sys

import pytest

from varpu.datasets.registry import DATASETS, lookup
from varpu.exceptions import PUInputError

FILES = [file for entry in DATASETS.values() for file in entry.files]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path)
def test_every_file_has_a_sum_and_a_source(file):
    algorithm, digest = file.checksum.split(":")
    assert len(digest) == 2 * hashlib.new(algorithm).digest_size
    assert int(digest, 16)
    assert file.size > 0
    assert file.url or file.name == "authors-pageblocks.txt"


def test_paths_are_different():
    assert len({file.path for file in FILES}) == len(FILES)
    assert len({file.checksum for file in FILES}) == len(FILES)


def test_the_published_sums_are_ours(data_dir):
    listed = data_dir / "SHA256SUMS"
    if not listed.exists():
        pytest.skip("VARPU_DATA has no SHA256SUMS")
    sums = {path: digest for digest, path in map(str.split, listed.read_text().splitlines())}
    ours = {file.path: file.checksum for file in FILES if file.checksum.startswith("sha256")}
    assert ours == {path: f"sha256:{sums[path]}" for path in ours}


def test_lookup():
    assert lookup("page-blocks") is lookup("page_blocks") is DATASETS["page_blocks"]
    with pytest.raises(PUInputError, match="no data set 'mnist'; there are page_blocks, "):
        lookup("mnist")


def test_import_is_light():
    code = "import sys, varpu.datasets; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert "varpu.datasets.pu" in loaded.split()
    barred = {"pooch", "pandas", "rich", "torch", "sklearn", "scipy", "requests"}
    assert not barred & set(loaded.split())
