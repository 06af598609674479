"""On a GPU: the same numbers as on a CPU. Skipped where there is none."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from varpu import VPUClassifier
from varpu.nets import MLP, CifarCNN, ConvReLU, LeNet5
from varpu.training import LOSSES, PENALTIES, DeviceRows, Member, Recipe, train

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")

RECIPE = Recipe(epochs=3, steps_per_epoch=6, batch_size=32, lr_milestones=(2,))


def problem(shape, n=200):
    rng = np.random.default_rng(0)
    positive = rng.random(n) < 0.4
    X = rng.normal(size=(n, *shape)) + positive.reshape(-1, *(1,) * len(shape))
    order = rng.permutation(n)
    held_out, trained = order[:40], order[40:]

    def member(seed, lam, lr):
        p, held_out_p = trained[positive[trained]][:40], held_out[positive[held_out]]
        return Member(seed, lam, lr, p, trained, held_out_p, held_out)

    return torch.tensor(X, dtype=torch.float32), [member(0, 0.1, 1e-3), member(1, 1.0, 3e-3)]


def on_both(X, members, recipe, factory):
    return [train(DeviceRows(X.to(d)), members, recipe, factory) for d in ("cpu", "cuda")]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", [None, *PENALTIES])
def test_a_stack_trains_as_on_the_cpu(loss, penalty):
    """Three eager steps, then a replayed graph: both must take the CPU's path."""
    X, members = problem((5,))
    recipe = replace(RECIPE, loss=loss, penalty=penalty)
    cpu, gpu = on_both(X, members, recipe, lambda: MLP(5, (20, 20)))
    np.testing.assert_allclose(gpu.history, cpu.history, atol=2e-4)
    np.testing.assert_array_equal(gpu.best_epoch, cpu.best_epoch)


@pytest.mark.parametrize(("factory", "shape"), [(LeNet5, (1, 28, 28)), (CifarCNN, (3, 32, 32))])
def test_images_train_as_on_the_cpu(factory, shape):
    X, members = problem(shape, n=120)
    recipe = replace(RECIPE, batch_size=16, steps_per_epoch=5, lr_milestones=())
    members = [replace(member, lr=1e-4) for member in members]
    cpu, gpu = on_both(X, members, recipe, factory)
    np.testing.assert_allclose(gpu.history, cpu.history, atol=2e-2)


class Same(torch.autograd.Function):
    """Nothing that torch.func could run, since it does not say how."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad


class Unstackable(MLP):
    def forward(self, x):
        return Same.apply(super().forward(x))


@pytest.mark.parametrize("kind", ["one stack", "stacks in step"])
def test_a_group_chooses_as_on_the_cpu(kind):
    """Stacks in step take turns with graphs of their own."""
    X, members = problem((5,))
    members = [replace(member, group=0) for member in members]
    factory = MLP if kind == "one stack" else Unstackable
    cpu, gpu = on_both(X, members, RECIPE, lambda: factory(5, (20, 20)))
    np.testing.assert_allclose(gpu.history, cpu.history, atol=2e-4)
    np.testing.assert_array_equal(gpu.best_epoch, cpu.best_epoch)
    assert len(set(gpu.best_epoch)) == 1


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_lower_precision_stays_near(precision):
    X, members = problem((5,))
    exact, rounded = (
        train(DeviceRows(X.cuda()), members, replace(RECIPE, precision=p), lambda: MLP(5, (20, 20)))
        for p in ("fp32", precision)
    )
    np.testing.assert_allclose(rounded.history, exact.history, atol=3e-2)
    assert all(v.dtype == torch.float32 for v in rounded.states[0].values())


@pytest.mark.parametrize(
    ("n_in", "kernel", "stride"), [(3, 3, 1), (3, 3, 2), (8, 3, 2), (16, 1, 1)]
)
def test_fused_convolution_is_the_plain_one(n_in, kernel, stride):
    layer = ConvReLU(n_in, 24, kernel, stride).cuda()
    x = torch.randn(10, n_in, 14, 14, device="cuda")
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        fused = layer(x)
        plain = torch.relu(torch.nn.functional.conv2d(x, layer.weight, layer.bias, stride))
        torch.testing.assert_close(fused, plain, atol=1e-4, rtol=1e-4)
        up = torch.randn_like(plain)
        gradients = [
            torch.autograd.grad((out * up).sum(), list(layer.parameters()))
            for out in (fused, plain)
        ]
    finally:
        torch.backends.cudnn.allow_tf32 = before
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-3, rtol=1e-3)


def test_the_classifier_on_the_gpu_agrees_with_the_cpu():
    rng = np.random.default_rng(0)
    truth = rng.random(600) < 0.4
    X = rng.normal(size=(600, 4)) + 2.0 * truth[:, None]
    y = truth & (rng.random(600) < 0.5)
    settings = {"hidden": (32, 32), "epochs": 5, "random_state": 0}
    cpu, gpu = (VPUClassifier(**settings, device=d).fit(X, y) for d in ("cpu", "cuda"))
    np.testing.assert_allclose(gpu.predict_proba(X), cpu.predict_proba(X), atol=1e-2)
    assert next(gpu.modules_[0].parameters()).device.type == "cpu"
