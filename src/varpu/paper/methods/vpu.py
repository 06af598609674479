"""VPU as the paper has it: the weight of the penalty from its grid, by held-out ``L_var``.

Its decision: positive where ``Phi`` is above half of its largest value over the training rows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, logsumexp
from torch import Tensor

from varpu.crossfit import blend, blend_weights, pooled_loss
from varpu.paper.methods.base import RunOptions, SeedResult
from varpu.paper.methods.networks import (
    QUICK_EPOCHS,
    Bench,
    Floats,
    described,
    groups_of_seeds,
    judged,
    member,
)
from varpu.paper.tasks import Problem, Task
from varpu.training import Recipe

# Of what is kept of each penalty weight, what is told of the chosen one.
METRICS = ("held_out_loss", "accuracy", "auc", "prior")
# The paper's grid.
LAMS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0)


@dataclass(frozen=True)
class VPU:
    """VPU with one of its penalties and losses."""

    name: str
    title: str
    penalty: str | None = "mixup"
    loss: str = "variational"

    def run(
        self, task: Task, seeds: Sequence[int], options: RunOptions
    ) -> Iterator[list[SeedResult]]:
        """Train all penalty weights of some seeds together, and keep each seed's best."""
        bench = Bench.of(task, options)
        recipe = Recipe(
            loss=self.loss,
            penalty=self.penalty,
            batch_size=task.batch_size,
            epochs=QUICK_EPOCHS if options.quick else 50,
            lr_milestones=(4, 8) if options.quick else (19, 39),
            precision=bench.precision,
        )
        lams = self._lams(task, options)
        for group in groups_of_seeds(bench, seeds, len(lams)):
            yield self._group(bench, group, recipe, lams)

    def _lams(self, task: Task, options: RunOptions) -> tuple[float, ...]:
        """The paper's grid for what is in its Tables 2 and 3, and three of it for the rest."""
        if self.penalty is None:
            return (0.0,)
        if options.quick:
            return (task.lam,)
        is_main = self.name == "vpu" and (task.name == task.base or not task.is_image)
        if is_main or (self.name == "vpu_margin" and not task.is_image):
            return LAMS
        return (task.lam / 10, task.lam, min(10 * task.lam, LAMS[-1]))

    def _group(
        self, bench: Bench, seeds: list[int], recipe: Recipe, lams: tuple[float, ...]
    ) -> list[SeedResult]:
        problems = [bench.task.problem(seed) for seed in seeds]
        members = [
            # Each network begins from weights of its own: on raw columns some collapse at once.
            member(problem, 1000 * seed + k, lam=lam, lr=bench.task.lr, prior=float("nan"))
            for seed, problem in zip(seeds, problems, strict=True)
            for k, lam in enumerate(lams)
        ]
        trained, seconds = bench.train(members, recipe)
        results = []
        for i, (seed, problem) in enumerate(zip(seeds, problems, strict=True)):
            own = slice(i * len(lams), (i + 1) * len(lams))
            losses = trained.held_out_loss[own]
            scores = Scores.of(bench, trained.states[own], problem, recipe)
            lines = [
                {
                    "lam": lam,
                    "held_out_loss": float(losses[k]),
                    "held_out_error": standard_error(scores.p[k], scores.u[k], scores.is_p),
                    "epoch": int(trained.best_epoch[own][k]),
                    **_judged(scores.test[k], scores.train[k], problem),
                }
                for k, lam in enumerate(lams)
            ]
            chosen = lines[int(np.nanargmin(np.where(np.isfinite(losses), losses, np.inf)))]
            metrics = {name: float(chosen[name]) for name in METRICS}
            extra: dict[str, Any] = {"lambdas": lines}
            if len(lams) > 1 and np.isfinite(losses).any():
                extra["blend"] = blended(scores, problem)
            results.append(
                SeedResult(
                    seed,
                    metrics,
                    {
                        **described(bench.task, recipe),
                        "loss": self.loss,
                        "penalty": self.penalty,
                        "lr": bench.task.lr,
                        "lam": chosen["lam"],
                        "lams": list(lams),
                    },
                    seconds / len(seeds),
                    extra,
                )
            )
        return results


