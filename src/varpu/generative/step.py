"""One adversarial step of all members, and the same as a CUDA graph.

Everything a step reads lives on the device, found there by a counter that lives there too, so a
step is the same sequence of kernels each time: on a GPU it is captured once and then replayed.
"""

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from varpu.generative.generators import Generators
from varpu.generative.members import GenPUMember, GenPURecipe
from varpu.generative.values import Games, game_values, generator_loss, total_value
from varpu.nets import Stack, at_least_float32, seeded_network
from varpu.training import DeviceRows, draws
from varpu.training.rows import RowStream
from varpu.training.step import autocast

_FIRST_PUSH = 1e-4  # of the weight: too little to drive G_n off before it knows the data
_SETTLING_PASSES = 50  # after which batch norm remembers 0.5% of what it knew before
_EAGER_STEPS = 3  # real steps taken before capture, so that libraries have set themselves up


@dataclass
class Players:
    """The five networks of each of K members.

    Attributes
    ----------
    generators : Generators
        2 K of them: G_p of all members, then G_n of all members.
    d_p, d_u, d_n : Stack
        Discriminators, K each.
    """

    generators: Generators
    d_p: Stack
    d_u: Stack
    d_n: Stack

    def discriminator_parameters(self) -> list[nn.Parameter]:
        """Of all three discriminators."""
        return [*self.d_p.parameters(), *self.d_u.parameters(), *self.d_n.parameters()]


class Captured:
    """A function without arguments, replayed as a CUDA graph once it has run a few times."""

    def __init__(self, function: Callable[[], None], device: torch.device, wanted: bool) -> None:
        self._function, self._device = function, device
        self._wanted = wanted and device.type == "cuda"
        self._graph: torch.cuda.CUDAGraph | None = None
        self._calls = 0

    def __call__(self) -> None:
        """Call, capture or replay."""
        if not self._wanted:
            self._function()
            return
        if self._graph is None and self._calls >= _EAGER_STEPS:
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._function()
        if self._graph is not None:
            self._graph.replay()
            return
        self._calls += 1
        side = torch.cuda.Stream(self._device)
        side.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(side):
            self._function()
        torch.cuda.current_stream(self._device).wait_stream(side)


class Updater:
    """Adam over some parameters: backward, then one update of these and of nothing else."""

    def __init__(
        self, parameters: list[nn.Parameter], lr: float, betas: tuple[float, float]
    ) -> None:
        self._parameters = parameters
        on_gpu = parameters[0].is_cuda
        rate = torch.tensor(lr, device=parameters[0].device) if on_gpu else lr
        self._adam = torch.optim.Adam(
            parameters, lr=rate, betas=betas, fused=True, capturable=on_gpu
        )

    def step(self, objective: Tensor) -> None:
        """Lower the objective."""
        for parameter in self._parameters:
            parameter.grad = None
        objective.backward()
        self._adam.step()


class Latents:
    """Standard normal draws as a function of member, step and place alone."""

    def __init__(self, seeds: Tensor, recipe: GenPURecipe) -> None:
        # G_p and G_n of a member draw apart.
        own = [draws.hashed(seeds, draws.STREAM_NOISE, which) for which in range(2)]
        self._seeds = torch.cat(own)
        self._shape = (recipe.batch_size, recipe.n_latent)

    def __call__(self, step: Tensor) -> Tensor:
        """Latents ``(2 K, B, n_latent)`` of a step, G_p's first."""
        return draws.normal(self._seeds, step, self._shape)


