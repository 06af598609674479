"""What a fit asks of the world: alone, every answer is its own."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from varpu.exceptions import PUInputError

if TYPE_CHECKING:
    from torch import Tensor


class World:
    """One process alone; :class:`varpu.world.processes.Processes` are several.

    Attributes
    ----------
    rank : int
        The number of this process, from 0.
    size : int
        How many there are.
    """

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size

    @property
    def is_alone(self) -> bool:
        """Whether there is no other process."""
        return self.size == 1

    @property
    def is_first(self) -> bool:
        """Whether this is the process that speaks and writes for all."""
        return self.rank == 0

    def share(self, n: int) -> slice:
        """Which of the ``n`` rows of a batch are this process's; shares differ by one at most."""
        return slice(n * self.rank // self.size, n * (self.rank + 1) // self.size)

    def gather(self, own: "Tensor", n: int) -> "Tensor":
        """Values of a whole batch ``(K, n)`` from each process's :meth:`share` of it ``(K, b)``.

        The gradient goes to the process's own values alone: each computes the whole loss, so no
        other has it.
        """
        ends = [n * rank // self.size for rank in range(self.size + 1)]
        return self.gather_parts(own, [ends[i + 1] - ends[i] for i in range(self.size)])

    def gather_parts(self, own: "Tensor", sizes: Sequence[int]) -> "Tensor":
        """Like :meth:`gather`, where the processes have these numbers of columns, 0 too."""
        return own

    def sum(self, values: "Tensor") -> "Tensor":
        """The sum over the processes, on each of them; its gradient is a sum over them too."""
        return values

    def sum_gradients(self, parameters: "Iterable[Tensor]") -> None:
        """Replace the gradients by their sums over the processes, in one exchange."""

    def from_first(self, value: Any) -> Any:
        """The first process's value on every process; anything that JSON can hold."""
        return value

    def all_of(self, value: Any) -> list[Any]:
        """Every process's value, in their order, on every process; anything that JSON can hold."""
        return [value]

    def arrays_from_first(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The first process's arrays on every process; what the others give is not looked at."""
        return arrays

    def agree(self, trouble: str | None) -> None:
        """Raise one and the same :class:`PUInputError` everywhere if any process has trouble."""
        found = self.all_of(trouble)
        lines = [f"process {rank}: {text}" for rank, text in enumerate(found) if text]
        if lines:
            raise PUInputError(str(trouble) if self.is_alone else "; ".join(lines))

    def same(self, what: str, value: Any) -> None:
        """Raise everywhere unless every process has the same value of something."""
        values = self.all_of(value)
        if any(other != values[0] for other in values):
            shown = "; ".join(f"process {rank} has {v}" for rank, v in enumerate(values))
            raise PUInputError(f"the processes of a fit must have the same {what}: {shown}")


_current = World()


def current_world() -> World:
    """The world that fits of this process take part in."""
    return _current


@contextlib.contextmanager
def entered(world: World) -> Iterator[World]:
    """Let fits take part in ``world``."""
    global _current
    before, _current = _current, world
    try:
        yield world
    finally:
        _current = before
