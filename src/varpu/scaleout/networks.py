"""A network on a table larger than memory: U comes by in batches, the positives stay.

Each step sees a batch of the stream, a draw of the resident positives, and mixtures of the two. The
loss is that of the whole batch, over all processes. A twentieth of the way is called an epoch: at
its end the held-out loss is measured, and the state with the least is kept.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from varpu import losses
from varpu.auto import PUClassifier
from varpu.auto.columns import Columns
from varpu.auto.streamed import HIDDEN, classifier_of_network
from varpu.checks import real, share, whole
from varpu.crossfit import marginal_rows
from varpu.exceptions import PUInputError
from varpu.nets import MLP, build_stacks
from varpu.scaleout.ahead import ahead
from varpu.scaleout.parquet import ParquetRows
from varpu.training import DeviceRows, Member, Recipe, pick_device
from varpu.training.draws import mixing_weights
from varpu.training.progress import EpochBar
from varpu.training.scoring import Best, HeldOut
from varpu.training.step import MemberAdam
from varpu.world import World, current_world

# Epochs of a fit, and those at which the learning rate is halved.
_EPOCHS, _MILESTONES = 20, (8, 12, 15, 17, 19)
# A smaller table is gone over several times.
_FEWEST_ROWS = 2_000_000
# Positives and mixtures are half of a batch: they repeat, while every row of U comes once.
_ROWS_U, _ROWS_P = 1024, 512


def fit_network_stream(
    rows: ParquetRows,
    *,
    prior: float | None = None,
    lam: float = 0.03,
    alpha: float = 0.3,
    lr: float = 1e-3,
    passes: int | None = None,
    device: str = "auto",
    random_state: int | None = None,
    progress: bool | None = None,
) -> PUClassifier:
    """Fit a network by mini-batches of rows that are read from files.

    Memory holds the labelled rows (at most about two million), the rows held out, and a few blocks
    of the table. Inside :func:`varpu.world.joined_world` each process reads its part of the table,
    and all train one network.

    Parameters
    ----------
    rows : ParquetRows
        Of several processes, each opens the same table in the same way.
    prior : float or None, default=None
        The share of positives in the marginal, if known.
    lam, alpha : float
        Weight of the MixUp penalty, and of its Beta distribution.
    lr : float, default=1e-3
    passes : int or None, default=None
        How often the table is gone over. None: once, but until about two million rows were seen.
    device : str, default="auto"
    random_state : int, optional
        Decides first weights and draws; by default that of ``rows``.
    progress : bool or None, default=None

    Returns
    -------
    PUClassifier
        Of this one network; it takes frames that ``rows.encoder`` made.
    """
    if prior is not None:
        share("prior", prior, one_allowed=True)
    real("lam", lam, 0)
    real("lr", lr, 0, open_low=True)
    if passes is None:
        passes = max(1, round(_FEWEST_ROWS / rows.n_train))
    whole("passes", passes, 1)
    seed = whole("random_state", rows.random_state if random_state is None else random_state, 0)
    world = current_world()
    rows.check_same(world)
    stream = _Stream(rows, passes, world)
    recipe = Recipe(
        alpha=alpha,
        epochs=_EPOCHS,
        steps_per_epoch=math.ceil(stream.steps / _EPOCHS),
        lr_milestones=_MILESTONES,
    )
    held_out = rows.held_out_rows()
    columns = Columns.learn(held_out.frame[held_out.weight_u > 0])
    table = _tensor(columns, held_out.frame)
    chosen_by = Member(
        seed=seed,
        lam=lam,
        lr=lr,
        p=np.zeros(0, dtype=np.int64),
        u=np.zeros(0, dtype=np.int64),
        held_out_p=np.flatnonzero(held_out.weight_p),
        held_out_u=np.flatnonzero(held_out.weight_u),
    )
    target = pick_device(device)
    training = _Training(
        columns,
        _tensor(columns, rows.positives()).to(target),
        DeviceRows(table.to(target)),
        chosen_by,
        recipe,
        world,
    )
    with EpochBar(_EPOCHS, progress if world.is_first else False) as bar:
        training.run(stream, bar)
    return classifier_of_network(
        training.state(),
        columns,
        held_out.frame,
        held_out.weight_p,
        held_out.weight_u,
        prior=prior,
        scenario=rows.scenario,
        device=device,
        random_state=seed,
    )


@dataclass
class _Stream:
    """Batches of the marginal sample; how large each process's is, all of them know beforehand."""

    rows: ParquetRows
    passes: int
    world: World

    def __post_init__(self) -> None:
        size = self.world.size
        if size > _ROWS_P:
            raise PUInputError(f"a stream is for at most {_ROWS_P} processes; there are {size}")
        self.shares = _shares(_ROWS_U, size)
        self._lengths = self.world.all_of(
            self.passes * self.rows.n_train_of(self.world.rank, size, marginal=True)
        )
        self.steps = max(
            math.ceil(n / own) for n, own in zip(self._lengths, self.shares, strict=True)
        )

    def sizes(self, step: int) -> list[int]:
        """Rows of the step's batch that each process has; at the end, one may have run out."""
        return [
            min(own, max(0, n - step * own))
            for n, own in zip(self._lengths, self.shares, strict=True)
        ]

    def batches(self, columns: Columns) -> Iterator[Tensor]:
        """The part of each batch that is this process's, (b, d); the last is as long as it is."""
        own = self.shares[self.world.rank]
        left = None
        for block in ahead(self._blocks(columns)):
            left = block if left is None else torch.cat([left, block])
            full = len(left) // own * own
            yield from left[:full].split(own)
            left = left[full:]
        if left is not None and len(left):
            yield left

    def _blocks(self, columns: Columns) -> Iterator[Tensor]:
        shard = (self.world.rank, self.world.size)
        for number in range(self.passes):
            for frame, labelled in self.rows.blocks(epoch=number, shard=shard):
                marginal = marginal_rows(labelled, self.rows.scenario)
                yield _tensor(columns, frame if marginal.all() else frame[marginal])


