"""One training step of all members: batch, forward, loss, backward, Adam.

Everything a step reads lives on the device and is found there by a step counter that lives there
too, so a step is the same sequence of kernels each time: on a GPU it is captured once as a CUDA
graph and then replayed.

Where several processes train together each draws the whole batch, scores its share of the rows, and
computes the loss from everybody's scores (:mod:`varpu.world`).
"""

import contextlib
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from varpu import losses
from varpu.nets import Stack, at_least_float32
from varpu.training import draws
from varpu.training.members import Member, Recipe, Risk
from varpu.training.penalties import PENALTIES, Draw, Scored
from varpu.training.precision import compute_dtype
from varpu.training.rows import DeviceRows, RowStream
from varpu.world import current_world

_EAGER_STEPS = 3  # real steps taken before capture, so that libraries have set themselves up


class TrainingStep:
    """Callable that takes all members one step further.

    Parameters
    ----------
    stack : Stack
    critic : Stack or None
        The discriminator, for the loss ``"js"`` alone.
    rows : DeviceRows
    members : sequence of Member
        Of this stack, in its order.
    recipe : Recipe
    """

    def __init__(
        self,
        stack: Stack,
        critic: Stack | None,
        rows: DeviceRows,
        members: list[Member],
        recipe: Recipe,
    ) -> None:
        self.stack, self.critic, self.rows, self.recipe = stack, critic, rows, recipe
        self.penalty = PENALTIES[recipe.penalty] if recipe.penalty and not recipe.risk else None
        self.device = rows.X.device
        device, steps = self.device, recipe.steps_per_epoch

        self.batch = recipe.batch_size
        self.world = current_world()
        seeds = [member.seed for member in members]
        self.seeds = torch.tensor(seeds, device=device)
        self._first_seed = torch.tensor(seeds[:1])  # here, so that nobody waits for the device
        self.lam = torch.tensor([member.lam for member in members], device=device)
        self.prior = torch.tensor([member.prior for member in members], device=device)
        rows_p, rows_u = [member.p for member in members], [member.u for member in members]
        self._stream_p = RowStream(rows_p, self.batch, steps, self.seeds, draws.STREAM_P)
        self._stream_u = RowStream(rows_u, self.batch, steps, self.seeds, draws.STREAM_U)
        self._gammas = draws.mixing_weights(seeds, recipe.alpha, recipe.epochs, steps).to(device)

        k = len(members)
        self._rows_p = torch.zeros(steps, k, self.batch, dtype=torch.int64, device=device)
        self._rows_u = torch.zeros_like(self._rows_p)
        self._gamma = torch.zeros(steps, k, device=device)
        n_paired = 2 * self.batch if self.penalty and self.penalty.needs_pairs else 0
        self._pairs = torch.zeros(steps, k, n_paired, dtype=torch.int64, device=device)
        self._t = torch.zeros(1, dtype=torch.int64, device=device)  # step inside the epoch
        self._first = torch.zeros(1, dtype=torch.int64, device=device)  # the epoch's first step
        self._sums = torch.zeros(2, k, device=device)  # loss and penalty over the epoch

        self.adam = MemberAdam(stack, critic, [member.lr for member in members], recipe)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._taken = 0

    def begin_epoch(self, epoch: int) -> None:
        """Draw the epoch's batches on the device and set its learning rate."""
        self.adam.begin_epoch(epoch)
        self._rows_p.copy_(self._stream_p.epoch(epoch))
        self._rows_u.copy_(self._stream_u.epoch(epoch))
        self._gamma.copy_(self._gammas[epoch])
        if self._pairs.numel():
            steps, k, n = self._pairs.shape
            lengths = torch.full((k,), n, device=self.device)
            order = draws.permutations(self.seeds, draws.STREAM_PAIRS, epoch, steps, lengths, n)
            self._pairs.copy_(order.transpose(0, 1))
        self._t.zero_()
        self._first.fill_(epoch * self.recipe.steps_per_epoch)
        self._sums.zero_()

    def epoch_seed(self, epoch: int) -> int:
        """A seed for layers that draw by themselves (dropout): of this stack and epoch alone."""
        return int(draws.hashed(self._first_seed, draws.STREAM_LAYERS, epoch)) & 0x7FFFFFFF

    def averages(self) -> Tensor:
        """Mean loss and mean penalty of each member over the epoch, shape (2, K)."""
        return self._sums / self.recipe.steps_per_epoch

    def __call__(self) -> None:
        """Take one step; on a GPU on the current stream, which must not be the default one."""
        if self.device.type != "cuda" or not self.world.is_alone:
            self._step()
            return
        if self._graph is None and self._taken < _EAGER_STEPS:
            self._taken += 1
            self._step()
            return
        if self._graph is None:
            # On the fit's own stream: graphs captured on one stream share its workspace, and would
            # write over each other's when replayed side by side.
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph, stream=torch.cuda.current_stream(self.device)):
                self._step()
        self._graph.replay()

    def _step(self) -> None:
        rows_p = self._rows_p.index_select(0, self._t)[0]
        rows_u = self._rows_u.index_select(0, self._t)[0]
        x_p, x_u = self.rows[rows_p], self.rows[rows_u]
        draw = Draw(
            self._gamma.index_select(0, self._t)[0],
            self._pairs.index_select(0, self._t)[0],
            self.seeds,
            self._first + self._t,
        )
        if self.recipe.risk is None:
            loss, penalty = self._objective(x_p, x_u, draw)
        else:
            loss = self._risk(self.recipe.risk, x_p, x_u, draw, rows_p, rows_u)
            penalty = torch.zeros_like(loss)
        self.adam.step((loss + self.lam * penalty).sum())
        if self.recipe.weight_decay:
            self.stack.restore_constants()
        self._sums += torch.stack([loss.detach(), penalty.detach()])
        self._t += 1

    def _objective(self, x_p: Tensor, x_u: Tensor, draw: Draw) -> tuple[Tensor, Tensor]:
        """Loss and penalty of each member, both of shape (K,)."""
        batches = [x_p, x_u]
        if self.penalty and self.penalty.mixed:
            batches.append(self.penalty.mixed(x_p, x_u, draw))
        log_phi = [logsigmoid(g) for g in self._forward(batches)]
        scored = Scored(self._logits, x_p, x_u, log_phi[0], log_phi[1], log_phi[-1], draw)
        if self.critic is not None:
            d_p, d_u = self._critic_logits(torch.cat([x_p, x_u], dim=1)).chunk(2, dim=1)
            loss = losses.js_saddle(scored.log_phi_u, d_p, d_u)
        elif self.recipe.loss == "l2":
            loss = losses.l2(scored.log_phi_p, scored.log_phi_u)
        else:
            loss = losses.variational(scored.log_phi_p, scored.log_phi_u)
        if self.penalty is None:
            return loss, torch.zeros_like(loss)
        return loss, self.penalty.value(scored, self.recipe.alpha, self.recipe.epsilon)

    def _risk(
        self, risk: Risk, x_p: Tensor, x_u: Tensor, draw: Draw, rows_p: Tensor, rows_u: Tensor
    ) -> Tensor:
        """The risk of each member, of shape (K,)."""
        batches = [x_p, x_u]
        if risk.mixup:
            # The batch is in random order already, so its neighbour is a random partner.
            batches.append(losses.mix(x_u, x_u.roll(1, dims=1), draw.gamma))
        g_p, *others = self._forward(batches)
        g_u = torch.cat(others, dim=1)
        if risk.kind == "upu":
            return losses.upu(g_p, g_u, self.prior, risk.surrogate)
        if risk.kind == "nnpu":
            return losses.nnpu(g_p, g_u, self.prior, risk.surrogate, risk.beta, risk.gamma)
        weight = self.rows.weight
        weights = (None, None) if weight is None else (weight[rows_p], weight[rows_u])
        return losses.supervised(g_p, g_u, self.prior, risk.surrogate, *weights)

    def _forward(self, batches: list[Tensor]) -> list[Tensor]:
        """Logits of each batch from one pass. P and U share batch-norm statistics, mixed rows have
        their own.
        """
        share = self.world.share(self.batch)
        own = share.stop - share.start
        sizes = [2 * own, *(own for _ in batches[2:])]
        values = self._scores(self.stack, torch.cat([b[:, share] for b in batches], dim=1), sizes)
        # One exchange for all batches: (K, batches * own) -> (K * batches, own).
        k, n = len(values), len(batches)
        whole = self.world.gather(values.reshape(k * n, own), self.batch)
        return list(whole.reshape(k, n * self.batch).split(self.batch, dim=1))

    def _logits(self, x: Tensor) -> Tensor:
        """Logits ``(K, n)`` of a whole batch, of which this process scores its share."""
        return self._whole_batch(self.stack, x)

    def _critic_logits(self, x: Tensor) -> Tensor:
        assert self.critic is not None
        return self._whole_batch(self.critic, x)

    def _whole_batch(self, stack: Stack, x: Tensor) -> Tensor:
        own = x[:, self.world.share(x.shape[1])]
        return self.world.gather(self._scores(stack, own), x.shape[1])

    def _scores(self, stack: Stack, x: Tensor, sizes: Sequence[int] = ()) -> Tensor:
        with autocast(stack, self.recipe, self.device):
            return at_least_float32(stack(x, sizes))


