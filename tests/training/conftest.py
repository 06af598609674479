from dataclasses import replace

import numpy as np
import pytest
import torch

from varpu.nets import MLP
from varpu.training import DeviceRows, Member, Recipe


class Task:
    """Two Gaussian classes in one table, and members that differ in all that is their own."""

    def __init__(self, n=150, d=3):
        draws = np.random.default_rng(0)
        truth = np.arange(n) < n // 3
        self.X = torch.from_numpy(draws.normal(size=(n, d)) + 1.5 * truth[:, None]).float()
        self.rows = DeviceRows(self.X)
        labelled, everyone = draws.permutation(n // 3)[:40], draws.permutation(n)
        # Folds of different lengths; P is now larger, now smaller than a batch of 16.
        self.members = [
            Member(11, 0.1, 3e-3, labelled[:30], everyone[:110], labelled[30:], everyone[110:]),
            Member(12, 1.0, 1e-3, labelled[5:40], everyone[20:], labelled[:5], everyone[:20]),
            Member(13, 0.3, 1e-3, labelled[:7], everyone[:64], labelled[7:], everyone[64:]),
        ]

    def without_held_out(self):
        nothing = np.zeros(0, dtype=np.int64)
        return [replace(m, held_out_p=nothing, held_out_u=nothing) for m in self.members]

    @staticmethod
    def recipe(**changes):
        small = {"epochs": 2, "steps_per_epoch": 4, "batch_size": 16, "lr_milestones": (1,)}
        return Recipe(**(small | changes))

    @staticmethod
    def factory():
        return MLP(3, (8, 6))


@pytest.fixture
def task():
    return Task()
