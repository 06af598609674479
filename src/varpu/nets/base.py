"""What a network's output means, and what a stack of networks is."""

import torch
from torch import Tensor, nn


def logit(output: Tensor) -> Tensor:
    """The logit ``g`` of each row, from a network's raw output.

    Parameters
    ----------
    output : Tensor of shape (B,), (B, 1) or (B, 2)
        One logit a row, or two outputs of which the second speaks for the positive class: a
        log-softmax over two outputs is a log-sigmoid of their difference.

    Returns
    -------
    Tensor of shape (B,)
    """
    if output.dim() == 1:
        return output
    if output.dim() == 2 and output.shape[1] == 1:
        return output[:, 0]
    if output.dim() == 2 and output.shape[1] == 2:
        return output[:, 1] - output[:, 0]
    raise ValueError(
        "a network must return one logit or two class scores a row, shape (B,), (B, 1) or (B, 2);"
        f" got {tuple(output.shape)}"
    )


def at_least_float32(x: Tensor) -> Tensor:
    """Losses and statistics are computed in float32, whatever the products were, or finer."""
    return x if x.dtype == torch.float64 else x.float()


class Stack(nn.Module):
    """K networks of one shape behind one forward, inputs ``(K, B, ...)`` to logits ``(K, B)``.

    A forward pass may hold several batches one after the other; ``sizes`` says how many rows each
    has, for layers to which that matters (batch norm).

    Attributes
    ----------
    n_members : int
    most_rows : int or None
        Rows to score at once, over all members; None: what suits the kind of input.
    """

    n_members: int
    most_rows: int | None = None

    def tensors(self) -> list[Tensor]:
        """All state, parameters and buffers, each with the members as its leading dimension.

        They share memory with the stack, so writing to them sets its state.
        """
        return [value.detach() for value in (*self.parameters(), *self.buffers())]

    def restore_constants(self) -> None:
        """Set anew the weights that are not to be learned, after a weight decay shrank them all."""

    def states(self) -> list[dict[str, Tensor]]:
        """One ``state_dict`` a member, as the members' own class wants it."""
        raise TypeError(f"{type(self).__name__} must define states()")
