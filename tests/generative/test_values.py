"""The games' values by hand, and which way they drive whom."""

import math

import numpy as np
import pytest
import torch

from varpu.generative.values import (
    GAMES,
    Games,
    Weights,
    game_values,
    gan_value,
    generator_loss,
    total_value,
)

CPU = torch.device("cpu")
WEIGHTS = [Weights(0.01, 1, 100, 2), Weights(0.5, 0.25, 3, 7)]


def logits(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def log_d(d):
    return np.log(1 / (1 + np.exp(-d.numpy())))


def log_not_d(d):
    return np.log(1 - 1 / (1 + np.exp(-d.numpy())))


def test_the_value_is_that_of_the_definition():
    real, fake = logits(2, 5), logits(2, 7, seed=1)
    by_hand = log_d(real).mean(axis=1) + log_not_d(fake).mean(axis=1)
    np.testing.assert_allclose(gan_value(real, fake), by_hand)


def test_a_discriminator_that_cannot_tell_is_worth_minus_two_log_two():
    assert gan_value(torch.zeros(1, 4), torch.zeros(1, 4)).item() == pytest.approx(-math.log(4))


def test_values_and_losses_stay_finite_where_a_discriminator_is_certain():
    sure = torch.full((1, 3), 2000.0)
    games = Games.of([Weights(1, 1, 1, 1)], CPU)
    assert gan_value(-sure, sure).item() == -4000
    assert gan_value(sure, -sure).item() == 0
    assert generator_loss(-sure, -sure, -sure, sure, games).item() == 8000


def test_the_total_is_the_weighted_sum_of_four_games():
    p_real, p_fake, u_real, u_pos, u_neg, n_real, n_fake = (logits(2, 6, seed=i) for i in range(7))
    values = game_values(p_real, p_fake, u_real, u_pos, u_neg, n_real, n_fake)
    total = total_value(values, Games.of(WEIGHTS, CPU))

    def v(real, fake, k):
        return log_d(real)[k].mean() + log_not_d(fake)[k].mean()

    for k, w in enumerate(WEIGHTS):
        by_hand = (
            w.positive_p * v(p_real, p_fake, k)
            + w.positive_u * v(u_real, u_pos, k)
            + w.negative_n * v(n_real, n_fake, k)
            + w.negative_u * v(u_real, u_neg, k)
        )
        assert total[k].item() == pytest.approx(by_hand)


def test_games_keep_the_order_of_their_names():
    games = Games.of(WEIGHTS, CPU)
    for game in GAMES:
        expected = [getattr(w, game) for w in WEIGHTS]
        np.testing.assert_allclose(getattr(games, game), expected, rtol=1e-6)


def test_the_generators_loss_by_hand():
    p_fake, u_pos, u_neg, n_fake = (logits(2, 6, seed=i) for i in range(4))
    loss = generator_loss(p_fake, u_pos, u_neg, n_fake, Games.of(WEIGHTS, CPU))
    for k, w in enumerate(WEIGHTS):
        by_hand = (
            -w.positive_p * log_d(p_fake)[k].mean()
            - w.positive_u * log_d(u_pos)[k].mean()
            - w.negative_u * log_d(u_neg)[k].mean()
            - w.negative_n * log_not_d(n_fake)[k].mean()
        )
        assert loss[k].item() == pytest.approx(by_hand, rel=1e-6)


def test_g_p_fools_and_g_n_flees():
    """Lowering the loss raises D_p and D_u on what is generated, and lowers D_n."""
    scores = [logits(2, 6, seed=i).requires_grad_() for i in range(4)]
    generator_loss(*scores, Games.of(WEIGHTS, CPU)).sum().backward()
    p_fake, u_pos, u_neg, n_fake = (score.grad for score in scores)
    assert (p_fake < 0).all()
    assert (u_pos < 0).all()
    assert (u_neg < 0).all()
    assert (n_fake > 0).all()


def test_generators_do_not_saturate_but_the_push_fades():
    """A generator that is found out learns at full strength; one that has fled is left alone."""
    found_out = torch.full((1, 1), -30.0, dtype=torch.float64, requires_grad=True)
    games = Games.of([Weights(1, 1, 1, 1)], CPU)
    generator_loss(found_out, found_out, found_out, found_out, games).sum().backward()
    assert found_out.grad.item() == pytest.approx(-3, abs=1e-9)  # three fool, the push is gone


@pytest.mark.parametrize("distance", [0.0, 1.0, 4.0])
def test_the_best_discriminator_s_value_is_the_divergence(distance):
    """``max_D V = 2 JSD - log 4``: between N(0, 1) and N(distance, 1), on a fine grid."""
    x = torch.linspace(-12, 16, 20001, dtype=torch.float64)
    log_p, log_q = (-((x - m) ** 2) / 2 - math.log(2 * math.pi) / 2 for m in (0.0, distance))
    p, q, step = log_p.exp(), log_q.exp(), x[1] - x[0]
    middle = (p + q) / 2
    jsd = 0.5 * step * ((p * (p / middle).log()).sum() + (q * (q / middle).log()).sum())
    d = log_p - log_q  # the logit of p / (p + q)
    draws = [torch.multinomial(f, 400_000, replacement=True) for f in (p, q)]
    value = gan_value(d[draws[0]].unsqueeze(0), d[draws[1]].unsqueeze(0))
    assert value.item() == pytest.approx(2 * jsd.item() - math.log(4), abs=5e-3)
