"""Fits side by side: all come to their ends, whatever the others do."""

import pytest
import torch

from varpu.training.lanes import aside, join, own_stream, side_by_side

DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
    ),
]


def lane(name, epochs, log):
    for epoch in range(epochs):
        log.append((name, epoch))
        yield
    log.append((name, "end"))


@pytest.mark.parametrize("device", DEVICES)
def test_every_lane_runs_to_its_end_in_its_own_order(device):
    log, epochs = [], [3, 1, 0, 5]
    side_by_side((lane(i, n, log) for i, n in enumerate(epochs)), torch.device(device))
    for i, n in enumerate(epochs):
        assert [what for name, what in log if name == i] == [*range(n), "end"]


def test_a_cpu_finishes_one_lane_before_the_next():
    log = []
    side_by_side([lane("a", 2, log), lane("b", 1, log)], torch.device("cpu"))
    assert log == [("a", 0), ("a", 1), ("a", "end"), ("b", 0), ("b", "end")]


def test_an_error_in_a_lane_comes_out():
    def broken():
        yield
        raise RuntimeError("fire")

    with pytest.raises(RuntimeError, match="fire"):
        side_by_side([broken()], torch.device("cpu"))


@pytest.mark.parametrize("device", DEVICES)
def test_work_aside_is_there_after_joining(device):
    stream = own_stream(torch.device(device))
    assert (stream is None) == (device == "cpu")
    x = torch.arange(1000.0, device=device)
    with aside(stream):
        doubled = 2 * x
    join([stream])
    assert doubled.sum().item() == 999 * 1000
