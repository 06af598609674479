"""The rows of a PU problem made from labelled data."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from varpu.checks import whole
from varpu.exceptions import PUInputError

Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class PUSplit:
    """Row numbers, each array sorted; nothing is copied.

    Attributes
    ----------
    p : array of shape (M,)
        Positives that are labelled for training.
    u : array
        The marginal sample for training; holds ``p`` in the single-set scenario.
    held_out_p : array of shape (M_v,)
        Labelled positives to validate with; none of them is trained on.
    held_out_u : array
        The marginal sample to validate with; holds ``held_out_p`` in the single-set scenario.
    """

    p: Rows
    u: Rows
    held_out_p: Rows
    held_out_u: Rows

    @property
    def labeled(self) -> Rows:
        """All labelled positives, for training and held out, sorted."""
        return np.sort(np.concatenate([self.p, self.held_out_p]))

    def labels(self, n: int) -> Rows:
        """A vector for ``n`` rows: 1 where a positive is labelled, 0 elsewhere."""
        labeled = self.labeled
        needed = int(labeled[-1]) + 1 if len(labeled) else 1
        if whole("n", n, 1) < needed:
            raise PUInputError(
                f"n must be at least {needed}, as row {needed - 1} is labelled; got {n}"
            )
        y = np.zeros(n, np.int64)
        y[labeled] = 1
        return y

    def __repr__(self) -> str:
        sizes = ((name, len(getattr(self, name))) for name in self.__dataclass_fields__)
        return f"PUSplit({', '.join(f'{size} {name}' for name, size in sizes)})"
