"""The store of results: one JSON file a cell, written whole or not at all.

``<folder>/<task>/<method>.json`` holds the runs of a method on a task, one line each and sorted by
seed. A writer holds a lock on the task's folder, reads the file again, adds its runs and replaces
the file, so that several processes can work in one folder.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from varpu.exceptions import PUInputError, VarpuError
from varpu.paper.rounding import plain
from varpu.paper.specs import Cell

if sys.platform != "win32":
    import fcntl

__all__ = ["FOLDER", "ResultFileError", "Run", "Store"]

FOLDER = Path("results") / "paper"
FORMAT = 1
PARTIAL = ".partial"


class ResultFileError(VarpuError, ValueError):
    """A file in the folder of results does not hold the results of its cell."""


@dataclass(frozen=True)
class Run:
    """One seed of a cell, and what made it.

    Attributes
    ----------
    seed : int
    metrics : dict
        ``"accuracy"`` in percent, ``"auc"``, ``"prior"`` and whatever a method has.
    settings : dict
        What was trained.
    seconds : float
    extra : dict
        Whatever else a method tells.
    versions : dict
    hardware, command : str
    """

    seed: int
    metrics: dict[str, float]
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    extra: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    hardware: str = ""
    command: str = ""


class Store:
    """Results in a folder.

    Parameters
    ----------
    folder : path
        It need not exist.
    """

    def __init__(self, folder: str | Path = FOLDER) -> None:
        self.folder = Path(folder)

    def path(self, cell: Cell) -> Path:
        """The file of a cell."""
        for name in cell:
            if not re.fullmatch(r"\w[\w.-]*", name):
                raise PUInputError(f"a task or method is named by letters and digits; got {name!r}")
        return self.folder / cell.task / f"{cell.method}.json"

    def read(self, cell: Cell) -> list[Run]:
        """The runs of a cell, by seed; none if there is no file.

        Raises
        ------
        ResultFileError
            If the file is damaged, or holds something else.
        """
        path = self.path(cell)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise ResultFileError(f"{path} cannot be read: {error}") from None
        try:
            return _decoded(json.loads(text), cell)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ResultFileError(
                f"{path} does not hold results of {cell.method} on {cell.task} ({error});"
                " restore it, or remove it to run that cell anew"
            ) from None

    def add(self, cell: Cell, runs: Iterable[Run]) -> None:
        """Add runs to a cell's file; a seed that is there already is left as it is."""
        path = self.path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.parent):
            _remove_partial(path.parent)
            merged = {run.seed: _rounded(run) for run in runs}
            merged |= {run.seed: run for run in self.read(cell)}
            _replace(path, _encoded(cell, [merged[seed] for seed in sorted(merged)]))

    def clean(self) -> None:
        """Remove what writers that were killed have left behind."""
        for folder in {file.parent for file in self.folder.glob(f"*/.*{PARTIAL}")}:
            with _locked(folder):
                _remove_partial(folder)


def _rounded(run: Run) -> Run:
    return Run(**plain(asdict(run)) | {"seconds": round(run.seconds, 2)})


def _encoded(cell: Cell, runs: list[Run]) -> str:
    """JSON with one line a run; settings that all of them share are said once."""
    lines = [asdict(run) for run in runs]
    first = lines[0]["settings"]
    shared = {
        key: value
        for key, value in first.items()
        if all(key in line["settings"] and line["settings"][key] == value for line in lines)
    }
    for line in lines:
        line["settings"] = {k: v for k, v in line["settings"].items() if k not in shared}
    head = {"format": FORMAT, "task": cell.task, "method": cell.method, "settings": shared}
    parts = [f"{json.dumps(key)}: {_dumped(value)}" for key, value in head.items()]
    body = ",\n".join(_dumped(line) for line in lines)
    return "{" + ",\n".join(parts) + ',\n"runs": [\n' + body + "\n]}\n"


def _dumped(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)


def _decoded(content: dict[str, Any], cell: Cell) -> list[Run]:
    if content["format"] != FORMAT:
        raise ValueError(f"its format is {content['format']}, and {FORMAT} is read")
    if (content["task"], content["method"]) != cell:
        raise ValueError(f"it names {content['method']} on {content['task']}")
    runs = [
        Run(
            **{
                **{name: line[name] for name in _FIELDS},
                "settings": {**content["settings"], **line["settings"]},
                "metrics": {
                    # JSON has no word for what is no number.
                    name: float("nan") if value is None else float(value)
                    for name, value in line["metrics"].items()
                },
            }
        )
        for line in content["runs"]
    ]
    if any(type(run.seed) is not int for run in runs):
        raise ValueError("a seed is no whole number")
    return runs


_FIELDS = [part.name for part in fields(Run)]


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; it goes with the process, so a killed one leaves none behind."""
    if sys.platform == "win32":  # no lock on a folder there; replacing the file is still whole
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        os.fsync(handle)  # the new name of the file, too, outlives a loss of power
    finally:
        os.close(handle)


def _replace(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.stem}.{os.getpid()}{PARTIAL}")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _remove_partial(folder: Path) -> None:
    """Only under the lock: then nobody is writing, and what is there was left behind."""
    for file in folder.glob(f".*{PARTIAL}"):
        with suppress(OSError):
            file.unlink()
