"""Networks of many seeds trained as one fit, and how each is judged."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from varpu.nets import MLP, CifarCNN, LeNet5, StlCNN, stacks_of
from varpu.neural.inputs import pixels_to_unit
from varpu.paper.methods.base import RunOptions
from varpu.paper.tasks import Problem, Task
from varpu.training import (
    DeviceRows,
    Member,
    Recipe,
    Risk,
    Trained,
    compute_dtype,
    logits,
    pick_device,
    pick_precision,
    train,
)

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

HIDDEN = (300,) * 6
QUICK_EPOCHS = 10
# Seeds of large networks that are one fit: enough to keep a GPU full, few enough to lose little if
# killed. Small networks are stacked, so all seeds are. A processor is full with ten of them.
_LARGE, _LARGE_SEEDS = ("cifar_cnn", "stl_cnn"), 5
_CPU_NETWORKS = 10
_IMAGE_NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "lenet5": LeNet5,
    "cifar_cnn": CifarCNN,
    "stl_cnn": StlCNN,
}


@dataclass
class Bench:
    """A task's rows on a device, and its network."""

    task: Task
    rows: DeviceRows
    device: torch.device

    @classmethod
    def of(cls, task: Task, options: RunOptions) -> "Bench":
        """Put the data set on the device, once for all seeds."""
        device = pick_device(options.device)
        prepare = _undivided if task.raw_pixels else pixels_to_unit
        X = torch.as_tensor(task.load().X, device=device)
        return cls(task, DeviceRows(X, prepare), device)

    @property
    def precision(self) -> str:
        """The arithmetic of products."""
        return pick_precision("auto", self.device)

    def network(self) -> nn.Module:
        """A fresh network of the task's kind."""
        if self.task.network == "mlp":
            return MLP(self.rows.X.shape[1], HIDDEN)
        return _IMAGE_NETWORKS[self.task.network]()

    def train(self, members: list[Member], recipe: Recipe) -> tuple[Trained, float]:
        """Train all members; the time it took."""
        start = time.perf_counter()
        trained = train(self.rows, members, recipe, self.network)
        return trained, time.perf_counter() - start

    def scores(self, states: Sequence[dict[str, Tensor]], rows: Rows, recipe: Recipe) -> Floats:
        """Logits of the members on rows that they share, shape (K, n)."""
        numbers = torch.from_numpy(rows).to(self.device)
        dtype = compute_dtype(recipe.precision)
        parts = [
            logits(stack, self.rows, numbers.expand(stack.n_members, -1), recipe).cpu()
            for stack in stacks_of(self.network, states, self.device, dtype)
        ]
        return torch.cat(parts).double().numpy()


def _undivided(rows: Tensor) -> Tensor:
    """Pixels normalised as if they were from 0 to 1, while they are from 0 to 255."""
    return 2 * rows.float() - 1


def risk_recipe(bench: Bench, options: RunOptions, risk: Risk, weight_decay: float = 0.0) -> Recipe:
    """How networks of a misclassification risk are trained."""
    return Recipe(
        penalty=None,
        batch_size=bench.task.batch_size,
        epochs=QUICK_EPOCHS if options.quick else 50,
        betas=(0.9, 0.999),
        weight_decay=weight_decay,
        lr_milestones=(),
        precision=bench.precision,
        risk=risk,
    )


def groups_of_seeds(bench: Bench, seeds: Sequence[int], networks: int = 1) -> Iterator[list[int]]:
    """Seeds, of so many ``networks`` each, to train together."""
    if bench.device.type == "cpu":
        size = max(1, _CPU_NETWORKS // networks)
    else:
        size = _LARGE_SEEDS if bench.task.network in _LARGE else len(seeds)
    for start in range(0, len(seeds), size):
        yield list(seeds[start : start + size])


def member(problem: Problem, seed: int, *, lam: float, lr: float, prior: float) -> Member:
    """A network of the paper's split."""
    split = problem.split
    return Member(seed, lam, lr, split.p, split.u, split.held_out_p, split.held_out_u, prior=prior)


def judged(positive: NDArray[np.bool_], score: Floats, problem: Problem) -> dict[str, float]:
    """Accuracy in percent and AUC on the test rows."""
    truth = problem.truth[problem.test]
    auc = float(roc_auc_score(truth, score)) if np.isfinite(score).all() else float("nan")
    return {"accuracy": 100 * float((positive == truth).mean()), "auc": auc}


def described(task: Task, recipe: Recipe) -> dict[str, Any]:
    """The settings of a fit that a reader needs to repeat it."""
    return {
        "network": task.network,
        "n_labeled": task.n_labeled,
        "n_validation": task.n_validation,
        "batch_size": recipe.batch_size,
        "epochs": recipe.epochs,
        "steps_per_epoch": recipe.steps_per_epoch,
        "precision": recipe.precision,
    }
