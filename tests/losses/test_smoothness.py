"""Adversarial and virtual adversarial smoothness, against closed forms for linear logits."""

import pytest
import torch
from torch.autograd import gradcheck
from torch.nn.functional import logsigmoid, softplus

from varpu.losses import adversarial, virtual_adversarial

EPSILON = 0.7


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def close(actual, expected, atol=1e-12):
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


def linear(w, b=0.3):
    return lambda x: x @ w + b


def bernoulli_kl(g, h):
    """KL of coins with logits g and h."""
    p, q = torch.sigmoid(g), torch.sigmoid(h)
    return p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()


class Recorded:
    """A logit function that keeps the inputs it was called with."""

    def __init__(self, logits):
        self.logits, self.inputs = logits, []

    def __call__(self, x):
        self.inputs.append(x.detach())
        return self.logits(x)


def test_adversarial_move_of_a_linear_logit_is_against_the_sign_of_its_weights():
    w, x = normal(4), normal(5, 4, seed=1)
    recorded = Recorded(linear(w))
    adversarial(recorded, x, EPSILON)
    close(recorded.inputs[-1], x - EPSILON * w.sign())


def test_adversarial_value_of_a_linear_logit():
    w, x = normal(4), normal(5, 4, seed=1)
    worst = linear(w)(x) - EPSILON * w.abs().sum()
    close(adversarial(linear(w), x, EPSILON), softplus(-worst).mean())


def test_adversarial_without_a_move_is_the_log_likelihood_of_the_positives():
    w, x = normal(4), normal(5, 4, seed=1)
    close(adversarial(linear(w), x, 0.0), -logsigmoid(linear(w)(x)).mean())


def test_adversarial_gradient_agrees_with_finite_differences():
    # The sign of the step is constant around a point, so the whole is differentiable there.
    w, x = normal(4).requires_grad_(), normal(5, 4, seed=1)
    assert gradcheck(lambda w: adversarial(lambda x: torch.tanh(x) @ w, x, EPSILON), (w,))


def test_virtual_direction_of_a_linear_logit_is_its_weights_whatever_the_noise():
    w, x, noise = normal(4), normal(6, 4, seed=1), normal(6, 4, seed=2)
    recorded = Recorded(linear(w))
    virtual_adversarial(recorded, x, noise, EPSILON)
    side = (noise @ w).sign().unsqueeze(-1)
    assert len(side.unique()) == 2  # both sides are seen
    close(recorded.inputs[-1] - x, EPSILON * side * w / w.norm())


def test_virtual_value_of_a_linear_logit():
    w, x, noise = normal(4), normal(6, 4, seed=1), normal(6, 4, seed=2)
    g = linear(w)(x)
    moved = g + EPSILON * w.norm() * (noise @ w).sign()
    close(virtual_adversarial(linear(w), x, noise, EPSILON), bernoulli_kl(g, moved).mean())


def test_virtual_gradient_takes_reference_and_direction_as_given():
    w, x, noise = normal(4), normal(6, 4, seed=1), normal(6, 4, seed=2)
    reference = linear(w)(x)
    moved = x + EPSILON * (noise @ w).sign().unsqueeze(-1) * w / w.norm()
    free = w.clone().requires_grad_()

    def held(w):
        return bernoulli_kl(reference, linear(w)(moved)).mean()

    assert gradcheck(held, (free,))
    (expected,) = torch.autograd.grad(held(free), free)
    value = virtual_adversarial(linear(free), x, noise, EPSILON)
    (actual,) = torch.autograd.grad(value, free)
    close(actual, expected)


def test_virtual_penalty_of_a_constant_logit_is_nil():
    w = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    value = virtual_adversarial(linear(w), normal(6, 4), normal(6, 4, seed=1), EPSILON)
    value.backward()
    assert value == 0
    assert w.grad.isfinite().all()


def test_virtual_penalty_is_never_negative():
    w = normal(4)
    x, noise = normal(200, 1, 4, seed=1), normal(200, 1, 4, seed=2)  # one row a member
    value = virtual_adversarial(lambda x: torch.tanh(3 * x) @ w, x, noise, EPSILON)
    assert (value >= 0).all()
    assert value.max() > 0.1


def test_virtual_move_of_an_image_has_the_length_asked_for():
    w = normal(3, 5, 5)
    recorded = Recorded(lambda x: torch.tanh(x * w).sum(dim=(-1, -2, -3)))
    x, noise = normal(2, 4, 3, 5, 5, seed=1), normal(2, 4, 3, 5, 5, seed=2)
    virtual_adversarial(recorded, x, noise, EPSILON)
    lengths = (recorded.inputs[-1] - x).flatten(start_dim=2).norm(dim=-1)
    close(lengths, torch.full((2, 4), EPSILON, dtype=torch.float64))


@pytest.mark.parametrize("bias", [-69.0, -14.0, 14.0, 69.0])
def test_virtual_direction_of_a_saturated_row_is_still_the_noise_side_of_the_weights(bias):
    # At 69 the gradient of the divergence is about 1e-30: its square is not a float32, and one
    # minus Phi is not to be had by subtraction; it has a direction all the same.
    w, noise = normal(4, dtype=torch.float32), normal(6, 4, seed=2, dtype=torch.float32)
    recorded = Recorded(linear(w, bias))
    virtual_adversarial(recorded, torch.zeros(6, 4), noise, EPSILON)
    side = (noise @ w).sign().unsqueeze(-1)
    close(recorded.inputs[-1], EPSILON * side * w / w.norm(), atol=1e-6)


def members_of(K=3, B=5, d=4):
    w = normal(K, d)
    return w, normal(K, B, d, seed=1), normal(K, B, d, seed=2)


def test_members_are_scored_as_if_alone():
    w, x, noise = members_of()

    def stacked(x):
        return torch.einsum("kbd,kd->kb", torch.tanh(x), w)

    together = adversarial(stacked, x, EPSILON), virtual_adversarial(stacked, x, noise, EPSILON)
    for k in range(3):

        def alone(x, k=k):
            return torch.tanh(x) @ w[k]

        close(together[0][k], adversarial(alone, x[k], EPSILON))
        close(together[1][k], virtual_adversarial(alone, x[k], noise[k], EPSILON))


def test_both_work_where_gradients_are_switched_off():
    w, x, noise = members_of()
    with torch.no_grad():
        values = [
            adversarial(linear(w[0]), x[0], EPSILON),
            virtual_adversarial(linear(w[0]), x[0], noise[0], EPSILON),
        ]
    close(values[0], adversarial(linear(w[0]), x[0], EPSILON), atol=0)
    close(values[1], virtual_adversarial(linear(w[0]), x[0], noise[0], EPSILON), atol=0)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_extreme_logits_give_finite_values_and_gradients(sign):
    w = torch.tensor([1e4, -1e4], requires_grad=True)
    x = sign * torch.tensor([[1.0, 0.0], [0.0, -1.0], [0.5, -0.5]])
    noise = normal(3, 2, dtype=torch.float32)
    for penalty in (
        lambda: adversarial(lambda x: x @ w, x, 0.1),
        lambda: virtual_adversarial(lambda x: x @ w, x, noise, 0.1),
    ):
        w.grad = None
        value = penalty()
        value.backward()
        assert value.isfinite()
        assert w.grad.isfinite().all()
