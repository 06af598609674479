"""Which rows a batch takes: every row once a pass, whole batches only, small sides evenly."""

import numpy as np
import pytest
import torch

from varpu.training import DeviceRows
from varpu.training.draws import STREAM_P
from varpu.training.rows import RowStream, padded


def stream(lengths, batch, steps, seeds=None):
    """A stream whose member k has the rows 1000 k, 1000 k + 1, ..."""
    rows = [1000 * k + np.arange(length) for k, length in enumerate(lengths)]
    return RowStream(rows, batch, steps, torch.tensor(seeds or range(len(lengths))), STREAM_P)


def test_shape_and_ownership():
    epoch = stream([23, 40, 7], batch=5, steps=9).epoch(0)
    assert epoch.shape == (9, 3, 5)
    for k, length in enumerate([23, 40, 7]):
        own = epoch[:, k]
        assert ((own >= 1000 * k) & (own < 1000 * k + length)).all()


def test_every_row_comes_at_most_once_a_pass_and_the_last_incomplete_batch_is_dropped():
    # 23 rows are four batches of five; the three rows left over wait for the next pass.
    epoch = stream([23], batch=5, steps=10).epoch(0)[:, 0]
    for first in (0, 4, 8):
        taken = epoch[first : first + 4].flatten()
        assert len(taken.unique()) == len(taken)
    left_over = [
        set(range(23)) - set(epoch[first : first + 4].flatten().tolist()) for first in (0, 4)
    ]
    assert all(len(left) == 3 for left in left_over)
    assert left_over[0] != left_over[1]  # a fresh permutation leaves others over


def test_a_side_that_divides_into_batches_is_used_up_in_every_pass():
    epoch = stream([20], batch=5, steps=8).epoch(0)[:, 0]
    for first in (0, 4):
        assert sorted(epoch[first : first + 4].flatten().tolist()) == list(range(20))


def test_a_side_as_large_as_a_batch_is_a_permutation_each_time():
    epoch = stream([6], batch=6, steps=5).epoch(0)[:, 0]
    assert all(sorted(batch.tolist()) == list(range(6)) for batch in epoch)
    assert len({tuple(batch.tolist()) for batch in epoch}) > 1


@pytest.mark.parametrize(("length", "batch"), [(3, 8), (4, 8), (1, 5), (7, 8)])
def test_a_side_smaller_than_a_batch_repeats_evenly(length, batch):
    epoch = stream([length], batch, steps=300).epoch(0)[:, 0]
    counts = torch.stack([torch.bincount(line, minlength=length) for line in epoch])
    assert counts.min() == batch // length
    assert counts.max() == -(-batch // length)
    # Whose turn it is to come once more is drawn: no row has it more often than chance allows.
    extra = (counts - batch // length).double().mean(dim=0)
    share = (batch % length) / length
    assert (extra - share).abs().max() <= 4 * (share * (1 - share) / 300) ** 0.5


def test_repetitions_inside_a_batch_are_permutations_of_their_own():
    epoch = stream([5], batch=12, steps=20).epoch(0)[:, 0]
    first, second, rest = epoch.split([5, 5, 2], dim=1)
    for part in (first, second):
        assert all(sorted(line.tolist()) == list(range(5)) for line in part)
    assert (first != second).any(dim=1).float().mean() > 0.8  # one in 120 agrees by chance
    assert (first[:, :2] != rest).any(dim=1).float().mean() > 0.5


def test_a_members_batches_do_not_depend_on_the_stack():
    among = stream([23, 40, 7], batch=8, steps=9, seeds=[5, 6, 7])
    for k, length in enumerate([23, 40, 7]):
        alone = stream([length], batch=8, steps=9, seeds=[5 + k])
        assert torch.equal(among.epoch(3)[:, k], alone.epoch(3)[:, 0] + 1000 * k)


def test_epochs_and_seeds_have_their_own_batches_and_an_epoch_comes_out_the_same_again():
    rows = stream([40, 40], batch=8, steps=5, seeds=[1, 2])
    first = rows.epoch(0)
    assert not torch.equal(rows.epoch(1), first)
    assert not torch.equal(first[:, 0], first[:, 1] - 1000)
    assert torch.equal(rows.epoch(0), first)


def test_padded_keeps_the_rows_and_their_number():
    table, lengths = padded(
        [np.array([4, 2]), np.array([], dtype=int), np.array([7])], torch.device("cpu")
    )
    assert lengths.tolist() == [2, 0, 1]
    assert [line[:n].tolist() for line, n in zip(table, lengths, strict=True)] == [[4, 2], [], [7]]


def test_device_rows_are_the_rows_of_the_table_in_their_own_type():
    X = torch.arange(24, dtype=torch.uint8).reshape(6, 2, 2)
    numbers = torch.tensor([[5, 0, 5], [1, 2, 3]])
    taken = DeviceRows(X)[numbers]
    assert taken.dtype == torch.uint8
    assert taken.shape == (2, 3, 2, 2)
    assert torch.equal(taken, X[numbers])


def test_device_rows_are_prepared_by_the_batch():
    X = torch.arange(6, dtype=torch.uint8).reshape(6, 1)
    rows = DeviceRows(X, lambda batch: batch.float() / 2)
    assert torch.equal(rows[torch.tensor([[1, 3]])], torch.tensor([[[0.5], [1.5]]]))