class _Training:
    """The network as it is trained."""

    def __init__(
        self,
        columns: Columns,
        positives: Tensor,
        held_out: DeviceRows,
        member: Member,
        recipe: Recipe,
        world: World,
    ) -> None:
        self._columns, self._positives, self._world = columns, positives, world
        self._member, self._recipe = member, recipe
        device = positives.device
        d = positives.shape[1]

        def factory() -> nn.Module:
            return MLP(d, HIDDEN)

        sample = positives[:1]
        (self._stack,) = build_stacks(factory, [member.seed], sample, device, torch.float32)
        self._adam = MemberAdam(self._stack, None, [member.lr], recipe)
        self._held_out = HeldOut(held_out, [member], recipe)
        self._best = Best(self._stack, torch.ones(1, dtype=torch.bool, device=device))
        self._gammas = mixing_weights(
            [member.seed], recipe.alpha, recipe.epochs, recipe.steps_per_epoch
        ).reshape(-1)
        # The same draws on every process, of which each takes its share.
        self._draws = torch.Generator().manual_seed(member.seed)

    def run(self, stream: _Stream, bar: EpochBar) -> None:
        """Train on all batches."""
        batches = stream.batches(self._columns)
        nothing = self._positives[:0]
        for step in range(stream.steps):
            epoch, place = divmod(step, self._recipe.steps_per_epoch)
            if place == 0:
                self._adam.begin_epoch(epoch)
            sizes = stream.sizes(step)
            x_u = next(batches).to(nothing.device) if sizes[self._world.rank] else nothing
            self._step(x_u, sizes, float(self._gammas[step]))
            if place == self._recipe.steps_per_epoch - 1 or step == stream.steps - 1:
                loss = self._held_out.loss(self._stack)
                self._best.update(self._stack, loss, loss, epoch)
                if bar.shown:
                    bar.advance(epoch, loss.tolist())
        self._best.restore(self._stack)

    def _step(self, x_u: Tensor, sizes_u: list[int], gamma: float) -> None:
        world = self._world
        numbers = torch.randint(len(self._positives), (_ROWS_P,), generator=self._draws)
        x_p = self._positives[numbers[world.share(_ROWS_P)].to(x_u.device)]
        # Rows of P, of U and mixed ones on each process; what has no partner is not mixed.
        sizes = [
            (p, u, min(p, u)) for p, u in zip(_shares(_ROWS_P, world.size), sizes_u, strict=True)
        ]
        n_mixed = sizes[world.rank][2]
        weight = torch.tensor([gamma], device=x_u.device)
        mixed = torch.lerp(x_u[:n_mixed], x_p[:n_mixed], weight)
        own = logsigmoid(self._stack(torch.cat([x_p, x_u, mixed]).unsqueeze(0)))
        scores = world.gather_parts(own, [sum(parts) for parts in sizes])
        parts = scores.split([n for parts in sizes for n in parts], dim=1)
        log_phi_p, log_phi_u, log_phi_mixed = (torch.cat(parts[i::3], dim=1) for i in range(3))
        partners = torch.cat(
            [u[:, :n] for u, (_, _, n) in zip(parts[1::3], sizes, strict=True)], dim=1
        )
        loss = losses.variational(log_phi_p, log_phi_u)
        penalty = losses.mixup(log_phi_mixed, partners, weight)
        self._adam.step((loss + self._member.lam * penalty).sum())

    def state(self) -> dict[str, Tensor]:
        """The weights of the best epoch, on the CPU."""
        return {name: value.cpu() for name, value in self._stack.states()[0].items()}


def _shares(n: int, size: int) -> list[int]:
    """How many of ``n`` rows each process has; see :meth:`varpu.world.World.share`."""
    bounds = [World(rank, size).share(n) for rank in range(size)]
    return [own.stop - own.start for own in bounds]


def _tensor(columns: Columns, frame: pd.DataFrame) -> Tensor:
    return torch.from_numpy(columns.standard(frame).astype(np.float32))
