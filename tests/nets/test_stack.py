"""Stacks of any module equal their modules, and the right kind of stack is chosen."""

import copy

import pytest
import torch
from torch import nn

from varpu.nets import (
    MLP,
    LeNet5,
    ModuleStack,
    StackedMLP,
    VmapStack,
    build_stacks,
    logit,
    stacks_of,
)

CPU = torch.device("cpu")


def small():
    """A network with batch norm that is not an MLP."""
    return nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 1))


class Branching(nn.Module):
    """Asks for a value in Python, which torch.func refuses."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return self.layer(x) if x.mean().item() > 0 else self.layer(-x)


FACTORIES = {
    "mlp": (lambda: MLP(3, (5,)), StackedMLP),
    "vmap": (small, VmapStack),
    "branching": (Branching, ModuleStack),
}
every_kind = pytest.mark.parametrize("kind", FACTORIES)


def members(factory, count=3):
    networks = []
    for seed in range(count):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            networks.append(factory().double())
    return networks


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def alone(networks, x, sizes):
    """Each member by itself, a pass a batch."""
    return torch.stack(
        [
            torch.cat([logit(network(part)) for part in rows.split(sizes)])
            for network, rows in zip(networks, x, strict=True)
        ]
    )


def close(actual, expected, atol=1e-10):
    torch.testing.assert_close(actual, expected, rtol=0, atol=atol)


def assert_same_states(states, networks):
    for state, network in zip(states, networks, strict=True):
        assert state.keys() == network.state_dict().keys()
        for name, value in network.state_dict().items():
            close(state[name], value)


def built(kind, seeds, sample=None):
    sample = normal(1, 3, dtype=torch.float32) if sample is None else sample
    return build_stacks(FACTORIES[kind][0], seeds, sample, CPU, torch.float32)


@pytest.mark.parametrize(("factory", "shape"), [(small, (3,)), (LeNet5, (1, 28, 28))])
def test_vmap_stack_equals_its_modules(factory, shape):
    networks = members(factory, count=2)
    stack = VmapStack(copy.deepcopy(networks))
    sizes = [4, 3]
    for seed in range(2):
        x, weights = normal(2, 7, *shape, seed=seed), normal(2, 7, seed=9)
        inputs = [x.clone().requires_grad_(), x.clone().requires_grad_()]
        outputs = [stack(inputs[0], sizes), alone(networks, inputs[1], sizes)]
        close(*outputs)
        stack.zero_grad()
        for network in networks:
            network.zero_grad()
        for out in outputs:
            (weights * out).sum().backward()
        close(inputs[0].grad, inputs[1].grad)
        expected = zip(*(network.parameters() for network in networks), strict=True)
        for stacked, single in zip(stack.parameters(), expected, strict=True):
            close(stacked.grad, torch.stack([p.grad for p in single]))
        assert_same_states(stack.states(), networks)  # running statistics and counts too
    stack.eval()
    x = normal(2, 5, *shape, seed=5)
    close(stack(x, [3, 2]), alone([network.eval() for network in networks], x, [5]))
    assert_same_states(stack.states(), networks)


def test_vmap_stack_returns_to_training():
    networks = members(small)
    stack = VmapStack(copy.deepcopy(networks))
    stack.train(False)
    stack.train(True)
    x = normal(3, 6, 3)
    close(stack(x), alone(networks, x, [6]))
    assert_same_states(stack.states(), networks)


def test_module_stack_equals_its_module():
    (network,) = members(small, count=1)
    stack = ModuleStack(copy.deepcopy(network))
    x = normal(1, 7, 3)
    outputs = [stack(x, [4, 3]), alone([network], x, [4, 3])]
    close(*outputs)
    for out in outputs:
        out.square().sum().backward()
    for actual, expected in zip(stack.parameters(), network.parameters(), strict=True):
        close(actual.grad, expected.grad)
    assert_same_states(stack.states(), [network])


@every_kind
def test_the_kind_of_stack_follows_from_the_module(kind):
    stacks = built(kind, [1, 2, 3])
    assert all(type(stack) is FACTORIES[kind][1] for stack in stacks)
    assert sum(stack.n_members for stack in stacks) == 3
    assert len(stacks) == (3 if kind == "branching" else 1)


def test_a_subclass_of_mlp_is_not_taken_for_one():
    class Doubled(MLP):
        def forward(self, x):
            return 2 * super().forward(x)

    (stack,) = build_stacks(
        lambda: Doubled(3, (5,)), [1, 2], normal(1, 3).float(), CPU, torch.float32
    )
    assert type(stack) is VmapStack


def test_a_single_module_is_called_as_it_is():
    (stack,) = built("vmap", [1])
    assert type(stack) is ModuleStack


@every_kind
def test_stacks_give_the_logits_of_their_states(kind):
    stacks, x = built(kind, [4, 5]), normal(2, 6, 3, dtype=torch.float32)
    logits = torch.cat(
        [
            stack.eval()(part)
            for stack, part in zip(
                stacks, x.split([stack.n_members for stack in stacks]), strict=True
            )
        ]
    )
    states = [state for stack in stacks for state in stack.states()]
    for state, rows, actual in zip(states, x, logits, strict=True):
        network = FACTORIES[kind][0]().eval()
        network.load_state_dict(state)
        torch.testing.assert_close(actual, logit(network(rows)), rtol=0, atol=1e-6)


@every_kind
def test_a_members_weights_do_not_depend_on_the_others(kind):
    (alone,) = [state for stack in built(kind, [7]) for state in stack.states()]
    among = [state for stack in built(kind, [3, 7, 5]) for state in stack.states()][1]
    assert alone.keys() == among.keys()
    assert all(torch.equal(alone[name], among[name]) for name in alone)


@every_kind
def test_a_member_is_what_the_factory_makes_of_its_seed(kind):
    with torch.random.fork_rng():
        torch.manual_seed(7)
        expected = FACTORIES[kind][0]().state_dict()
    state = [state for stack in built(kind, [3, 7]) for state in stack.states()][1]
    assert all(torch.equal(state[name], expected[name]) for name in expected)


@every_kind
def test_members_of_different_seeds_differ(kind):
    first, second = (state for stack in built(kind, [1, 2]) for state in stack.states())
    matrices = [name for name, value in first.items() if value.dim() == 2]
    assert matrices
    assert not any(torch.equal(first[name], second[name]) for name in matrices)


@every_kind
def test_global_generator_is_left_alone(kind):
    before = torch.get_rng_state()
    built(kind, [1, 2, 3])
    assert torch.equal(torch.get_rng_state(), before)


def test_global_generator_is_left_alone_by_layers_that_draw():
    def factory():
        return nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 1))

    before = torch.get_rng_state()
    (stack,) = build_stacks(factory, [1, 2], torch.ones(1, 3), CPU, torch.float32)
    assert type(stack) is VmapStack
    assert torch.equal(torch.get_rng_state(), before)


@every_kind
def test_tensors_share_memory_with_the_stack_and_lead_with_its_members(kind):
    for stack in built(kind, [1, 2]):
        assert all(value.shape[0] == stack.n_members for value in stack.tensors())
        for value in stack.tensors():
            value.fill_(3)
        assert all((value == 3).all() for state in stack.states() for value in state.values())


@pytest.mark.parametrize("kind", ["vmap", "branching"])
def test_trying_a_module_out_leaves_no_trace_in_its_state(kind):
    # Batch norm counts its batches; the trial pass must not be among them.
    with torch.random.fork_rng():
        torch.manual_seed(1)
        expected = FACTORIES[kind][0]().state_dict()
    state = next(state for stack in built(kind, [1, 2]) for state in stack.states())
    assert state.keys() == expected.keys()
    assert all(torch.equal(state[name], expected[name]) for name in expected)


def test_dropout_differs_between_members_and_is_off_in_evaluation():
    def factory():
        return nn.Sequential(nn.Dropout(0.5), nn.Flatten(), nn.Linear(64, 1))

    sample = torch.ones(1, 64)
    (stack,) = build_stacks(factory, [1, 1], sample, CPU, torch.float32)
    x = torch.ones(2, 4, 64)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first, second = stack(x)
    assert not torch.equal(first, second)
    stack.eval()
    assert torch.equal(*stack(x))


def test_trained_members_are_one_stack_again():
    networks = [MLP(3, (5,)) for _ in range(3)]
    states = [network.state_dict() for network in networks]
    (stack,) = stacks_of(lambda: MLP(3, (5,)), states, CPU, torch.float32)
    x = normal(3, 4, 3, dtype=torch.float32)
    with torch.no_grad():
        torch.testing.assert_close(stack(x), alone(networks, x, [4]), rtol=0, atol=1e-6)


def test_other_modules_are_a_stack_each():
    networks = [small().eval() for _ in range(2)]
    states = [network.state_dict() for network in networks]
    stacks = stacks_of(small, states, CPU, torch.float32)
    assert len(stacks) == 2
    x = normal(2, 4, 3, dtype=torch.float32)
    for k, stack in enumerate(stacks):
        stack.train(False)
        with torch.no_grad():
            torch.testing.assert_close(
                stack(x[k : k + 1]), alone(networks[k : k + 1], x[k : k + 1], [4])
            )