class AdversarialStep:
    """Callable that takes all members one step further: discriminators, then generators.

    Parameters
    ----------
    players : Players
    rows : DeviceRows
    members : list of GenPUMember
    recipe : GenPURecipe
    """

    def __init__(
        self,
        players: Players,
        rows: DeviceRows,
        members: list[GenPUMember],
        recipe: GenPURecipe,
    ) -> None:
        self.players, self.rows, self.recipe = players, rows, recipe
        device, steps, batch = rows.X.device, recipe.steps_per_epoch, recipe.batch_size
        seeds = torch.tensor([member.seed for member in members], device=device)
        self.games = Games.of([member.weights for member in members], device)
        rows_p, rows_u = [member.p for member in members], [member.u for member in members]
        self._stream_p = RowStream(rows_p, batch, steps, seeds, draws.STREAM_P)
        self._stream_u = RowStream(rows_u, batch, steps, seeds, draws.STREAM_U)
        self._latents = Latents(seeds, recipe)

        k = len(members)
        self._rows_p = torch.zeros(steps, k, batch, dtype=torch.int64, device=device)
        self._rows_u = torch.zeros_like(self._rows_p)
        self._t = torch.zeros(1, dtype=torch.int64, device=device)  # step inside the epoch
        self._taken = torch.zeros(1, dtype=torch.int64, device=device)  # steps in all
        self._sums = torch.zeros(4, k, device=device)

        self._discriminators = Updater(
            players.discriminator_parameters(), recipe.lr_discriminator, recipe.betas
        )
        self._generators = Updater(
            list(players.generators.parameters()), recipe.lr_generator, recipe.betas
        )
        layers = seeded_network(recipe.discriminator, 0).modules()
        self._normalizes = any(isinstance(layer, _BatchNorm) for layer in layers)
        self._means = [value.detach().clone() for value in players.generators.parameters()]
        self._run = Captured(self._step, device, recipe.capture)

    def begin_epoch(self, epoch: int) -> None:
        """Draw the epoch's batches on the device."""
        self._rows_p.copy_(self._stream_p.epoch(epoch))
        self._rows_u.copy_(self._stream_u.epoch(epoch))
        self._t.zero_()
        self._sums.zero_()

    def averages(self) -> Tensor:
        """The four games' mean values over the epoch, shape (4, K)."""
        return self._sums / self.recipe.steps_per_epoch

    def __call__(self) -> None:
        """Take one step."""
        self._run()

    def _step(self) -> None:
        x_p = self.rows[self._rows_p.index_select(0, self._t)[0]]
        x_u = self.rows[self._rows_u.index_select(0, self._t)[0]]
        fake_p, fake_n = self.players.generators(self._latents(self._taken)).chunk(2)
        self._sums += self.update_discriminators(x_p, x_u, fake_p.detach(), fake_n.detach())
        self.update_generators(x_p, x_u, fake_p, fake_n)
        self._average()
        self._t += 1
        self._taken += 1

    def update_discriminators(
        self, x_p: Tensor, x_u: Tensor, fake_p: Tensor, fake_n: Tensor
    ) -> Tensor:
        """One step of D_p, D_u and D_n; the games' values before it, shape (4, K)."""
        p = _logits(self.recipe, self.players.d_p, x_p, fake_p)
        u = _logits(self.recipe, self.players.d_u, x_u, fake_p, fake_n)
        n = _logits(self.recipe, self.players.d_n, x_p, fake_n)
        values = game_values(*p, *u, *n)
        self._discriminators.step(-total_value(values, self.games).sum())
        return values.detach()

    def update_generators(self, x_p: Tensor, x_u: Tensor, fake_p: Tensor, fake_n: Tensor) -> None:
        """One step of G_p and G_n, through which the generated rows came."""
        with _held_fixed(self.players.discriminator_parameters()):
            # Real rows are there for batch norm alone, which sees what it saw when D learned.
            beside_p, beside_u = ((x_p,), (x_u,)) if self._normalizes else ((), ())
            *_, p_fake = _logits(self.recipe, self.players.d_p, *beside_p, fake_p)
            *_, u_positive, u_negative = _logits(
                self.recipe, self.players.d_u, *beside_u, fake_p, fake_n
            )
            *_, n_fake = _logits(self.recipe, self.players.d_n, *beside_p, fake_n)
            games = replace(self.games, negative_n=self.games.negative_n * self._push())
            loss = generator_loss(p_fake, u_positive, u_negative, n_fake, games)
            self._generators.step(loss.sum())

    def _push(self) -> Tensor:
        """The part of its weight that the push away from P has now, shape (1,)."""
        ramp = max(1.0, self.recipe.ramp * self.recipe.epochs * self.recipe.steps_per_epoch)
        passed = torch.clamp((self._taken + 1) / ramp, max=1)
        return torch.exp(math.log(_FIRST_PUSH) * (1 - passed))

    def _average(self) -> None:
        # While there have been few steps the mean remembers few, or it would be of first weights.
        memory = torch.clamp((1 + self._taken) / (10 + self._taken), max=self.recipe.average)
        for mean, value in zip(self._means, self.players.generators.parameters(), strict=True):
            mean.lerp_(value.detach(), 1 - memory)

    @torch.no_grad()
    def settle_generators(self) -> None:
        """Give the generators the running means of their weights, for good.

        Statistics of batch norm were gathered under other weights: they are gathered anew.
        """
        generators = self.players.generators
        for mean, value in zip(self._means, generators.parameters(), strict=True):
            value.copy_(mean)
        if any(isinstance(layer, nn.BatchNorm2d) for layer in generators.modules()):
            for passed in range(_SETTLING_PASSES):
                generators(self._latents(self._taken + passed))


def _logits(recipe: GenPURecipe, stack: Stack, *batches: Tensor) -> tuple[Tensor, ...]:
    """Logits of each batch from one pass, with batch-norm statistics of all of them together.

    Normalised apart, batches would lose their means, and with them what tells one from the other.
    """
    with autocast(stack, recipe, batches[0].device):
        logits = at_least_float32(stack(torch.cat(batches, dim=1)))
    return logits.split([batch.shape[1] for batch in batches], dim=1)


@contextlib.contextmanager
def _held_fixed(parameters: list[nn.Parameter]) -> Iterator[None]:
    """Let gradients pass through these networks without being gathered for them."""
    for parameter in parameters:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in parameters:
            parameter.requires_grad_(True)
