"""Scores outside training: held-out loss of every member, and the best state seen so far."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from varpu.nets import Stack
from varpu.training.members import Member, Recipe
from varpu.training.rows import DeviceRows, padded
from varpu.training.step import autocast

# Rows scored at once, over all members: large enough to fill a GPU, small enough for its memory.
_TABLE_ROWS, _IMAGE_ROWS = 1 << 17, 1 << 13


@torch.no_grad()
def log_phi(stack: Stack, rows: DeviceRows, numbers: Tensor, recipe: Recipe) -> Tensor:
    """``log Phi`` of each member on its own rows ``(K, n)`` of the table, in evaluation mode."""
    limit = _TABLE_ROWS if rows.X.dim() == 2 else _IMAGE_ROWS
    stack.train(False)
    parts = []
    for part in numbers.split(max(1, limit // len(numbers)), dim=1):
        with autocast(stack, recipe, rows.X.device):
            parts.append(logsigmoid(stack(rows[part]).float()))
    stack.train(True)
    return torch.cat(parts, dim=1)


class HeldOut:
    """Held-out ``L_var`` of each member: the criterion for its epoch, and for every other choice.

    It is always the KL form, whatever loss is trained, so that all members can be compared.
    """

    def __init__(self, rows: DeviceRows, members: list[Member], recipe: Recipe) -> None:
        device = rows.X.device
        self._rows, self._recipe = rows, recipe
        self._p, length_p = padded([member.held_out_p for member in members], device)
        self._u, length_u = padded([member.held_out_u for member in members], device)
        self._in_p, self._n_p = _inside(self._p, length_p), length_p
        self._in_u, self._n_u = _inside(self._u, length_u), length_u
        self.exists = (length_p > 0) & (length_u > 0)  # (K,)

    def loss(self, stack: Stack) -> Tensor:
        """``L_var`` of shape (K,); NaN for a member that holds nothing out."""
        if not (self._p.numel() and self._u.numel()):
            return torch.full((len(self._p),), torch.nan, device=self._p.device)
        values = log_phi(stack, self._rows, torch.cat([self._p, self._u], dim=1), self._recipe)
        values_p, values_u = values.split([self._p.shape[1], self._u.shape[1]], dim=1)
        mean_p = values_p.masked_fill(~self._in_p, 0).sum(dim=1) / self._n_p
        sum_u = torch.logsumexp(values_u.masked_fill(~self._in_u, -torch.inf), dim=1)
        return sum_u - self._n_u.log() - mean_p


def _inside(table: Tensor, lengths: Tensor) -> Tensor:
    return torch.arange(table.shape[1], device=table.device) < lengths.reshape(-1, 1)


class Best:
    """The state of each member at its best epoch, kept on the device."""

    def __init__(self, stack: Stack, has_held_out: Tensor) -> None:
        device = stack.tensors()[0].device
        self.tensors = [value.clone() for value in stack.tensors()]
        self.loss = torch.full((stack.n_members,), torch.inf, device=device)
        self.epoch = torch.full((stack.n_members,), -1, device=device)
        self._has_held_out = has_held_out

    def update(self, stack: Stack, loss: Tensor, epoch: int) -> None:
        """Take over the members that improved; one that holds nothing out always does."""
        better = (loss < self.loss) | ~self._has_held_out
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
