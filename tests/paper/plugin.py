"""Methods, tasks and experiments of a user, as ``varpu paper --plugin`` takes them."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.random import default_rng  # here: loading it drops a Ctrl-C, so no seed begins before

from varpu.exceptions import DatasetError
from varpu.paper import register_experiments, register_method, register_task
from varpu.paper.methods.base import SeedResult

STEPS = int(os.environ.get("VARPU_TEST_STEPS", 4000))


@dataclass(frozen=True)
class SmallTask:
    """Two clouds of points, so far apart."""

    name: str
    apart: float
    dataset: str = "small"
    title: str = ""
    prior: float | None = None

    def sample(self, seed):
        random = default_rng([seed, int(10 * self.apart)])
        y = random.random(600) < 0.5
        return random.normal(size=(600, 5)) + self.apart * y[:, None], y


def log(what, task, seed):
    """Note what happens in the file that VARPU_TEST_LOG names."""
    if "VARPU_TEST_LOG" in os.environ:
        with open(os.environ["VARPU_TEST_LOG"], "a", encoding="utf-8") as file:
            file.write(f"{what} {task.name} {seed}\n")


class Logistic:
    """Logistic regression by gradient descent; a seed is yielded when it is done."""

    name = "logistic"
    title = "Logistic regression"

    def run(self, task, seeds, options):
        if task.dataset == "absent":
            raise DatasetError("absent is not there; put it into a folder")
        for seed in seeds:
            log("begin", task, seed)
            yield [self.train(task, seed, options)]
            log("kept", task, seed)

    def train(self, task, seed, options):
        start = time.perf_counter()
        X, y = task.sample(seed)
        weights, steps = np.zeros(5), 10 if options.quick else STEPS
        for _ in range(steps):
            phi = 1 / (1 + np.exp(-X[:300] @ weights))
            weights -= 0.1 * X[:300].T @ (phi - y[:300]) / 300
        accuracy = 100 * np.mean((X[300:] @ weights > 0) == y[300:])
        return SeedResult(
            seed=seed,
            metrics={"accuracy": accuracy, "prior": y.mean()},
            settings={"steps": steps, "apart": task.apart, "first": weights[0]},
            seconds=time.perf_counter() - start,
            extra={"weights": weights},
        )


class Stacked(Logistic):
    """The same, but all seeds come at the end."""

    name = "stacked"

    def run(self, task, seeds, options):
        yield [result for group in super().run(task, seeds, options) for result in group]


class Broken:
    """A method that fails after a seed."""

    name = "broken"
    title = "Broken"

    def run(self, task, seeds, options):
        yield [SeedResult(seeds[0], {"accuracy": float("nan")}, {}, 0.0, {})]
        raise RuntimeError("the network caught fire")


for i in (1, 2, 3):
    register_task(SmallTask(f"small_{i}", apart=0.3 * i))
register_task(SmallTask("absent_1", apart=0, dataset="absent"))
for method in (Logistic(), Stacked(), Broken()):
    register_method(method)
register_experiments(Path(__file__).parent / "experiments")
