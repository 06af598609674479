"""Draws that are functions of seed, epoch and position: reproducible, independent, well spread."""

import numpy as np
import pytest
import torch
from scipy import stats

from varpu.training.draws import (
    STREAM_P,
    STREAM_U,
    hashed,
    mixing_weights,
    normal,
    permutations,
)

MASK = 2**64 - 1


def seeds(*values):
    return torch.tensor(values)


def unsigned(tensor):
    return [value & MASK for value in tensor.flatten().tolist()]


def splitmix64(state):
    """The next state and output of Steele, Lea and Flood's generator, in Python's integers."""
    state = (state + 0x9E3779B97F4A7C15) & MASK
    z = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return state, z ^ (z >> 31)


def test_hash_of_seed_zero_is_the_published_sequence_of_splitmix64():
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
    assert unsigned(hashed(seeds(0), torch.arange(4))) == published
    assert [unsigned(hashed(seeds(0), n))[0] for n in range(4)] == published


def test_hash_is_splitmix64_from_a_scrambled_seed():
    for seed in (1, 7, 2**31 - 2, 2**62 + 5):
        state = splitmix64((seed - 0x9E3779B97F4A7C15) & MASK)[1]  # the scramble alone
        expected = []
        for _ in range(5):
            state, output = splitmix64(state)
            expected.append(output)
        assert unsigned(hashed(seeds(seed), torch.arange(5))) == expected


def test_hash_is_a_function_of_its_arguments_alone():
    first = hashed(seeds(1, 2, 3).reshape(-1, 1), 4, torch.arange(6))
    torch.rand(5)
    assert torch.equal(hashed(seeds(1, 2, 3).reshape(-1, 1), 4, torch.arange(6)), first)
    assert torch.equal(hashed(seeds(2).reshape(-1, 1), 4, torch.arange(6))[0], first[1])


def test_a_counter_may_be_a_number_or_a_tensor():
    for counter in (0, 1, 12345, 2**40):
        assert torch.equal(hashed(seeds(3), counter), hashed(seeds(3), torch.tensor([counter])))


def test_hashes_of_many_counters_are_all_different_and_every_bit_is_fair():
    values = hashed(
        seeds(*range(50)).reshape(-1, 1, 1), torch.arange(20).reshape(-1, 1), torch.arange(20)
    ).flatten()
    assert len(values.unique()) == len(values) == 20_000
    ones = ((values.unsqueeze(-1) >> torch.arange(64)) & 1).double().mean(dim=0)
    # Five standard deviations of a mean of 20,000 fair coins.
    assert (ones - 0.5).abs().max() < 5 * 0.5 / 20_000**0.5


def test_the_order_of_counters_matters():
    assert not torch.equal(hashed(seeds(1), 2, 3), hashed(seeds(1), 3, 2))


def test_permutations_are_permutations_with_padding_last():
    lengths = torch.tensor([5, 9, 1])
    order = permutations(seeds(1, 2, 3), STREAM_P, 0, 4, lengths)
    assert order.shape == (3, 4, 9)
    for k, length in enumerate(lengths.tolist()):
        for line in order[k]:
            assert sorted(line[:length].tolist()) == list(range(length))
            assert sorted(line[length:].tolist()) == list(range(length, 9))


def test_a_members_permutations_do_not_depend_on_stack_or_padding_or_number_of_passes():
    alone = permutations(seeds(2), STREAM_P, 3, 2, torch.tensor([7]))
    among = permutations(seeds(1, 2, 3), STREAM_P, 3, 5, torch.tensor([30, 7, 12]))
    assert torch.equal(among[1, :2, :7], alone[0])


def test_permutations_differ_between_seeds_streams_epochs_and_passes():
    lengths = torch.tensor([50, 50])
    first = permutations(seeds(1, 2), STREAM_P, 0, 2, lengths)
    orders = [
        *first.reshape(4, 50),
        permutations(seeds(1), STREAM_U, 0, 1, lengths[:1])[0, 0],
        permutations(seeds(1), STREAM_P, 1, 1, lengths[:1])[0, 0],
    ]
    assert len({tuple(order.tolist()) for order in orders}) == 6


def test_every_order_is_equally_likely():
    orders = permutations(seeds(5), STREAM_U, 0, 12_000, torch.tensor([4]))[0]
    _, counts = torch.unique(orders, dim=0, return_counts=True)
    assert len(counts) == 24
    assert stats.chisquare(counts.numpy()).pvalue > 0.01


def test_normal_draws_are_standard_normal():
    draws = normal(seeds(1, 2), torch.tensor([7]), (100, 250))
    assert draws.shape == (2, 100, 250)
    n = draws.numel()
    assert abs(draws.mean().item()) < 4 / n**0.5
    assert abs(draws.var().item() - 1) < 4 * (2 / n) ** 0.5
    assert stats.kstest(draws.flatten().numpy(), "norm").pvalue > 0.01
    assert draws.isfinite().all()


def test_normal_draws_of_members_and_steps_are_unrelated():
    draws = [
        *normal(seeds(1, 2), torch.tensor([7]), (20_000,)),
        *normal(seeds(1), torch.tensor([8]), (20_000,)),
    ]
    related = torch.corrcoef(torch.stack(draws)) - torch.eye(3)
    assert related.abs().max() < 4 / 20_000**0.5


def test_a_members_normal_draws_do_not_depend_on_the_stack():
    among = normal(seeds(1, 2, 3), torch.tensor([4]), (5, 6))
    assert torch.equal(normal(seeds(2), torch.tensor([4]), (5, 6))[0], among[1])


@pytest.mark.parametrize("alpha", [0.3, 1.0, 4.0])
def test_mixing_weights_are_beta_draws(alpha):
    draws = mixing_weights([1, 2], alpha, epochs=100, steps=50)
    assert draws.shape == (100, 50, 2)
    assert draws.dtype == torch.float32
    assert ((draws >= 0) & (draws <= 1)).all()
    for member in draws.unbind(dim=-1):
        assert stats.kstest(member.flatten().double(), "beta", args=(alpha, alpha)).pvalue > 0.01


def test_a_members_mixing_weights_depend_on_its_seed_alone():
    alone, among = mixing_weights([2], 0.3, 3, 4), mixing_weights([1, 2], 0.3, 3, 4)
    assert torch.equal(alone[..., 0], among[..., 1])
    assert not torch.equal(among[..., 0], among[..., 1])


def test_a_longer_fit_begins_with_the_mixing_weights_of_a_shorter_one():
    assert torch.equal(mixing_weights([1], 0.3, 5, 4)[:3], mixing_weights([1], 0.3, 3, 4))


def test_global_generators_are_left_alone():
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    mixing_weights([1], 0.3, 3, 4)
    normal(seeds(1), torch.tensor([0]), (5,))
    permutations(seeds(1), STREAM_P, 0, 2, torch.tensor([7]))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002
