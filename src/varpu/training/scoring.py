"""Scores outside training: held-out loss of every member, and the best state seen so far."""

from collections.abc import Hashable

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from varpu.losses import SURROGATES
from varpu.nets import Stack, at_least_float32
from varpu.training.members import Member, Recipe, Risk
from varpu.training.rows import DeviceRows, padded
from varpu.training.step import autocast
from varpu.world import current_world

# Rows scored at once, over all members: large enough to fill a GPU, small enough for its memory. A
# CPU is filled by fewer, and keeps the buffers.
_TABLE_ROWS, _TABLE_ROWS_CPU, _IMAGE_ROWS = 1 << 17, 1 << 14, 1 << 13


@torch.no_grad()
def logits(stack: Stack, rows: DeviceRows, numbers: Tensor, recipe: Recipe) -> Tensor:
    """Logits of each member on its own rows ``(K, n)`` of the table, in evaluation mode.

    Processes that train together score a share of the rows each.
    """
    world = current_world()
    table_rows = _TABLE_ROWS if rows.X.is_cuda else _TABLE_ROWS_CPU
    limit = stack.most_rows or (table_rows if rows.X.dim() == 2 else _IMAGE_ROWS)
    stack.train(False)
    parts = []
    own = numbers[:, world.share(numbers.shape[1])]
    for part in own.split(max(1, limit // len(numbers)), dim=1):
        with autocast(stack, recipe, rows.X.device):
            parts.append(at_least_float32(stack(rows[part])))
    stack.train(True)
    return world.gather(torch.cat(parts, dim=1), numbers.shape[1])


class HeldOut:
    """Held-out loss of each member: the criterion for its epoch, and for every other choice.

    It is ``L_var`` in its KL form, whatever divergence is trained, so that all members can be
    compared. Where a risk is trained it is that risk; nnPU's is held at or above its positive part.
    """

    def __init__(self, rows: DeviceRows, members: list[Member], recipe: Recipe) -> None:
        device = rows.X.device
        self._rows, self._recipe = rows, recipe
        self._prior = torch.tensor([member.prior for member in members], device=device)
        self._p, length_p = padded([member.held_out_p for member in members], device)
        self._u, length_u = padded([member.held_out_u for member in members], device)
        self._in_p, self._n_p = _inside(self._p, length_p), length_p
        self._in_u, self._n_u = _inside(self._u, length_u), length_u

    def loss(self, stack: Stack) -> Tensor:
        """The loss of shape (K,); NaN for a member that holds nothing out."""
        if not (self._p.numel() and self._u.numel()):
            return torch.full((len(self._p),), torch.nan, device=self._p.device)
        values = logits(stack, self._rows, torch.cat([self._p, self._u], dim=1), self._recipe)
        g_p, g_u = values.split([self._p.shape[1], self._u.shape[1]], dim=1)
        if self._recipe.risk is not None:
            return self._risk(self._recipe.risk, g_p, g_u)
        sum_u = torch.logsumexp(logsigmoid(g_u).masked_fill(~self._in_u, -torch.inf), dim=1)
        return sum_u - self._n_u.log() - self._mean_p(logsigmoid(g_p))

    def _risk(self, risk: Risk, g_p: Tensor, g_u: Tensor) -> Tensor:
        surrogate, prior = SURROGATES[risk.surrogate], self._prior
        if risk.kind == "supervised":
            loss_p, loss_n = surrogate(g_p), surrogate(-g_u)
            if self._rows.weight is not None:
                loss_p = loss_p * self._rows.weight[self._p]
                loss_n = loss_n * self._rows.weight[self._u]
            return prior * self._mean_p(loss_p) + (1 - prior) * self._mean_u(loss_n)
        negative = self._mean_u(surrogate(-g_u)) - prior * self._mean_p(surrogate(-g_p))
        if risk.kind == "nnpu":
            negative = negative.clamp(min=0)
        return prior * self._mean_p(surrogate(g_p)) + negative

    def _mean_p(self, values: Tensor) -> Tensor:
        return values.masked_fill(~self._in_p, 0).sum(dim=1) / self._n_p

    def _mean_u(self, values: Tensor) -> Tensor:
        return values.masked_fill(~self._in_u, 0).sum(dim=1) / self._n_u


def _inside(table: Tensor, lengths: Tensor) -> Tensor:
    return torch.arange(table.shape[1], device=table.device) < lengths.reshape(-1, 1)


class Criterion:
    """What each member's epoch is chosen by: its held-out loss, or the mean over its group.

    A mean weighs the members by their held-out positives, so that every positive counts once. Were
    each fold of a fit to choose for itself, it would choose the epoch that flatters its own few
    positives; their scores would no longer be those of unlabelled positives, and a prior read off
    them would be too low.

    Attributes
    ----------
    exists : bool Tensor of shape (K,)
        Whether anything is held out to choose by.
    """

    def __init__(self, members: list[Member], device: torch.device) -> None:
        numbers: dict[Hashable, int] = {}
        keys = [("alone", k) if m.group is None else m.group for k, m in enumerate(members)]
        group = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
        self._group = torch.from_numpy(group).to(device)
        self._members, sizes = padded(
            [np.flatnonzero(group == g) for g in range(len(numbers))], device
        )
        self._inside = _inside(self._members, sizes)
        counts = [len(m.held_out_p) if len(m.held_out_u) else 0 for m in members]
        self._count = torch.tensor(counts, device=device)
        totals = self._sums(self._count)
        self._share = self._count / totals.clamp(min=1)  # of a member alone it is exactly 1
        self.exists = totals > 0

    def __call__(self, loss: Tensor) -> Tensor:
        """From held-out losses ``(K,)`` to what is compared, ``(K,)``, the same within a group."""
        means = self._sums((loss * self._share).masked_fill(self._count == 0, 0))
        return means.masked_fill(~self.exists, torch.nan)

    def _sums(self, values: Tensor) -> Tensor:
        """Of each member, the sum over its group; always in one order, so always the same bits."""
        sums = values[self._members].masked_fill(~self._inside, 0).sum(dim=1)
        return sums[self._group]


class Best:
    """The state of each member at its best epoch, kept on the device.

    Attributes
    ----------
    tensors : list of Tensor
    epoch : int Tensor of shape (K,)
        The best so far; -1 before there is one.
    loss : Tensor of shape (K,)
        The member's own held-out loss then.
    criterion : Tensor of shape (K,)
        What it was chosen by.
    """

    def __init__(self, stack: Stack, has_held_out: Tensor) -> None:
        device = stack.tensors()[0].device
        self.tensors = [value.clone() for value in stack.tensors()]
        self.loss = torch.full((stack.n_members,), torch.inf, device=device)
        self.criterion = self.loss.clone()
        self.epoch = torch.full((stack.n_members,), -1, device=device)
        self._has_held_out = has_held_out

    def update(self, stack: Stack, loss: Tensor, criterion: Tensor, epoch: int) -> None:
        """Take over the members that improved; one that holds nothing out always does."""
        better = (criterion < self.criterion) | ~self._has_held_out
        self.criterion = torch.where(better, criterion, self.criterion)
        self.loss = torch.where(better, loss, self.loss)
        self.epoch = torch.where(better, epoch, self.epoch)
        for best, value in zip(self.tensors, stack.tensors(), strict=True):
            best.copy_(torch.where(better.reshape(-1, *(1,) * (best.dim() - 1)), value, best))

    def age(self, epoch: int) -> int:
        """For how many epochs no member has improved."""
        return epoch - int(self.epoch.max())

    def restore(self, stack: Stack) -> None:
        """Put the best states into the stack."""
        for value, best in zip(stack.tensors(), self.tensors, strict=True):
            value.copy_(best)
