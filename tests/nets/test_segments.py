"""One pass that holds several batches is as good as a pass for each."""

import copy

import pytest
import torch
from torch import nn

from varpu.nets.segments import Segments


def networks():
    table = nn.Sequential(
        nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 4), nn.BatchNorm1d(4)
    )
    image = nn.Sequential(
        nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3, momentum=0.3), nn.Flatten(), nn.Linear(27, 2)
    )
    return {"table": (table.double(), (3,)), "image": (image.double(), (2, 5, 5))}


both_kinds = pytest.mark.parametrize("kind", ["table", "image"])


def told_and_plain(kind):
    plain, shape = networks()[kind]
    told, segments = copy.deepcopy(plain), Segments()
    segments.attach(told)
    return told, segments, plain, shape


def assert_same_state(first, second):
    assert first.state_dict().keys() == second.state_dict().keys()
    for name, value in first.state_dict().items():
        torch.testing.assert_close(value, second.state_dict()[name], rtol=0, atol=1e-14)


@both_kinds
@pytest.mark.parametrize("sizes", [[6, 3], [4, 2, 5], [7]])
def test_one_pass_is_as_good_as_a_pass_for_each_batch(kind, sizes):
    told, segments, plain, shape = told_and_plain(kind)
    x = 5 * torch.randn(sum(sizes), *shape, dtype=torch.float64)
    segments(sizes)
    together = told(x)
    alone = torch.cat([plain(part) for part in x.split(sizes)])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)
    assert_same_state(told, plain)  # running statistics and their counts too
    weights = torch.randn_like(alone)
    for network, out in ((told, together), (plain, alone)):
        (weights * out).sum().backward()
        assert all(p.grad is not None for p in network.parameters())
    for actual, expected in zip(told.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(actual.grad, expected.grad, rtol=0, atol=1e-10)


@both_kinds
def test_without_sizes_a_pass_is_one_batch(kind):
    told, segments, plain, shape = told_and_plain(kind)
    x = torch.randn(9, *shape, dtype=torch.float64)
    segments([6, 3])
    segments([])
    torch.testing.assert_close(told(x), plain(x), rtol=0, atol=0)
    assert_same_state(told, plain)


@both_kinds
def test_sizes_do_not_matter_in_evaluation(kind):
    told, segments, plain, shape = told_and_plain(kind)
    warm = 3 + torch.randn(8, *shape, dtype=torch.float64)
    told(warm), plain(warm)
    told.eval(), plain.eval()
    segments([6, 3])
    for rows in (9, 4):  # not even the number of rows need fit
        x = torch.randn(rows, *shape, dtype=torch.float64)
        torch.testing.assert_close(told(x), plain(x), rtol=0, atol=0)
    assert_same_state(told, plain)
