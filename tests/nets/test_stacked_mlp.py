"""K multilayer perceptrons as one are those K perceptrons, padding and reused memory aside."""

import copy

import pytest
import torch

from varpu.nets import MLP, StackedMLP, logit

# Widths around the multiples of 16 to which they are padded, with a unit for the constant.
SHAPES = [
    (3, ()),
    (15, ()),
    (16, ()),
    (3, (5,)),
    (3, (16,)),
    (16, (15, 17)),
    (15, (32, 16)),
    (2, (7, 20, 3)),
]
every_shape = pytest.mark.parametrize(("n_features", "hidden"), SHAPES)


def members(n_features, hidden, count=3, dtype=torch.float64):
    networks = []
    for seed in range(count):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            networks.append(MLP(n_features, hidden).to(dtype))
    return networks


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def alone(networks, x):
    return torch.stack([logit(network(rows)) for network, rows in zip(networks, x, strict=True)])


def close(actual, expected, atol=1e-10):
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


def gradients_of(stack):
    """Gradients of the members' own weights, in the order of their parameters; and the rest's."""
    own = [[] for _ in range(stack.n_members)]
    rest = []
    for (n_in, n_out), weight in zip(stack.shapes, stack.weights, strict=True):
        for k, gradient in enumerate(weight.grad):
            own[k] += [gradient[:n_in, :n_out].t(), gradient[n_in, :n_out]]
        rest.append(weight.grad[:, n_in + 1 :])
        rest.append(weight.grad[:, :, n_out:])
    return own, rest


def assert_same_gradients(stack, networks):
    own, rest = gradients_of(stack)
    for gradients, network in zip(own, networks, strict=True):
        for actual, parameter in zip(gradients, network.parameters(), strict=True):
            close(actual, parameter.grad)
    assert all((gradient == 0).all() for gradient in rest)


@every_shape
def test_logits_and_gradients_are_the_members_own(n_features, hidden):
    networks = members(n_features, hidden)
    stack = StackedMLP(networks)
    x, weights = normal(3, 6, n_features), normal(3, 6, seed=1)
    inputs = [x.clone().requires_grad_(), x.clone().requires_grad_()]
    outputs = [stack(inputs[0]), alone(networks, inputs[1])]
    close(*outputs)
    for out in outputs:
        (weights * out).sum().backward()
    close(inputs[0].grad, inputs[1].grad)
    assert_same_gradients(stack, networks)


def finite_differences(function, value, step=1e-5):
    """The gradient of a number, entry by entry (gradcheck wants to go back through a pass twice,
    which a stack does not allow: its memory is handed on by then).
    """
    gradient = torch.zeros_like(value)
    for i in range(value.numel()):
        move = torch.zeros_like(value)
        move.view(-1)[i] = step
        with torch.no_grad():
            gradient.view(-1)[i] = (function(value + move) - function(value - move)) / (2 * step)
    return gradient


@every_shape
def test_input_gradients_agree_with_finite_differences(n_features, hidden):
    stack, weights = StackedMLP(members(n_features, hidden, count=2)), normal(2, 2, seed=1)
    x = normal(2, 2, n_features).requires_grad_()

    def value(x):
        return (weights * torch.tanh(stack(x))).sum()

    value(x).backward()
    close(x.grad, finite_differences(value, x.detach()), atol=1e-8)


def test_weight_gradients_agree_with_finite_differences():
    stack, weights, x = StackedMLP(members(2, (3, 2), count=2)), normal(2, 4), normal(2, 4, 2)

    def value():
        return (weights * torch.tanh(stack(x))).sum()

    value().backward()
    for (n_in, n_out), weight in zip(stack.shapes, stack.weights, strict=True):
        start = weight.detach().clone()

        def at(own, start=start, weight=weight, n_in=n_in, n_out=n_out):
            weight.data = start.clone()
            weight.data[:, : n_in + 1, :n_out] = own
            return value()

        own = start[:, : n_in + 1, :n_out].clone()
        expected = finite_differences(at, own)
        at(own)
        close(weight.grad[:, : n_in + 1, :n_out], expected, atol=1e-8)


@every_shape
def test_only_gradients_that_are_wanted_are_made(n_features, hidden):
    stack = StackedMLP(members(n_features, hidden)).requires_grad_(False)
    x = normal(3, 6, n_features).requires_grad_()
    stack(x).sum().backward()
    assert all(weight.grad is None for weight in stack.weights)
    assert x.grad.abs().sum() > 0


@every_shape
@pytest.mark.parametrize(
    "optimizer", [torch.optim.Adam, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)]
)
def test_padding_and_constant_units_stay_as_they_were(n_features, hidden, optimizer):
    stack = StackedMLP(members(n_features, hidden))
    before = [weight.detach().clone() for weight in stack.weights]
    steps = optimizer(stack.parameters())
    for seed in range(4):
        steps.zero_grad()
        stack(normal(3, 6, n_features, seed=seed)).square().sum().backward()
        steps.step()
    for (n_in, n_out), old, new in zip(stack.shapes, before, stack.weights, strict=True):
        assert torch.equal(old[:, n_in + 1 :], new[:, n_in + 1 :])
        assert torch.equal(old[:, :, n_out:], new[:, :, n_out:])
        assert not torch.equal(old, new)


@every_shape
def test_states_are_those_of_the_members(n_features, hidden):
    networks = members(n_features, hidden)
    for state, network in zip(StackedMLP(networks).states(), networks, strict=True):
        assert state.keys() == network.state_dict().keys()
        for name, value in network.state_dict().items():
            assert torch.equal(state[name], value)


