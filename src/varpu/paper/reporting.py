"""What a run tells while it goes: a bar on a terminal, plain lines anywhere else."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from varpu.paper.specs import Cell

__all__ = ["Reporter"]


class _Planned(Protocol):
    @property
    def cell(self) -> Cell: ...

    @property
    def seeds(self) -> tuple[int, ...]: ...


class Reporter:
    """Which cell runs, how many are left, and the time that takes.

    Parameters
    ----------
    planned : sequence of jobs
    show : bool or None
        A bar or plain lines; None: a bar if standard error is a terminal.
    """

    def __init__(self, planned: Sequence[_Planned], show: bool | None = None) -> None:
        self._console = Console(stderr=True, soft_wrap=True, highlight=False)
        self._cells, self._begun = len(planned), 0
        self._lines = not (self._console.is_terminal if show is None else show)
        total = sum(len(job.seeds) for job in planned)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("seeds"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self._console,
            disable=self._lines,
        )
        self._task = self._bar.add_task("", total=total)
        self._left: dict[Cell, int] = {}

    def __enter__(self) -> "Reporter":
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def begin(self, job: _Planned, already: int) -> None:
        """A cell begins; so many of its seeds are not to be run."""
        self._begun += 1
        title = f"{self._begun}/{self._cells} {job.cell.method} on {job.cell.task}"
        self._left[job.cell] = len(job.seeds) - already
        self._bar.update(self._task, description=title, advance=already)
        if self._lines and self._left[job.cell]:
            self._say(f"{title}: {self._left[job.cell]} seeds")

    def seed(
        self,
        job: _Planned,
        seed: int,
        metrics: Mapping[str, float],
        seconds: float,
        *,
        alone: bool = True,
    ) -> None:
        """A seed is done and kept; unless its cell runs alone, the cell is named."""
        self._left[job.cell] -= 1
        self._bar.update(self._task, advance=1)
        if self._lines:
            shown = ", ".join(f"{name} {value:.4g}" for name, value in metrics.items())
            where = "" if alone else f"{job.cell.method} on {job.cell.task}, "
            self._say(f"  {where}seed {seed}: {shown}, {seconds:.1f} s")

    def skip(self, job: _Planned, why: str) -> None:
        """A cell cannot be run here."""
        self._give_up(job, f"skipped, {why}")

    def fail(self, job: _Planned, why: str) -> None:
        """A cell went wrong."""
        self._give_up(job, f"failed, {why}")

    def _give_up(self, job: _Planned, why: str) -> None:
        self._bar.update(self._task, advance=self._left.pop(job.cell, 0))
        self._say(f"{job.cell.method} on {job.cell.task}: {' '.join(why.split())}")

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False)
