"""uPU and nnPU, with KM2's prior as in the paper's main tables or with the true one.

What the paper leaves open: a fit keeps the epoch with the least held-out risk, and trains with the
weight decay of nnPU's authors.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from varpu.paper.methods.base import RunOptions, SeedResult
from varpu.paper.methods.networks import (
    Bench,
    described,
    groups_of_seeds,
    judged,
    member,
    risk_recipe,
)
from varpu.paper.methods.priors import prior_by
from varpu.paper.tasks import Task
from varpu.training import Recipe, Risk

WEIGHT_DECAY = 5e-3  # of nnPU's authors
# One is kept, by held-out risk; images, long to train, have the one in the middle.
TABLE_LRS, IMAGE_LRS = (1e-4, 3e-4, 1e-3), (3e-4,)


@dataclass(frozen=True)
class RiskMethod:
    """A risk with a prior that is estimated or known."""

    name: str
    title: str
    kind: str
    true_prior: bool = False
    mixup: bool = False

    def run(
        self, task: Task, seeds: Sequence[int], options: RunOptions
    ) -> Iterator[list[SeedResult]]:
        """Train the learning rates of some seeds together, and keep each seed's best."""
        bench = Bench.of(task, options)
        recipe = risk_recipe(bench, options, Risk(self.kind, mixup=self.mixup), WEIGHT_DECAY)
        lrs = IMAGE_LRS if task.is_image else TABLE_LRS
        for group in groups_of_seeds(bench, seeds, len(lrs)):
            yield self._group(bench, group, recipe, options, lrs)

    def _group(
        self,
        bench: Bench,
        seeds: list[int],
        recipe: Recipe,
        options: RunOptions,
        lrs: Sequence[float],
    ) -> list[SeedResult]:
        task = bench.task
        problems = [task.problem(seed) for seed in seeds]
        priors = [
            problem.true_prior if self.true_prior else prior_by("km2", task, problem, seed, options)
            for seed, problem in zip(seeds, problems, strict=True)
        ]
        members = [
            member(problem, seed, lam=0.0, lr=lr, prior=prior)
            for seed, problem, prior in zip(seeds, problems, priors, strict=True)
            for lr in lrs
        ]
        trained, seconds = bench.train(members, recipe)
        losses = np.where(np.isfinite(trained.held_out_loss), trained.held_out_loss, np.inf)
        losses = losses.reshape(len(seeds), len(lrs))
        results = []
        for i, (seed, problem, prior) in enumerate(zip(seeds, problems, priors, strict=True)):
            k = int(losses[i].argmin())
            kept = i * len(lrs) + k
            score = bench.scores([trained.states[kept]], problem.test, recipe)[0]
            metrics = judged(score > 0, score, problem)
            settings = {
                **described(task, recipe),
                "risk": self.kind,
                "mixup": self.mixup,
                "weight_decay": WEIGHT_DECAY,
                "lr": lrs[k],
                "lrs": list(lrs),
                "prior_by": "truth" if self.true_prior else "KM2",
            }
            metrics |= {"prior": prior, "held_out_loss": float(losses[i, k])}
            extra = {"epoch": int(trained.best_epoch[kept])}
            results.append(SeedResult(seed, metrics, settings, seconds / len(seeds), extra))
        return results


METHODS = [
    RiskMethod("nnpu", "nnPU", "nnpu"),
    RiskMethod("upu", "uPU", "upu"),
    RiskMethod("nnpu_true", "nnPU*", "nnpu", true_prior=True),
    RiskMethod("upu_true", "uPU*", "upu", true_prior=True),
]
METHODS += [
    replace(one, name=f"{one.name}_mixup", title=f"{one.title} + MixUp", mixup=True)
    for one in METHODS
    if one.kind == "nnpu"
]
