"""Read ahead: the next piece is made while one is worked on."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Piece = TypeVar("Piece")


def ahead(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The same pieces, each made in another thread before it is asked for."""
    end = object()
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, pieces, end)
        while (piece := coming.result()) is not end:
            coming = pool.submit(next, pieces, end)
            yield piece  # type: ignore[misc]
