"""The paper's network for tables."""

from collections.abc import Sequence
from itertools import pairwise

from torch import nn


class MLP(nn.Sequential):
    """Fully connected ReLU network with two outputs.

    The paper's seven layers are the default: six hidden ones of 300 units.

    Parameters
    ----------
    n_features : int
    hidden : sequence of int
        Units of each hidden layer.
    """

    def __init__(self, n_features: int, hidden: Sequence[int] = (300,) * 6) -> None:
        widths = [n_features, *hidden]
        layers: list[nn.Module] = []
        for n_in, n_out in pairwise(widths):
            layers += [nn.Linear(n_in, n_out), nn.ReLU()]
        super().__init__(*layers, nn.Linear(widths[-1], 2))
        self.hidden = tuple(hidden)

    def linears(self) -> list[nn.Linear]:
        """The layers that hold weights, first to last."""
        return [layer for layer in self if isinstance(layer, nn.Linear)]
