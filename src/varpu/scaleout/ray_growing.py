"""The boosters of cross-fitting grown by a Ray cluster, tree for tree as here."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import lightgbm

from varpu.boosting.crossfit import (
    Floats,
    Growing,
    Member,
    Rows,
    booster_from_bytes,
    booster_to_bytes,
    grown_by,
    member_of_fold,
)
from varpu.boosting.rows import WeightedRows
from varpu.exceptions import VarpuError
from varpu.scaleout.ray_joining import ray_cluster

__all__ = ["ray_folds"]

RESTARTS = 3


@contextmanager
def ray_folds(address: str | None = None, workers: int | None = None) -> Iterator[None]:
    """Within this context the folds of boosted trees grow on a Ray cluster.

    The fitted model is, bit for bit, the one that is fitted without it. A worker that is lost
    costs the time of its folds and nothing else.

    Parameters
    ----------
    address, workers : optional
        As in :func:`varpu.scaleout.ray_cluster`.

    Examples
    --------
    >>> from varpu import VPUBoostingClassifier
    >>> from varpu.scaleout.ray_growing import ray_folds
    >>> with ray_folds(workers=2):  # doctest: +SKIP
    ...     VPUBoostingClassifier().fit(X, y)
    """
    with ray_cluster(address, workers) as side_by_side:
        import ray

        # An actor a core, each with the boosters of some folds: starting one costs seconds.
        hold: Any = ray.remote(num_cpus=1, max_restarts=RESTARTS, max_task_retries=RESTARTS)(
            _Holder
        )
        holders = [hold.remote() for _ in range(side_by_side)]

        def place(rows: WeightedRows, fold: Rows, params: dict[str, Any]) -> Callable[..., Growing]:
            shared, key = ray.put((rows, fold, params)), uuid4().hex
            return lambda k: _FarMember(holders[k % len(holders)], shared, (key, k), fold)

        try:
            with grown_by(place):
                yield
        finally:
            for holder in holders:
                ray.kill(holder)


class _FarMember:
    """A booster that grows in an actor."""

    def __init__(self, holder: Any, shared: Any, key: tuple[str, int], fold: Rows) -> None:
        self.held_out: Rows = (fold == key[1]).nonzero()[0]
        self.is_done = False
        self._holder, self._shared, self._key = holder, shared, key
        self._rounds = 0

    def grow(self, n_rounds: int) -> list[tuple[Floats, float]]:
        """Add trees; after each, held-out ``log f_P/f`` and the log-mean it is scaled by."""
        grown, self.is_done = self._ask("grow", self._rounds, n_rounds)
        self._rounds += n_rounds
        return grown

    @property
    def booster(self) -> lightgbm.Booster:
        """What has grown; it leaves the actor."""
        return booster_from_bytes(self._ask("give", self._rounds))

    def _ask(self, method: str, *args: Any) -> Any:
        import ray

        try:
            return ray.get(getattr(self._holder, method).remote(self._shared, self._key, *args))
        except (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError) as error:
            why = " ".join(str(error).split())[:200]
            raise VarpuError(f"the worker of a fold died {RESTARTS + 1} times: {why}") from None


class _Holder:
    """An actor that grows boosters.

    Each call says what it wants grown, and from which round: the boosters held here are a cache.
    An actor that was restarted has none, grows them again from nothing, which takes time and gives
    the same trees, and answers as the lost one would have.
    """

    def __init__(self) -> None:
        self._members: dict[tuple[str, int], tuple[Member, int]] = {}

    def grow(
        self, shared: Any, key: tuple[str, int], first: int, n_rounds: int
    ) -> tuple[list[tuple[Floats, float]], bool]:
        """Grow ``n_rounds`` after ``first`` others."""
        member = self._member_at(shared, key, first)
        grown = member.grow(n_rounds)
        self._members[key] = member, first + n_rounds
        return grown, member.is_done

    def give(self, shared: Any, key: tuple[str, int], rounds: int) -> Any:
        """The booster after so many rounds, as bytes; it is not held any longer."""
        booster = self._member_at(shared, key, rounds).booster
        self._members = {other: held for other, held in self._members.items() if other != key}
        return booster_to_bytes(booster)

    def _member_at(self, shared: Any, key: tuple[str, int], rounds: int) -> Member:
        rows, fold, params = shared
        # Boosters of an earlier fit that ended in an error would be held for ever.
        self._members = {k: held for k, held in self._members.items() if k[0] == key[0]}
        member, at = self._members.get(key, (None, -1))
        if member is None or at != rounds:
            member = member_of_fold(rows, fold, params, key[1])
            member.grow(rounds)
        return member
