"""The table of penalties: which rows each mixes, and what it makes of the scores."""

import pytest
import torch
from torch.nn.functional import logsigmoid

from varpu import losses
from varpu.training.penalties import PENALTIES, Draw, Scored

K, B, D = 2, 4, 3


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def linear(x):
    return x.sum(dim=-1) - 0.5


@pytest.fixture
def draw():
    pairs = torch.stack([torch.tensor([0, 5, 2, 7, 4, 1, 6, 3]), torch.arange(8)])
    return Draw(torch.tensor([0.25, 0.5]).double(), pairs, torch.tensor([1, 2]), torch.tensor([9]))


@pytest.fixture
def batch():
    return normal(K, B, D), normal(K, B, D, seed=1)


@pytest.fixture
def scored(batch, draw):
    x_p, x_u = batch
    scores = [logsigmoid(linear(x)) for x in (x_p, x_u, normal(K, B, D, seed=2))]
    return Scored(linear, x_p, x_u, *scores, draw)


def close(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-14)


def test_names_are_those_of_the_papers_ablation_and_supplement():
    assert set(PENALTIES) == {
        "mixup",
        "mixup_p",
        "mixup_pu",
        "mixup_mse",
        "margin",
        "adversarial",
        "vat",
    }


@pytest.mark.parametrize("name", ["mixup", "mixup_mse"])
def test_mixed_rows_lie_between_p_and_u(name, batch, draw):
    x_p, x_u = batch
    mixed = PENALTIES[name].mixed(x_p, x_u, draw)
    close(mixed[0], 0.25 * x_p[0] + 0.75 * x_u[0])
    close(mixed[1], 0.5 * x_p[1] + 0.5 * x_u[1])


def test_rows_mixed_inside_p_are_of_p_alone_and_pair_different_rows(batch, draw):
    x_p, x_u = batch
    mixed = PENALTIES["mixup_p"].mixed(x_p, x_u, draw)
    close(mixed, PENALTIES["mixup_p"].mixed(x_p, torch.full_like(x_u, torch.nan), draw))
    partners = [3, 0, 1, 2]
    close(mixed[0], 0.25 * x_p[0] + 0.75 * x_p[0, partners])
    close(mixed[1], 0.5 * x_p[1] + 0.5 * x_p[1, partners])


def test_rows_mixed_inside_the_union_follow_the_pairs(batch, draw):
    both = torch.cat(batch, dim=1)
    mixed = PENALTIES["mixup_pu"].mixed(*batch, draw)
    close(mixed[0], 0.25 * both[0, [0, 5, 2, 7]] + 0.75 * both[0, [4, 1, 6, 3]])
    close(mixed[1], 0.5 * both[1, :4] + 0.5 * both[1, 4:])


def test_rows_mixed_inside_the_union_may_be_images(draw):
    x_p, x_u = normal(K, B, 2, 3, 3), normal(K, B, 2, 3, 3, seed=1)
    flat = PENALTIES["mixup_pu"].mixed(x_p.flatten(2), x_u.flatten(2), draw)
    close(PENALTIES["mixup_pu"].mixed(x_p, x_u, draw), flat.reshape(x_p.shape))


def test_only_penalties_with_a_mixed_batch_ask_for_one():
    mixing = {name for name, penalty in PENALTIES.items() if penalty.mixed}
    assert mixing == {"mixup", "mixup_p", "mixup_pu", "mixup_mse"}
    assert [name for name, penalty in PENALTIES.items() if penalty.needs_pairs] == ["mixup_pu"]


def test_value_of_a_union_takes_one_for_labelled_rows_and_phi_for_the_others(scored):
    phi = scored.log_phi_u[0].exp()
    # The pairs of member 0, in order: (P 0, U 0), (U 1, P 1), (P 2, U 2), (U 3, P 3).
    target = torch.stack(
        [
            0.25 + 0.75 * phi[0],
            0.25 * phi[1] + 0.75,
            0.25 + 0.75 * phi[2],
            0.25 * phi[3] + 0.75,
        ]
    )
    expected = (target.log() - scored.log_phi_mixed[0]).square().mean()
    close(PENALTIES["mixup_pu"].value(scored, 0.3, 0.1)[0], expected)


def test_values_are_those_of_the_losses(scored):
    gamma = scored.draw.gamma
    expected = {
        "mixup": losses.mixup(scored.log_phi_mixed, scored.log_phi_u, gamma),
        "mixup_p": losses.mixup_positive(scored.log_phi_mixed),
        "mixup_mse": losses.mixup_mse(scored.log_phi_mixed, scored.log_phi_u, gamma),
        "margin": losses.margin(scored.log_phi_p, 0.3),
        "adversarial": losses.adversarial(linear, scored.x_p, 0.1),
    }
    for name, value in expected.items():
        close(PENALTIES[name].value(scored, 0.3, 0.1), value)


def test_virtual_penalty_of_a_linear_logit_has_its_closed_form(scored):
    # Moves are along (1, 1, 1), to the side the noise is on: one of two values for each row.
    g = linear(scored.x_u)

    def divergence(h):
        p, q = torch.sigmoid(g), torch.sigmoid(h)
        return p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()

    up, down = divergence(g + 0.1 * 3**0.5), divergence(g - 0.1 * 3**0.5)
    value = PENALTIES["vat"].value(scored, 0.3, 0.1)
    assert (value >= torch.minimum(up, down).mean(dim=1) - 1e-12).all()
    assert (value <= torch.maximum(up, down).mean(dim=1) + 1e-12).all()


def test_virtual_penalty_draws_new_noise_at_every_step(scored):
    def bent(x):
        return torch.sin(3 * x).sum(dim=-1)

    scored.logits = bent
    first = PENALTIES["vat"].value(scored, 0.3, 1.0)
    assert torch.equal(PENALTIES["vat"].value(scored, 0.3, 1.0), first)
    scored.draw.counter = torch.tensor([10])
    assert not torch.equal(PENALTIES["vat"].value(scored, 0.3, 1.0), first)