def test_states_after_training_give_networks_with_the_same_logits():
    networks = members(4, (5, 6))
    stack, x = StackedMLP(networks), normal(3, 6, 4)
    steps = torch.optim.Adam(stack.parameters(), lr=0.1)
    stack(x).square().sum().backward()
    steps.step()
    for network, state in zip(networks, stack.states(), strict=True):
        network.load_state_dict(state)
    close(stack(x), alone(networks, x))


def test_states_do_not_share_memory_with_the_stack():
    stack = StackedMLP(members(4, (5,)))
    states = stack.states()
    kept = copy.deepcopy(states)
    for value in stack.tensors():
        value.fill_(7)
    for state, old in zip(states, kept, strict=True):
        assert all(torch.equal(state[name], old[name]) for name in old)


def test_tensors_share_memory_with_the_stack_and_lead_with_the_members():
    stack, other = StackedMLP(members(4, (5,))), StackedMLP(members(4, (5,)))
    assert all(len(value) == 3 for value in stack.tensors())
    for value in stack.tensors():
        value.mul_(2)
    for weight, before in zip(stack.weights, other.weights, strict=True):
        assert torch.equal(weight, 2 * before)


@pytest.mark.parametrize("hidden", [(), (5,), (16, 7)])
def test_training_with_changing_batch_sizes_is_not_disturbed_by_reused_memory(hidden):
    networks = members(4, hidden)
    stack = StackedMLP(networks)
    steps = torch.optim.SGD(stack.parameters(), lr=0.05)
    own = torch.optim.SGD([p for network in networks for p in network.parameters()], lr=0.05)
    for seed, batch in enumerate([4, 7, 4, 1, 7, 7, 2, 4]):
        x = normal(3, batch, 4, seed=seed)
        steps.zero_grad(), own.zero_grad()
        outputs = [stack(x), alone(networks, x)]
        close(*outputs)
        for out in outputs:
            out.square().mean().backward()
        assert_same_gradients(stack, networks)
        steps.step(), own.step()


@pytest.mark.parametrize("first_to_go_back", [0, 1])
@pytest.mark.parametrize("hidden", [(5,), (16, 16, 7)])
def test_two_passes_alive_at_once_do_not_disturb_each_other(first_to_go_back, hidden):
    networks = members(4, hidden)
    stack = StackedMLP(networks)
    stack(normal(3, 5, 4)).sum().backward()  # leaves memory to reuse
    stack.zero_grad()
    batches = [normal(3, 5, 4, seed=seed) for seed in (1, 2)]
    passes = [stack(x) for x in batches]
    with torch.no_grad():
        stack(normal(3, 5, 4, seed=3))
    for i in (first_to_go_back, 1 - first_to_go_back):
        stack.zero_grad()
        for network in networks:
            network.zero_grad()
        expected = alone(networks, batches[i])
        close(passes[i], expected)
        passes[i].square().sum().backward()
        expected.square().sum().backward()
        assert_same_gradients(stack, networks)


def test_input_gradient_between_a_forward_pass_and_its_backward():
    # What the adversarial penalties do: the pass for the loss waits while they look around.
    networks = members(4, (5, 6))
    stack = StackedMLP(networks)
    x, near = normal(3, 5, 4), normal(3, 5, 4, seed=1).requires_grad_()
    waiting = stack(x)
    (gradient,) = torch.autograd.grad(stack(near).sum(), near)
    (expected,) = torch.autograd.grad(alone(networks, near).sum(), near)
    close(gradient, expected)
    waiting.square().sum().backward()
    alone(networks, x).square().sum().backward()
    assert_same_gradients(stack, networks)


def test_logits_outlive_the_memory_they_were_made_in():
    networks = members(4, (5,))
    stack = StackedMLP(networks)
    with torch.no_grad():
        kept = [stack(normal(3, 5, 4, seed=seed)) for seed in range(4)]
    for seed, logits in enumerate(kept):
        close(logits, alone(networks, normal(3, 5, 4, seed=seed)))


def test_inputs_are_left_alone():
    stack = StackedMLP(members(16, (5,)))
    x = normal(3, 5, 16)
    before = x.clone()
    stack(x).sum().backward()
    assert torch.equal(x, before)


def test_a_copy_is_a_stack_of_its_own():
    networks = members(4, (5,))
    stack = StackedMLP(networks)
    stack(normal(3, 5, 4)).sum().backward()
    other = copy.deepcopy(stack)
    for value in stack.tensors():
        value.zero_()
    x = normal(3, 5, 4, seed=1)
    close(other(x), alone(networks, x))


def test_bfloat16_products_are_exact_where_bfloat16_is_and_results_stay_float32():
    # Small whole numbers and their sums are bfloat16 numbers, so nothing may be lost.
    networks = members(3, (4,), count=2, dtype=torch.float32)
    with torch.no_grad():
        for network in networks:
            for parameter in network.parameters():
                parameter.copy_(torch.randint(-2, 3, parameter.shape))
    stack = StackedMLP(networks, torch.bfloat16)
    x = torch.randint(-2, 3, (2, 5, 3)).float()
    outputs = [stack(x), alone(networks, x)]
    assert outputs[0].dtype == torch.float32
    assert torch.equal(*outputs)
    for out in outputs:
        out.sum().backward()
    assert all(weight.grad.dtype == torch.float32 for weight in stack.weights)
    assert_same_gradients(stack, networks)
