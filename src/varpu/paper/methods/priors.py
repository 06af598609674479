"""Estimates of the prior that some methods are given: KM2's, as in the paper, and our own."""

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from varpu.exceptions import ScaleWarning
from varpu.paper.methods.base import RunOptions, SeedResult
from varpu.paper.tasks import Problem, Task
from varpu.priors import KM2, resolve_prior


@dataclass(frozen=True)
class PriorMethod:
    """The estimated prior alone; no classifier."""

    name: str
    title: str

    def run(
        self, task: Task, seeds: Sequence[int], options: RunOptions
    ) -> Iterator[list[SeedResult]]:
        """One seed after the other."""
        for seed in seeds:
            problem = task.problem(seed)
            start = time.perf_counter()
            prior = _estimate(self.name, problem, seed)
            metrics = {"prior": prior, "true_prior": problem.true_prior}
            settings = {"n_labeled": task.n_labeled, "estimator": self.title}
            yield [SeedResult(seed, metrics, settings, time.perf_counter() - start)]


METHODS = [PriorMethod("km2", "KM2"), PriorMethod("bbe", "BBE")]


def prior_by(name: str, task: Task, problem: Problem, seed: int, options: RunOptions) -> float:
    """The estimate that is on record for this split, or a fresh one."""
    known = options.look_up(task.name, name, seed)
    return _estimate(name, problem, seed) if known is None else known["prior"]


def _estimate(name: str, problem: Problem, seed: int) -> float:
    """From the labelled and the marginal rows that are trained on."""
    split = problem.split
    X, labelled = problem.data.X[split.u], np.isin(split.u, split.p)
    estimator = KM2(n_bootstrap=2) if name == "km2" else "auto"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)  # the number itself is what is shown
        return float(resolve_prior(estimator, X, labelled, "single-set", seed)[0])
