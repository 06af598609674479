"""Networks that make rows from noise, and many of them as one.

A generator maps latent draws ``(B, n_latent)`` to rows in the units of the discriminators' input.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from varpu.nets import seeded_network

# Doublings of an image's side: more would leave too little to start from, or grow too deep.
_MAX_DOUBLINGS, _SMALLEST_START = 3, 4
_FIRST_CONTRAST = 0.1


class TableGenerator(nn.Sequential):
    """Fully connected ReLU network with one linear output a column.

    Parameters
    ----------
    n_latent, n_features : int
    hidden : sequence of int
        Units of each hidden layer.
    """

    def __init__(self, n_latent: int, n_features: int, hidden: Sequence[int]) -> None:
        widths = [n_latent, *hidden]
        layers: list[nn.Module] = []
        for n_in, n_out in pairwise(widths):
            layers += [nn.Linear(n_in, n_out), nn.ReLU()]
        super().__init__(*layers, nn.Linear(widths[-1], n_features))
        for layer in self.linears():
            # Numbers keep their size from layer to layer: first rows vary as standardised ones do.
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
        nn.init.normal_(self.linears()[0].weight, std=n_latent**-0.5)

    def linears(self) -> list[nn.Linear]:
        """The layers that hold weights, first to last."""
        return [layer for layer in self if isinstance(layer, nn.Linear)]

    def finished(self, rows: Tensor) -> Tensor:
        """From what the last layer gives, ``(..., d)``, to rows."""
        return rows

    def forward(self, latent: Tensor) -> Tensor:
        """Rows of latents ``(B, n_latent)``."""
        return self.finished(super().forward(latent))


class DenseImageGenerator(TableGenerator):
    """Fully connected layers that end in a small image: many of them are one batched product.

    Parameters
    ----------
    n_latent : int
    shape : (channels, height, width)
    hidden : sequence of int
    low, high : float
        The smallest and the largest value of a pixel.
    """

    def __init__(
        self,
        n_latent: int,
        shape: tuple[int, ...],
        hidden: Sequence[int],
        low: float = -1.0,
        high: float = 1.0,
    ) -> None:
        super().__init__(n_latent, math.prod(shape), hidden)
        self.shape, self.low, self.high = shape, low, high
        # First images are all but grey: pixels at the ends of tanh would hardly learn.
        nn.init.normal_(self.linears()[-1].weight, std=_FIRST_CONTRAST * hidden[-1] ** -0.5)

    def finished(self, rows: Tensor) -> Tensor:
        """Images ``(..., C, H, W)`` with pixels from low to high."""
        unit = (torch.tanh(rows) + 1) / 2
        return (self.low + (self.high - self.low) * unit).unflatten(-1, self.shape)


class ImageGenerator(nn.Module):
    """A small image, doubled by transposed convolutions, ending in tanh.

    Each doubling halves the channels and is followed by batch norm and ReLU. A side that is not a
    multiple of what the doublings give is cut from a larger one.

    Parameters
    ----------
    n_latent : int
    shape : (channels, height, width)
    low, high : float
        The smallest and the largest value of a pixel.
    channels : int
        Of the last hidden layer.
    """

    span: Tensor

    def __init__(
        self,
        n_latent: int,
        shape: tuple[int, ...],
        low: float = -1.0,
        high: float = 1.0,
        channels: int = 32,
    ) -> None:
        super().__init__()
        n_colours, *self.sides = shape
        doublings = 0
        while doublings < _MAX_DOUBLINGS and min(self.sides) >> (doublings + 1) >= _SMALLEST_START:
            doublings += 1
        start = [-(-side >> doublings) for side in self.sides]  # rounded up
        width = channels << doublings
        layers: list[nn.Module] = [
            nn.Linear(n_latent, width * start[0] * start[1], bias=False),
            nn.Unflatten(1, (width, *start)),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        ]
        for _ in range(doublings):
            layers += [
                nn.ConvTranspose2d(width, width // 2, 4, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(width // 2),
                nn.ReLU(),
            ]
            width //= 2
        self.layers = nn.Sequential(*layers, nn.Conv2d(width, n_colours, 3, padding=1), nn.Tanh())
        self.register_buffer("span", torch.tensor([low, high]))

    def forward(self, latent: Tensor) -> Tensor:
        """Images of shape (B, C, H, W)."""
        height, width = self.sides
        unit = self.layers(latent)[..., :height, :width]  # in (-1, 1)
        low, high = self.span
        return low + (high - low) * (unit + 1) / 2


class Generators(nn.Module):
    """Generators of one shape behind one forward, latents ``(G, B, n_latent)`` to ``(G, B, ...)``.

    Attributes
    ----------
    n_generators : int
    """

    n_generators: int

    def states(self) -> list[dict[str, Tensor]]:
        """One ``state_dict`` a generator, as its own class wants it."""
        raise TypeError(f"{type(self).__name__} must define states()")


class StackedTableGenerators(Generators):
    """Fully connected generators as one batched product a layer."""

    def __init__(self, members: Sequence[TableGenerator]) -> None:
        super().__init__()
        self.n_generators = len(members)
        self._finished = members[0].finished
        layers = list(zip(*(member.linears() for member in members), strict=True))
        self.weights = nn.ParameterList(
            torch.stack([linear.weight.detach().t() for linear in layer]) for layer in layers
        )  # (G, in, out)
        self.biases = nn.ParameterList(
            torch.stack([linear.bias.detach() for linear in layer]).unsqueeze(1) for layer in layers
        )  # (G, 1, out)

    def forward(self, latent: Tensor) -> Tensor:
        """Rows of shape (G, B, d), or images."""
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            latent = torch.baddbmm(bias, latent, weight)
            if i < last:
                latent = latent.relu()
        return self._finished(latent)

    def states(self) -> list[dict[str, Tensor]]:
        """One ``state_dict`` a generator, as :class:`TableGenerator` wants it."""
        states: list[dict[str, Tensor]] = [{} for _ in range(self.n_generators)]
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            for state, own_weight, own_bias in zip(states, weight, bias, strict=True):
                state[f"{2 * i}.weight"] = own_weight.detach().t().clone()
                state[f"{2 * i}.bias"] = own_bias.detach()[0].clone()
        return states


class GeneratorList(Generators):
    """Any generators, one after the other."""

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.n_generators = len(members)
        self.members = nn.ModuleList(members)

    def forward(self, latent: Tensor) -> Tensor:
        """Rows of shape (G, B, ...)."""
        pairs = zip(self.members, latent, strict=True)
        return torch.stack([member(own) for member, own in pairs])

    def states(self) -> list[dict[str, Tensor]]:
        """One ``state_dict`` a generator."""
        return [
            {name: value.detach().clone() for name, value in member.state_dict().items()}
            for member in self.members
        ]


def build_generators(
    factory: Callable[[], nn.Module], seeds: Sequence[int], device: torch.device
) -> Generators:
    """Fresh generators, one a seed, each with the weights its seed alone decides."""
    return _together([seeded_network(factory, seed) for seed in seeds], device)


def load_generators(
    factory: Callable[[], nn.Module], states: Sequence[dict[str, Tensor]], device: torch.device
) -> Generators:
    """Generators in states that :meth:`Generators.states` gave."""
    members = [seeded_network(factory, 0) for _ in states]
    for member, state in zip(members, states, strict=True):
        member.load_state_dict(state)
    return _together(members, device)


def _together(members: Sequence[nn.Module], device: torch.device) -> Generators:
    tables = [member for member in members if isinstance(member, TableGenerator)]
    if len(tables) == len(members):
        return StackedTableGenerators(tables).to(device)
    return GeneratorList(members).to(device)


def generator_factory(
    n_latent: int, shape: tuple[int, ...], hidden: Sequence[int], low: float, high: float
) -> Callable[[], nn.Module]:
    """A function that makes a generator of rows of ``shape``, with pixels from low to high."""
    if len(shape) == 1:
        return lambda: TableGenerator(n_latent, shape[0], hidden)
    return lambda: ImageGenerator(n_latent, shape, low, high)
