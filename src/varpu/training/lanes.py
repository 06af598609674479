"""Fits side by side on one GPU: each lane has a stream of its own, so small kernels share the card.

A lane is a generator that yields whenever it has handed the device an epoch's work. While the
device is busy with it the other lanes hand over theirs; a CPU finishes one lane after the other.
"""

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator

import torch

# More streams than this gain nothing: by then the card is full or the host is the slower one.
MOST_LANES = 8
# Of the free memory, the part that further lanes may take: their needs are a guess from the first.
_SHARE_OF_FREE = 0.7

Lane = Iterator[None]


def side_by_side(lanes: Iterable[Lane], device: torch.device, most: int = MOST_LANES) -> None:
    """Run lanes to their ends, on a GPU as many at a time as its memory has room for."""
    if device.type != "cuda":
        for lane in lanes:
            deque(lane, maxlen=0)
        return
    waiting = deque(lanes)
    active: deque[tuple[Lane, torch.cuda.Stream]] = deque()
    streams = [torch.cuda.Stream(device) for _ in range(most)]
    room, before = 1, torch.cuda.memory_reserved(device)
    has_tried = False
    while waiting or active:
        while waiting and len(active) < room:
            stream = streams.pop()
            stream.wait_stream(torch.cuda.current_stream(device))
            active.append((waiting.popleft(), stream))
        lane, stream = active.popleft()
        with torch.cuda.stream(stream):
            has_more = next(lane, True) is None  # a lane yields None
        if has_more:
            active.append((lane, stream))
        else:
            torch.cuda.current_stream(device).wait_stream(stream)
            streams.append(stream)
        if waiting and not has_tried:
            room, has_tried = _room(device, before, most), True


def _room(device: torch.device, before: int, most: int) -> int:
    """How many lanes fit, judged by what the first took for its first epoch."""
    torch.cuda.synchronize(device)
    taken = max(1, torch.cuda.memory_reserved(device) - before)
    free, _ = torch.cuda.mem_get_info(device)
    return min(most, 1 + int(_SHARE_OF_FREE * free / taken))


def own_stream(device: torch.device) -> torch.cuda.Stream | None:
    """A stream beside the current one; None on a CPU, which has none."""
    return torch.cuda.Stream(device) if device.type == "cuda" else None


@contextlib.contextmanager
def aside(stream: torch.cuda.Stream | None) -> Iterator[None]:
    """Work that begins after the current stream's, on ``stream``; join it with :func:`join`."""
    if stream is None:
        yield
        return
    stream.wait_stream(torch.cuda.current_stream(stream.device))
    with torch.cuda.stream(stream):
        yield


def join(streams: Iterable[torch.cuda.Stream | None]) -> None:
    """Make the current stream wait for these."""
    for stream in streams:
        if stream is not None:
            torch.cuda.current_stream(stream.device).wait_stream(stream)
