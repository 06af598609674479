"""What a method of the paper's tables is, and what it gives back."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from varpu.paper.tasks import Task

# From (task, method, seed) to the metrics of that run, or None where it has not been run.
LookUp = Callable[[str, str, int], dict[str, float] | None]


@dataclass(frozen=True)
class RunOptions:
    """How to run, whatever is run.

    Attributes
    ----------
    device : str
    quick : bool
        A short training, to see it work.
    jobs : int
        Processes for what cannot be stacked.
    progress : bool or None
    look_up : function
        Finds the results of other methods: the prior that one of them estimated.
    """

    device: str = "auto"
    quick: bool = False
    jobs: int = 1
    progress: bool | None = None
    look_up: LookUp = lambda task, method, seed: None


@dataclass(frozen=True)
class SeedResult:
    """What a method found for one seed.

    Attributes
    ----------
    seed : int
    metrics : dict
        ``accuracy`` in percent, ``auc``, ``prior``, ``held_out_loss``.
    settings : dict
        What was trained, so that a reader can do it again.
    seconds : float
        Of this seed; its share, where seeds were trained together.
    extra : dict
    """

    seed: int
    metrics: dict[str, float]
    settings: dict[str, Any]
    seconds: float
    extra: dict[str, Any] = field(default_factory=dict)


class Method(Protocol):
    """A row of the paper's tables."""

    name: str
    title: str

    def run(
        self, task: Task, seeds: Sequence[int], options: RunOptions
    ) -> Iterator[list[SeedResult]]:
        """Yield the seeds that were trained together, as soon as they are done."""
        ...
