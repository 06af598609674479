"""Rank pruning with the paper's networks: all folds of some seeds together, then all last fits.

What the paper leaves open: each fit holds out a tenth of its own rows, labelled and unlabelled, and
keeps the epoch with the least loss on them. Kept to the last epoch, networks learn by heart which
rows are labelled.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.model_selection import StratifiedKFold
from torch import Tensor

from varpu.classic.rank_pruning import noise_rates, rows_to_keep
from varpu.paper.methods.base import RunOptions, SeedResult
from varpu.paper.methods.networks import (
    Bench,
    Floats,
    Rows,
    described,
    groups_of_seeds,
    judged,
    risk_recipe,
)
from varpu.paper.tasks import Problem, Task
from varpu.training import Member, Recipe, Risk

LR = 3e-4
FOLDS = 3
HELD_OUT = 0.1


@dataclass(frozen=True)
class RankPruning:
    """The published program's steps."""

    name: str = "rank_pruning"
    title: str = "RP"

    def run(
        self, task: Task, seeds: Sequence[int], options: RunOptions
    ) -> Iterator[list[SeedResult]]:
        """Train the folds of some seeds together, then what is left after pruning."""
        bench = Bench.of(task, options)
        recipe = risk_recipe(bench, options, Risk("supervised", surrogate="logistic"))
        for group in groups_of_seeds(bench, seeds, FOLDS):
            yield _group(bench, group, recipe)


def _group(bench: Bench, seeds: list[int], recipe: Recipe) -> list[SeedResult]:
    task = bench.task
    problems = [task.problem(seed) for seed in seeds]
    labelled = [np.isin(problem.train, problem.split.p) for problem in problems]
    folds = [_folds(mask, seed) for mask, seed in zip(labelled, seeds, strict=True)]
    in_folds = [
        _network(seed, problem.train[fold != k], mask[fold != k])
        for seed, problem, mask, fold in zip(seeds, problems, labelled, folds, strict=True)
        for k in range(FOLDS)
    ]
    trained, seconds = bench.train(in_folds, recipe)
    rates, last = [], []
    for i, (seed, problem, mask, fold) in enumerate(
        zip(seeds, problems, labelled, folds, strict=True)
    ):
        states = trained.states[i * FOLDS : (i + 1) * FOLDS]
        p = _out_of_fold(bench, states, problem, fold, recipe)
        found = noise_rates(p, mask, fold)
        kept = rows_to_keep(p, mask, found.pi0)
        rates.append(found)
        weight = 1 / (1 - found.rho1)
        last.append(_network(seed, problem.train[kept], mask[kept], weight))
    refitted, more = bench.train(last, recipe)
    results = []
    for seed, problem, state, found in zip(seeds, problems, refitted.states, rates, strict=True):
        score = bench.scores([state], problem.test, recipe)[0]
        metrics = {**judged(score > 0, score, problem), "prior": found.positives}
        settings = {**described(task, recipe), "lr": LR, "folds": FOLDS, "held_out": HELD_OUT}
        share = (seconds + more) / len(seeds)
        results.append(SeedResult(seed, metrics, settings, share, {"rho1": found.rho1}))
    return results


def _folds(labelled: NDArray[np.bool_], seed: int) -> Rows:
    fold = np.empty(len(labelled), dtype=np.int64)
    splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    for k, (_, held_out) in enumerate(splitter.split(labelled, labelled)):
        fold[held_out] = k
    return fold


def _network(seed: int, rows: Rows, labelled: NDArray[np.bool_], weight: float = 1.0) -> Member:
    """Labelled against unlabelled; a weight of labelled rows is a weight of their class."""
    random = np.random.default_rng([seed, 2])
    held_out_p, p = _parted(rows[labelled], random)
    held_out_u, u = _parted(rows[~labelled], random)
    share = weight * len(p) / (weight * len(p) + len(u))
    return Member(seed, 0.0, LR, p, u, held_out_p, held_out_u, prior=share)


def _parted(rows: Rows, random: np.random.Generator) -> tuple[Rows, Rows]:
    """A tenth of the rows, one at least, and the rest."""
    count = max(1, round(HELD_OUT * len(rows)))
    held_out, kept = np.split(random.permutation(rows), [count])
    return np.sort(held_out), np.sort(kept)


def _out_of_fold(
    bench: Bench, states: list[dict[str, Tensor]], problem: Problem, fold: Rows, recipe: Recipe
) -> Floats:
    p = np.empty(len(fold))
    for k, state in enumerate(states):
        p[fold == k] = expit(bench.scores([state], problem.train[fold == k], recipe)[0])
    return p


METHODS = [RankPruning()]
