from dataclasses import replace

import numpy as np
import pytest
import torch

from varpu.generative import GenPUMember, GenPURecipe, TableGenerator, Weights
from varpu.nets import MLP
from varpu.training import DeviceRows


class Task:
    """Two Gaussian classes in one table, and members that differ in all that is their own."""

    def __init__(self, n=150, d=3):
        draws = np.random.default_rng(0)
        truth = np.arange(n) < n // 3
        self.X = torch.from_numpy(draws.normal(size=(n, d)) + 2.0 * truth[:, None]).float()
        self.rows = DeviceRows(self.X)
        labelled, everyone = draws.permutation(n // 3), draws.permutation(n)
        # P is now larger, now smaller than a batch of 16.
        self.members = [
            GenPUMember(11, labelled[:30], everyone, Weights(0.3, 0.3, 0.7, 0.7), 0.3),
            GenPUMember(12, labelled[5:40], everyone[20:], Weights(0.01, 1, 100, 1), 0.5),
            GenPUMember(13, labelled[:7], everyone[:64], Weights(1, 1, 1, 1), 0.9),
        ]

    @staticmethod
    def recipe(**changes):
        small = GenPURecipe(
            discriminator=lambda: MLP(3, (8, 6)),
            generator=lambda: TableGenerator(4, 3, (10,)),
            n_latent=4,
            epochs=2,
            steps_per_epoch=4,
            batch_size=16,
            lr_discriminator=1e-3,
            lr_generator=2e-3,
            classifier_epochs=2,
        )
        return replace(small, **changes)


@pytest.fixture
def task():
    return Task()