class Rounding(Protocol):
    """A recipe, as far as arithmetic goes."""

    @property
    def precision(self) -> str:
        """One of :data:`varpu.training.PRECISIONS`."""
        ...


def autocast(
    stack: Stack, recipe: Rounding, device: torch.device
) -> contextlib.AbstractContextManager[None]:
    """bfloat16 for stacks that do not cast by themselves, where the recipe asks for it."""
    if recipe.precision != "bf16" or hasattr(stack, "compute_dtype"):
        return contextlib.nullcontext()
    dtype = compute_dtype(recipe.precision)
    return torch.autocast(device.type, dtype=dtype, cache_enabled=False)


class MemberAdam:
    """Adam over a stack, each member with its own learning rate, restarted at milestones.

    Members that share a learning rate are one parameter group of torch's fused Adam.
    """

    def __init__(
        self, stack: Stack, critic: Stack | None, lrs: list[float], recipe: Recipe
    ) -> None:
        self._recipe = recipe
        self._whole = [*stack.parameters(), *(critic.parameters() if critic else [])]
        self._on_gpu = self._whole[0].is_cuda
        self._groups = list(self._slices(lrs))
        groups = [
            {
                "params": self._views(members),
                "lr": torch.tensor(lr, device=self._whole[0].device) if self._on_gpu else lr,
            }
            for lr, members in self._groups
        ]
        self.optimizer = torch.optim.Adam(
            groups,
            betas=recipe.betas,
            weight_decay=recipe.weight_decay,
            fused=True,
            capturable=self._on_gpu,
        )

    @staticmethod
    def _slices(lrs: list[float]) -> Iterable[tuple[float, slice]]:
        start = 0
        for lr, run in groupby(lrs):
            stop = start + len(list(run))
            yield lr, slice(start, stop)
            start = stop

    def _views(self, members: slice) -> list[Tensor]:
        if len(self._groups) == 1:
            return list(self._whole)
        return [whole.detach()[members] for whole in self._whole]

    def begin_epoch(self, epoch: int) -> None:
        """At a milestone: a lower learning rate and an Adam that remembers nothing."""
        passed = sum(epoch >= milestone for milestone in self._recipe.lr_milestones)
        for (lr, _), group in zip(self._groups, self.optimizer.param_groups, strict=True):
            lr *= self._recipe.lr_decay**passed
            if self._on_gpu:
                group["lr"].fill_(lr)
            else:
                group["lr"] = lr
        if epoch in self._recipe.lr_milestones:
            for value in self.state():
                value.zero_()

    def state(self) -> list[Tensor]:
        """Moments and step counts, in a fixed order; empty before the first step."""
        return [
            value
            for group in self.optimizer.param_groups
            for parameter in group["params"]
            for _, value in sorted(self.optimizer.state[parameter].items())
        ]

    def prime(self) -> None:
        """Make the state exist without a step having been taken, to be overwritten."""
        for whole in self._whole:
            whole.grad = torch.zeros_like(whole)
        self._share_gradients()
        kept = [whole.detach().clone() for whole in self._whole]
        self.optimizer.step()
        for whole, value in zip(self._whole, kept, strict=True):
            whole.detach().copy_(value)

    def step(self, objective: Tensor) -> None:
        """Backward and update."""
        for whole in self._whole:
            whole.grad = None
        objective.backward()
        current_world().sum_gradients(self._whole)
        self._share_gradients()
        self.optimizer.step()

    def _share_gradients(self) -> None:
        """Give each group's views their part of the gradient."""
        if len(self._groups) == 1:
            return
        for (_, members), group in zip(self._groups, self.optimizer.param_groups, strict=True):
            for view, whole in zip(group["params"], self._whole, strict=True):
                view.grad = None if whole.grad is None else whole.grad[members]
