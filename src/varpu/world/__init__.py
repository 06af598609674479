"""The processes that fit one model together, and what they say to each other.

``log E_U[Phi]`` couples the rows of a batch, so the mean of what each process finds for its own
rows is another loss. Here each process scores its share of the batch, the scores go round, and
every process computes the loss of the whole batch from them: the same number, and the same code, as
for one process alone. Each then has the gradient that its own rows give, and these are summed.

A fit asks :func:`current_world`: one process alone, unless :func:`joined_world` was entered. torch
is loaded only where there is something to join.
"""

from varpu.world.base import World, current_world
from varpu.world.joining import is_launched, joined_world

__all__ = ["World", "current_world", "is_launched", "joined_world"]
