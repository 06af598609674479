"""Several processes, by ``torch.distributed``."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

# Training loads it. Loaded once there is a group, its functions would hold that as a default for
# good, and with it its threads: one of them that lets go of a tensor as Python ends aborts the
# process. So it is loaded here, before this process joins the others.
import torch.distributed.nn.functional
from numpy.typing import NDArray
from torch import Tensor

from varpu.world.base import World


class Processes(World):
    """The processes of the default group of ``torch.distributed``."""

    def __init__(self) -> None:
        super().__init__(dist.get_rank(), dist.get_world_size())

    def gather_parts(self, own: Tensor, sizes: Sequence[int]) -> Tensor:
        """Everybody's columns, with the gradient of one's own."""
        return _Gather.apply(own, self.rank, list(sizes))

    def sum(self, values: Tensor) -> Tensor:
        """A sum whose gradient is summed."""
        return _Sum.apply(values)

    def sum_gradients(self, parameters: Iterable[Tensor]) -> None:
        """One exchange of all gradients as one vector."""
        # A parameter that the loss does not depend on has no gradient on any process alike.
        gradients = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
        dist.all_reduce(flat)
        sizes = [gradient.numel() for gradient in gradients]
        for gradient, part in zip(gradients, flat.split(sizes), strict=True):
            gradient.copy_(part.reshape(gradient.shape))

    def from_first(self, value: Any) -> Any:
        """The value as JSON: first its length, then its bytes."""
        text = json.dumps(value).encode() if self.is_first else b""
        size = torch.tensor([len(text)])
        dist.broadcast(size, 0)
        data = torch.zeros(int(size), dtype=torch.uint8)
        if self.is_first:
            data.copy_(_bytes(text))
        dist.broadcast(data, 0)
        return json.loads(data.numpy().tobytes())

    def all_of(self, value: Any) -> list[Any]:
        """The values as JSON, blanks after them up to the length of the longest."""
        text = json.dumps(value).encode()
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        dist.all_gather(sizes, torch.tensor([len(text)]))
        longest = max(int(size) for size in sizes)
        texts = [torch.zeros(longest, dtype=torch.uint8) for _ in range(self.size)]
        dist.all_gather(texts, _bytes(text.ljust(longest)))
        return [json.loads(text.numpy().tobytes()) for text in texts]

    def arrays_from_first(self, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Names, types and shapes as JSON, then the bytes of each array."""
        received = {}
        shapes = {name: (str(array.dtype), array.shape) for name, array in arrays.items()}
        for name, (dtype, shape) in self.from_first(shapes).items():
            array = np.ascontiguousarray(arrays[name]) if self.is_first else np.empty(shape, dtype)
            if array.size:
                dist.broadcast(torch.from_numpy(array.reshape(-1).view(np.uint8)), 0)
            received[name] = array.reshape(shape)
        return received


def _bytes(text: bytes) -> Tensor:
    return torch.frombuffer(bytearray(text), dtype=torch.uint8)


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, own: Tensor, rank: int, sizes: list[int]) -> Tensor:
        ctx.own = sum(sizes[:rank]), sum(sizes[: rank + 1])
        padded = own.new_zeros(own.shape[0], max(sizes))
        padded[:, : own.shape[1]] = own
        parts = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(parts, padded)
        return torch.cat([p[:, :n] for p, n in zip(parts, sizes, strict=True)], dim=1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        start, stop = ctx.own
        return grads[0][:, start:stop], None, None


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(values: Tensor) -> Tensor:
        total = values.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        """A sum has nothing to remember."""

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return _Sum.apply(grads[0])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None], values: Tensor) -> tuple[Tensor, int | None]:
        # A sum element by element does not mind which dimension the members are.
        return _Sum.apply(values), in_dims[0]
