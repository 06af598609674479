"""Reading of .Z files, on files that gzip reads the same way."""

import shutil
import subprocess

import numpy as np
import pytest

from varpu.datasets.lzw import uncompress
from varpu.exceptions import DatasetError


def compress(data, widest=16, clear_at=None):
    """A .Z file; after so many codes ``clear_at`` the table is thrown away once."""
    out, width = bytearray(b"\x1f\x9d" + bytes([0x80 | widest])), 9
    table = {bytes([value]): value for value in range(256)}
    free, codes, written = 257, [], 0

    def flush():
        nonlocal codes
        bits = sum(code << width * at for at, code in enumerate(codes))
        n_bytes = -(-len(codes) * width // 8)
        out.extend(bits.to_bytes(n_bytes, "little"))
        codes = []

    def pad():
        codes.extend([0] * (-len(codes) % 8))
        flush()

    string = b""
    for at in range(len(data) + 1):
        longer = string + data[at : at + 1]
        if at < len(data) and longer in table:
            string = longer
            continue
        codes.append(table[string])
        written += 1
        if len(codes) == 8:
            flush()
        # The reader knows a new string one code later than the writer does.
        if free == 1 << width and width < widest:
            pad()
            width += 1
        if free < 1 << widest:
            table[longer] = free
            free += 1
        if written == clear_at:
            codes.append(256)
            pad()
            table, free, width = {bytes([value]): value for value in range(256)}, 257, 9
        string = data[at : at + 1]
    flush()
    return bytes(out)


RANDOM = np.random.default_rng(0)
WORDS = " ".join(RANDOM.choice(["1.167", ".400", "35", "7", "  "], 60_000)).encode()
NOISE = RANDOM.bytes(100_000)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (b"a", {}),
        (b"a" * 1000, {}),
        (WORDS, {}),
        (WORDS, {"widest": 12}),
        (WORDS, {"clear_at": 5_000}),
        (NOISE, {}),
        (NOISE, {"widest": 10}),
    ],
)
def test_comes_back(data, options):
    packed = compress(data, **options)
    if shutil.which("gzip"):
        reading = subprocess.run(["gzip", "-dc"], input=packed, capture_output=True, timeout=60)
        assert reading.stdout == data  # the file is a proper one
    assert uncompress(packed) == data


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"\x1f\x9d\x80", b"\x1f\x8b\x08\x00"])
def test_other_files(data):
    with pytest.raises(DatasetError, match=r"not a \.Z file"):
        uncompress(data)


def test_code_without_a_string():
    with pytest.raises(DatasetError, match="no string"):
        uncompress(b"\x1f\x9d\x90" + b"\xff" * 9)
