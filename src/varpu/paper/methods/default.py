"""What we would use: `PUClassifier` on tables, a cross-fitted `VPUClassifier` on images.

Both as they come, told nothing but the network for the images; of all labelled positives, those
that the paper holds out among them, they make their own folds.
"""

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import varpu
from varpu.exceptions import ScaleWarning
from varpu.paper.methods.base import RunOptions, SeedResult
from varpu.paper.methods.networks import QUICK_EPOCHS, judged
from varpu.paper.tasks import Task
from varpu.training import pick_device


@dataclass(frozen=True)
class Default:
    """Our classifiers with their default settings."""

    name: str = "default"
    title: str = "varpu's default"

    def run(
        self, task: Task, seeds: Sequence[int], options: RunOptions
    ) -> Iterator[list[SeedResult]]:
        """One seed after the other."""
        for seed in seeds:
            problem = task.problem(seed)
            X, train = problem.data.X, problem.train
            model = _model(task, seed, options)
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ScaleWarning)  # the prior is among the metrics
                model.fit(X[train], problem.split.labels(len(X))[train])
            seconds = time.perf_counter() - start
            score = model.decision_function(X[problem.test])
            positive = model.predict_proba(X[problem.test])[:, 1] > 0.5
            metrics = {**judged(positive, score, problem), "prior": model.prior_}
            settings = {"classifier": type(model).__name__, "n_labeled": len(problem.split.labeled)}
            yield [SeedResult(seed, metrics, settings, seconds)]


def _model(task: Task, seed: int, options: RunOptions) -> Any:
    if not task.is_image:
        return varpu.PUClassifier(
            random_state=seed, device=options.device, time_budget=5 if options.quick else None
        )
    on_gpu = pick_device(options.device).type == "cuda"
    return varpu.VPUClassifier(
        module=task.network,
        epochs=QUICK_EPOCHS if options.quick else 50,
        device=options.device,
        precision="bf16" if on_gpu else "fp32",
        random_state=seed,
        progress=options.progress,
    )


METHODS = [Default()]
