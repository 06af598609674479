"""Progress for whoever watches: a bar on a terminal, nothing anywhere else."""

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class EpochBar:
    """A bar over epochs that shows the best held-out L_var, its epoch and the time left.

    Parameters
    ----------
    total : int
        Epochs over all stacks.
    show : bool or None
        None: only if standard error is a terminal.

    Attributes
    ----------
    shown : bool
        Whether anyone sees it, so that it pays to read a loss off the device.
    """

    def __init__(self, total: int, show: bool | None = None) -> None:
        console = Console(stderr=True)
        self.shown = console.is_terminal if show is None else show
        self._best = (float("inf"), 0)
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not self.shown,
        )
        self._task = self._bar.add_task("epochs", total=total, state="")

    def __enter__(self) -> "EpochBar":
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def advance(self, epoch: int, losses: list[float]) -> None:
        """One epoch is done, with these held-out losses (NaN where nothing is held out)."""
        finite = [loss for loss in losses if loss == loss]
        state = ""
        if finite:
            self._best = min(self._best, (min(finite), epoch + 1))
            state = f"held-out L_var {min(finite):.4f}, best {self._best[0]:.4f} at {self._best[1]}"
        self._bar.update(self._task, advance=1, state=state)
