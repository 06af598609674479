"""What an experiment is: a table or figure of the paper, its cells and the paper's own values."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from varpu.exceptions import PUInputError

__all__ = ["Case", "Cell", "Column", "Experiment", "Fault", "PaperValue", "Row", "Unmeasured"]

# What a row and a column are keyed by, in each kind of experiment that has them.
KEYS = {
    "table": ("method", "task"),
    "lines": ("method", "task"),
    "samples": ("method", "task"),
    "properties": ("classifier", "property"),
    "weights": ("task", "weight"),
}
KINDS = (*KEYS, "faults")
# Which of VPU's penalty weights a row shows, where it is not a number.
LAMBDAS = ("chosen", "blended", "one error", "printed")
# Decimals with which the paper prints a metric.
DIGITS = {"accuracy": 1, "auc": 3, "prior": 3}


class Cell(NamedTuple):
    """A method on a task: what is run and kept as one."""

    task: str
    method: str


@dataclass(frozen=True)
class PaperValue:
    """A value of the paper's, with the text as printed there."""

    text: str
    mean: float
    std: float | None = None

    @classmethod
    def parse(cls, value: object) -> "PaperValue":
        """Read ``"93.6 ± 0.4"``, ``"0.267"``, a number, or a truth value."""
        if isinstance(value, bool):
            return cls("yes" if value else "no", float(value))
        if isinstance(value, int | float):
            return cls(f"{value:g}", float(value))
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(?: ± (\d+(?:\.\d+)?))?", str(value))
        if found is None:
            raise PUInputError(f'a value of the paper is "93.6 ± 0.4" or "0.267"; got {value!r}')
        return cls(str(value), float(found[1]), float(found[2]) if found[2] else None)


@dataclass(frozen=True)
class Column:
    """A column: its task (or property, or weight), and where it lies on an axis."""

    key: str
    label: str
    x: float | None = None


@dataclass(frozen=True)
class Row:
    """A row: its method (or classifier, or task) and the paper's values by column key.

    ``lam`` says which penalty weight of VPU is shown: the one with the least held-out loss in each
    run ("chosen"), all of them as one ("blended"), the largest one within a standard error of the
    least loss ("one error"), the one that the paper prints for the task ("printed"), or a number.
    All were trained side by side.
    """

    key: str
    label: str
    lam: str | float = "chosen"
    paper: Mapping[str, PaperValue] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What tells it from other rows."""
        if isinstance(self.lam, str):
            return self.key if self.lam == "chosen" else f"{self.key} ({self.lam} λ)"
        return f"{self.key} (λ = {self.lam:g})"


@dataclass(frozen=True)
class Unmeasured:
    """Tasks that we have no results for, why, and the commands that would make them."""

    tasks: tuple[str, ...]
    reason: str
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A task with a fault and the same task without it; with ``lam``, both from the same runs."""

    label: str
    published: str
    mended: str
    lam: float | None = None


@dataclass(frozen=True)
class Fault:
    """A fault of the published code and the pairs of tasks that show what it is worth.

    ``columns`` are what the two sides of a pair are called.
    """

    title: str
    text: str
    method: str
    cases: tuple[Case, ...]
    columns: tuple[str, ...] = ("as published", "mended")


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper.

    Attributes
    ----------
    name : str
        As the command takes it, ``"table2"``.
    title, caption : str
    kind : str
        ``"table"`` and ``"lines"`` (methods by tasks), ``"samples"`` (images of a generator),
        ``"properties"`` and ``"weights"`` (nothing is trained), ``"faults"``.
    metric : str
        The metric shown.
    columns, rows : tuple
    faults : tuple of Fault
    unmeasured : tuple of Unmeasured
    seeds : int or None
        At most so many seeds are of use; None: as many as are asked for.
    notes : str
        Written by hand: what to know, and why a mean is not where the paper's is.
    x_label : str
        What the axis of a figure shows.
    """

    name: str
    title: str
    caption: str
    kind: str
    metric: str = "accuracy"
    columns: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()
    faults: tuple[Fault, ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()
    seeds: int | None = None
    notes: str = ""
    x_label: str = ""

    @property
    def digits(self) -> int:
        """Decimals of its numbers."""
        return DIGITS.get(self.metric, 3)

    def cells(self) -> list[Cell]:
        """The cells it needs, each once, method by method."""
        return list(dict.fromkeys(self._cells()))

    def _cells(self) -> Iterator[Cell]:
        if KEYS.get(self.kind) == ("method", "task"):
            yield from (Cell(column.key, row.key) for row in self.rows for column in self.columns)
        for fault in self.faults:
            for case in fault.cases:
                yield Cell(case.published, fault.method)
                yield Cell(case.mended, fault.method)

    def awaited(self, task: str) -> bool:
        """Whether a task is among those that it says are not measured."""
        return any(task in gap.tasks for gap in self.unmeasured)
