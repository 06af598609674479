"""On a GPU: graphs, eager steps and the CPU take the same path. Skipped where there is none."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from varpu.generative import ImageGenerator, train_genpu
from varpu.nets import CifarCNN, LeNet5
from varpu.training import DeviceRows

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")


def test_tables_train_as_on_the_cpu(task):
    """Three eager steps, then a replayed graph."""
    recipe = task.recipe(epochs=3, labelled_share=0.5)
    cpu = train_genpu(task.rows, task.members, recipe)
    on_gpu = DeviceRows(task.X.cuda())
    for capture in (True, False):
        gpu = train_genpu(on_gpu, task.members, replace(recipe, capture=capture))
        np.testing.assert_allclose(gpu.history, cpu.history, atol=1e-3)
        for name in ("classifiers", "positive_generators", "negative_generators"):
            for ours, theirs in zip(getattr(gpu, name), getattr(cpu, name), strict=True):
                for key in theirs:
                    torch.testing.assert_close(ours[key], theirs[key], rtol=2e-2, atol=2e-3)


@pytest.mark.parametrize(("network", "shape"), [(LeNet5, (1, 28, 28)), (CifarCNN, (3, 32, 32))])
@pytest.mark.parametrize("n_members", [1, 2])
def test_images_train_as_on_the_cpu(task, network, shape, n_members):
    X = torch.randn(150, *shape).clamp(-1, 1)
    recipe = task.recipe(
        discriminator=network,
        generator=lambda: ImageGenerator(4, shape, channels=4),
        epochs=2,
        lr_discriminator=1e-4,
        lr_generator=1e-4,
    )
    members = task.members[:n_members]
    cpu = train_genpu(DeviceRows(X), members, recipe)
    gpu = train_genpu(DeviceRows(X.cuda()), members, recipe)
    np.testing.assert_allclose(gpu.history, cpu.history, atol=5e-2)
