"""A bar for downloads, for whoever watches a terminal."""

from types import TracebackType


class DownloadBar:
    """A bar with the four members that pooch asks for: total, update, reset and close.

    Nothing is shown unless standard error is a terminal.
    """

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            DownloadColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(name, total=None)

    def __enter__(self) -> "DownloadBar":
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    @property
    def total(self) -> float | None:
        """The number of bytes to come, or None while it is not known."""
        return self._bar.tasks[0].total

    @total.setter
    def total(self, n_bytes: int) -> None:
        # A server that does not say is reported as 0 bytes.
        self._bar.update(self._task, total=n_bytes or None)

    def update(self, n_bytes: int) -> None:
        """So many more bytes have come."""
        self._bar.update(self._task, advance=n_bytes)

    def reset(self) -> None:
        """Count from nothing again."""
        self._bar.update(self._task, completed=0)

    def close(self) -> None:
        """The end of the download; leaving the context takes the bar down."""
