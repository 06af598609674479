"""Reading of ``.Z`` files, those of the program ``compress``, which Python's library cannot do."""

from varpu.exceptions import DatasetError

_MAGIC = b"\x1f\x9d"
_CLEAR = 256  # in block mode: forget all strings


def uncompress(data: bytes) -> bytes:
    """The bytes that a ``.Z`` file holds.

    Codes are 9 bits wide at first, the lowest bit first, and one bit wider each time the table of
    strings is full. They come in groups of eight; where the width changes, the rest of the group is
    padding.
    """
    if len(data) < 3 or data[:2] != _MAGIC or not 10 <= data[2] & 31 <= 16:
        raise DatasetError("not a .Z file: its first bytes are wrong")
    widest, block_mode = data[2] & 31, bool(data[2] & 128)
    table = [bytes([value]) for value in range(256)] + [b""] * block_mode
    n_fixed = len(table)
    parts: list[bytes] = []
    previous = b""
    width, start, at = 9, 24, 24  # in bits
    while at + width <= 8 * len(data):
        window = int.from_bytes(data[at // 8 : at // 8 + 4], "little")
        code = window >> at % 8 & (1 << width) - 1
        at += width
        if block_mode and code == _CLEAR:
            del table[n_fixed:]
            start = at = _end_of_group(start, at, width)
            width, previous = 9, b""
            continue
        if code < len(table):
            string = table[code]
        elif code == len(table) and previous:
            string = previous + previous[:1]
        else:
            raise DatasetError("not a .Z file that can be read: a code has no string")
        parts.append(string)
        if previous and len(table) < 1 << widest:
            table.append(previous + string[:1])
        previous = string
        if len(table) == 1 << width and width < widest:
            start = at = _end_of_group(start, at, width)
            width += 1
    return b"".join(parts)


def _end_of_group(start: int, at: int, width: int) -> int:
    group = 8 * width
    return start + -(-(at - start) // group) * group