@dataclass(frozen=True)
class Scores:
    """``log Phi`` of a split's rows by the networks of all penalty weights, each (K, rows).

    ``is_p`` says which held-out marginal rows are the held-out positives.
    """

    test: Floats
    train: Floats
    p: Floats
    u: Floats
    is_p: NDArray[np.bool_]

    @classmethod
    def of(
        cls, bench: Bench, states: Sequence[dict[str, Tensor]], problem: Problem, recipe: Recipe
    ) -> "Scores":
        """By networks in these states."""
        split = problem.split
        parts = [problem.test, split.u, split.held_out_p, split.held_out_u]
        log_phi = log_expit(bench.scores(states, np.concatenate(parts), recipe))
        ends = np.cumsum([len(part) for part in parts[:-1]])
        test, train, p, u = np.split(log_phi, ends, axis=1)
        return cls(test, train, p, u, np.isin(split.held_out_u, split.held_out_p))


def blended(scores: Scores, problem: Problem) -> dict[str, Any]:
    """All penalty weights as one: the mean of their density ratios with the least held-out loss.

    Nothing is chosen, so no luck of the held-out rows is, and a row that one network has far above
    all others raises the largest Phi only by that network's share.
    """
    held_out = np.concatenate([scores.p, scores.u], axis=1)
    in_p = np.repeat([1.0, 0.0], [scores.p.shape[1], scores.u.shape[1]])
    weights = blend_weights(held_out, in_p, 1 - in_p)
    loss = pooled_loss(blend(held_out, weights), in_p, 1 - in_p)
    found = _judged(blend(scores.test, weights), blend(scores.train, weights), problem)
    return {"weights": weights, "held_out_loss": loss, **found}


def standard_error(log_phi_p: Floats, log_phi_u: Floats, is_p: NDArray[np.bool_]) -> float:
    """The standard error of ``L_var`` of held-out rows, by what each row does to it.

    To first order a marginal row adds ``(Phi / E_U[Phi] - 1) / n_U`` and a positive
    ``-(log Phi - E_P[log Phi]) / n_P``; a positive among the marginal rows adds both.

    Parameters
    ----------
    log_phi_p, log_phi_u : arrays of shape (n_P,) and (n_U,)
    is_p : bool array of shape (n_U,)
        Which marginal rows are the positives, in their order; none where these were drawn apart.
    """
    n_p, n_u = len(log_phi_p), len(log_phi_u)
    from_u = np.expm1(log_phi_u - (logsumexp(log_phi_u) - np.log(n_u))) / n_u
    from_p = (log_phi_p.mean() - log_phi_p) / n_p
    if is_p.sum() == n_p:
        from_u[is_p] += from_p
        return float(np.sqrt((from_u**2).sum()))
    return float(np.sqrt((from_u**2).sum() + (from_p**2).sum()))


def _judged(on_test: Floats, on_train: Floats, problem: Problem) -> dict[str, float]:
    """By the paper's rule; its normalisation implies a prior, the mean of ``Phi / max Phi``."""
    largest = on_train.max()
    found = judged(on_test - largest > np.log(0.5), on_test, problem)
    log_mean = logsumexp(on_train) - np.log(len(on_train))
    return {**found, "prior": float(np.exp(log_mean - largest))}


METHODS = [
    VPU("vpu", "VPU"),
    VPU("vpu_none", "VPU, no penalty", penalty=None),
    VPU("vpu_mixup_p", "VPU, MixUp on P only", penalty="mixup_p"),
    VPU("vpu_mixup_pu", "VPU, MixUp on P and U", penalty="mixup_pu"),
    VPU("vpu_mse", "VPU, MSE", penalty="mixup_mse"),
    VPU("vpu_margin", "VPU, margin", penalty="margin"),
    VPU("vpu_l2", "VPU, L2", loss="l2"),
    VPU("vpu_js", "VPU, JS", loss="js"),
]
