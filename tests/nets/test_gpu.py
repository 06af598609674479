"""Networks in the form that a GPU runs are the plain ones. Skipped where there is no GPU."""

import pytest
import torch

from varpu.nets import CifarCNN, LeNet5, StackedLeNet, cifar_trunk, seeded_network, stacks_of
from varpu.nets.pooling import max_of_four, spread_to_largest

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")


def relative_error(actual, expected):
    return float((actual.double().cpu() - expected.double()).norm() / expected.double().norm())


def logits_and_gradients(network, x):
    out = network(x)
    weights = torch.randn(out.shape, generator=torch.Generator().manual_seed(1))
    (weights.to(out) * out).sum().backward()
    return [out.detach(), *(parameter.grad for parameter in network.parameters())]


@pytest.mark.parametrize("n_rows", [1, 50])
def test_the_fused_trunk_is_four_convolutions(n_rows, monkeypatch):
    """It is as near to float64 as the layers one by one, which round to bfloat16 as well."""
    x = torch.randn(n_rows, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    exact = logits_and_gradients(seeded_network(CifarCNN, 0).double(), x.double())

    def errors():
        network = seeded_network(CifarCNN, 0).cuda()
        with torch.autocast("cuda", dtype=torch.bfloat16, cache_enabled=False):
            found = logits_and_gradients(network, x.cuda())
        return [relative_error(got, wanted) for got, wanted in zip(found, exact, strict=True)]

    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert cifar_trunk.takes(x.cuda())
    fused = errors()
    monkeypatch.setattr(cifar_trunk, "takes", lambda x: False)
    for together, one_by_one in zip(fused, errors(), strict=True):
        assert together < 1.25 * one_by_one + 0.003


def test_rows_do_not_depend_on_their_neighbours():
    """Each program sums up its own tiles, the last of them cut."""
    x = torch.randn(37, 3, 32, 32, device="cuda")
    network = seeded_network(CifarCNN, 0).cuda()
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
        together, apart = network(x), torch.cat([network(x[:13]), network(x[13:])])
    torch.testing.assert_close(together, apart, rtol=0, atol=2e-3)


def test_inputs_that_need_a_gradient_get_one():
    x = torch.randn(4, 3, 32, 32, device="cuda", requires_grad=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert not cifar_trunk.takes(x)
        seeded_network(CifarCNN, 0).cuda()(x).float().sum().backward()
    assert x.grad.abs().sum() > 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_pooling_is_as_on_the_cpu(dtype):
    # Few distinct numbers, so that many are equal.
    blocks = torch.randint(-3, 4, (5, 7, 4 * 84)).to(dtype)
    grad = torch.randn(5, 7, 84).to(dtype)
    assert torch.equal(max_of_four(blocks.cuda()).cpu(), max_of_four(blocks))
    spread = spread_to_largest(blocks.cuda(), grad.cuda()).cpu()
    assert torch.equal(spread, spread_to_largest(blocks, grad))


def test_lenets_are_one_stack_as_on_the_cpu():
    networks = [seeded_network(LeNet5, seed) for seed in range(3)]
    x = torch.randn(3, 20, 1, 28, 28)
    states = [network.state_dict() for network in networks]
    (stack,) = stacks_of(LeNet5, states, torch.device("cuda"), torch.float32)
    assert type(stack) is StackedLeNet
    expected = StackedLeNet(networks)(x)
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        actual = stack(x.cuda())
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    torch.testing.assert_close(actual.cpu(), expected, rtol=0, atol=1e-4)
