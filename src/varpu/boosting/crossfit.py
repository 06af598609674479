"""Trees grown on all folds in step, and stopped once, by the loss of the pool.

Stopping each fold at its own best round would pick the round that flatters that fold's few
positives; its scores would no longer be comparable with those of unlabelled positives, and the
prior read off them would be too low.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from typing import Any, Protocol

import lightgbm
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from varpu.boosting.objective import variational_derivatives
from varpu.boosting.rows import WeightedRows, take_rows
from varpu.crossfit import pooled_loss

# Rounds a fold grows before the folds meet: handing over more often costs more than it saves.
_ROUNDS_AT_ONCE = 8

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


class Growing(Protocol):
    """The booster of one fold as it grows, here or elsewhere."""

    held_out: Rows
    is_done: bool

    def grow(self, n_rounds: int) -> list[tuple[Floats, float]]:
        """Add trees; after each, held-out ``log f_P/f`` and the log-mean it is scaled by."""
        ...

    @property
    def booster(self) -> lightgbm.Booster:
        """What has grown."""
        ...


Place = Callable[[WeightedRows, Rows, dict[str, Any]], Callable[[int], Growing]]
_places: list[Place | None] = [None]  # the last is in force; None is here


@dataclass
class GrownTrees:
    """One booster a fold, all used up to the same round.

    Attributes
    ----------
    boosters : list of Booster
    log_means : array of shape (folds,)
        ``log E_U[Phi]`` over each booster's training rows, which makes its score a density ratio.
    round : int
        The number of trees to use, chosen by the pooled loss; the boosters hold more.
    log_ratio : array of shape (n,)
        Out-of-fold ``log f_P/f`` of every row.
    loss : float
        Pooled out-of-fold ``L_var``.
    history : list of float
        The pooled loss after each round.
    whole : Booster or None
        If it was asked for: a booster on all rows, of as many trees.
    """

    boosters: list[lightgbm.Booster]
    log_means: Floats
    round: int
    log_ratio: Floats
    loss: float
    history: list[float]
    whole: lightgbm.Booster | None = None

    def predict(self, X: Any) -> Floats:
        """``log f_P/f`` of new rows: the mean over folds."""
        scores = [
            log_expit(booster.predict(X, num_iteration=self.round)) - log_mean
            for booster, log_mean in zip(self.boosters, self.log_means, strict=True)
        ]
        return np.mean(scores, axis=0)


def grow(
    rows: WeightedRows,
    fold: Rows,
    params: dict[str, Any],
    max_rounds: int,
    patience: int,
    n_threads: int,
    on_all_rows: bool = False,
) -> GrownTrees:
    """Grow one booster a fold in step until the pooled loss has not improved for ``patience``.

    Folds run side by side, each on one thread: LightGBM's own threads meet at many barriers a
    tree, which on tables of this size costs more than they gain. With ``on_all_rows`` a booster
    that holds nothing out grows beside them and is cut to the round that they choose.
    """
    numbers = np.unique(fold).tolist()
    place = _places[-1]
    if place is not None:  # a thread a booster, which only waits for it
        n_threads = len(numbers) + 1
    with ThreadPoolExecutor(n_threads, initializer=_hush) as pool:
        make = (
            partial(member_of_fold, rows, fold, params)
            if place is None
            else place(rows, fold, params)
        )
        members = list(pool.map(make, numbers))
        whole = make(-1) if on_all_rows else None
        return _grow_in_step(rows, members, whole, max_rounds, patience, pool)


@contextmanager
def grown_by(place: Place) -> Iterator[None]:
    """Within this context boosters grow in another place, such as the workers of a cluster.

    Parameters
    ----------
    place : callable
        From (rows, folds, parameters) to a function that makes the booster of a fold, a
        :class:`Growing`, of its number; -1 is the one that holds nothing out.
    """
    _places.append(place)
    try:
        yield
    finally:
        _places.remove(place)


def _hush() -> None:
    """LightGBM's log level is each thread's own, and set by whatever it makes first there."""
    lightgbm.Dataset(np.zeros((2, 1)), params={"verbose": -1}).construct()


def _grow_in_step(
    rows: WeightedRows,
    members: "Sequence[Growing]",
    whole: "Growing | None",
    max_rounds: int,
    patience: int,
    pool: Executor,
) -> GrownTrees:
    log_ratio = np.empty(len(rows.weight_p))
    best = GrownTrees([], np.empty(0), 0, log_ratio, np.inf, [])
    for first in range(0, max_rounds, _ROUNDS_AT_ONCE):
        grow_on = methodcaller("grow", min(_ROUNDS_AT_ONCE, max_rounds - first))
        more = pool.submit(grow_on, whole) if whole else None
        for grown in zip(*pool.map(grow_on, members), strict=True):
            for member, (scores, _) in zip(members, grown, strict=True):
                log_ratio[member.held_out] = scores
            loss = pooled_loss(log_ratio, rows.weight_p, rows.weight_u)
            best.history.append(loss)
            if loss < best.loss:
                best.loss, best.round = loss, len(best.history)
                best.log_ratio = log_ratio.copy()
                best.log_means = np.array([log_mean for _, log_mean in grown])
        if more:
            more.result()
        waited = len(best.history) - best.round
        if waited >= patience or all(member.is_done for member in members):
            break
    best.boosters = [member.booster.free_dataset() for member in members]
    if whole:
        best.whole = lightgbm.Booster(
            model_str=whole.booster.model_to_string(num_iteration=best.round)
        )
    return best


def member_of_fold(rows: WeightedRows, fold: Rows, params: dict[str, Any], k: int) -> "Member":
    """The booster of a fold before its first tree; of all rows where no row is in fold ``k``."""
    return Member(rows, np.flatnonzero(fold != k), np.flatnonzero(fold == k), params)


class Member:
    """The booster of one fold as it grows."""

    def __init__(
        self, rows: WeightedRows, trained: Rows, held_out: Rows, params: dict[str, Any]
    ) -> None:
        self.held_out = held_out
        self.is_done = False
        self._weight_p, self._weight_u = rows.weight_p[trained], rows.weight_u[trained]
        data = lightgbm.Dataset(take_rows(rows.X, trained), params=params)
        self._booster = lightgbm.Booster({**params, "objective": "none"}, data)
        self._scores: dict[str, Floats] = {}
        if len(held_out):
            other = lightgbm.Dataset(take_rows(rows.X, held_out), reference=data, params=params)
            self._booster.add_valid(other, "held out")

    def grow(self, n_rounds: int) -> list[tuple[Floats, float]]:
        """Add trees; after each, held-out ``log f_P/f`` and the log-mean it is scaled by."""
        if not len(self.held_out):
            for _ in range(n_rounds):
                self.add_tree()
            return []
        return [self._grow_one() for _ in range(n_rounds)]

    @property
    def booster(self) -> lightgbm.Booster:
        """What has grown."""
        return self._booster

    def add_tree(self) -> None:
        """One more tree, unless no split gains anything any more."""
        if not self.is_done:
            self.is_done = self._booster.update(fobj=self._objective)

    def _grow_one(self) -> tuple[Floats, float]:
        self.add_tree()
        # LightGBM shows its running scores to evaluation functions; predict would start afresh.
        self._booster.eval_train(feval=self._note("trained"))
        self._booster.eval_valid(feval=self._note("held out"))
        mean = self._weight_u @ expit(self._scores["trained"]) / self._weight_u.sum()
        log_mean = float(np.log(mean))
        return log_expit(self._scores["held out"]) - log_mean, log_mean

    def _objective(self, scores: Floats, data: Any) -> tuple[Floats, Floats]:
        return variational_derivatives(scores, self._weight_p, self._weight_u)

    def _note(self, name: str) -> Any:
        def note(scores: Floats, data: Any) -> tuple[str, float, bool]:
            self._scores[name] = scores.copy()
            return name, 0.0, False

        return note


def booster_to_bytes(booster: lightgbm.Booster) -> NDArray[np.uint8]:
    """LightGBM's own text format, as an array."""
    return np.frombuffer(booster.model_to_string(num_iteration=-1).encode(), dtype=np.uint8)


def booster_from_bytes(text: NDArray[np.uint8]) -> lightgbm.Booster:
    """What :func:`booster_to_bytes` gave."""
    return lightgbm.Booster(model_str=text.tobytes().decode())
