"""Stacks of any module, and the choice between the kinds of stack."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

from varpu.nets.base import Stack, logit
from varpu.nets.image import LeNet5
from varpu.nets.mlp import MLP
from varpu.nets.segments import Segments
from varpu.nets.stacked_lenet import StackedLeNet
from varpu.nets.stacked_mlp import StackedMLP
from varpu.world import current_world

ModuleFactory = Callable[[], nn.Module]


class VmapStack(Stack):
    """Any modules of one architecture, run together through ``torch.func``."""

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.n_members = len(members)
        self._segments = Segments()
        parameters, buffers = stack_module_state(list(members))
        self._names = list(parameters), list(buffers)
        self._skeleton = [members[0].to("meta")]  # in a list: not a submodule, holds no weights
        self._segments.attach(self._skeleton[0])
        self._values = nn.ParameterList(nn.Parameter(p.detach()) for p in parameters.values())
        for i, value in enumerate(buffers.values()):
            self.register_buffer(f"_buffer_{i}", value)

    def forward(self, x: Tensor, sizes: Sequence[int] = ()) -> Tensor:
        """Logits ``(K, B)`` of inputs ``(K, B, ...)``."""
        self._segments(sizes)
        return torch.vmap(self._one, randomness="different")(*self._state(), x)

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        parameters = dict(zip(self._names[0], self._values, strict=True))
        return parameters, dict(zip(self._names[1], self.buffers(), strict=True))

    def _one(self, parameters: dict[str, Tensor], buffers: dict[str, Tensor], x: Tensor) -> Tensor:
        return logit(functional_call(self._skeleton[0], (parameters, buffers), (x,)))

    def train(self, mode: bool = True) -> "VmapStack":
        """Switch layers that act differently in training."""
        self._skeleton[0].train(mode)
        return self

    def states(self) -> list[dict[str, Tensor]]:
        """One ``state_dict`` a member."""
        parameters, buffers = self._state()
        named = {**parameters, **buffers}
        return [
            {name: value.detach()[k].clone() for name, value in named.items()}
            for k in range(self.n_members)
        ]


class ModuleStack(Stack):
    """A stack of one: any module at all, called as it is."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.n_members = 1
        self.module = module
        self._segments = Segments()
        self._segments.attach(module)

    def forward(self, x: Tensor, sizes: Sequence[int] = ()) -> Tensor:
        """Logits ``(1, B)`` of inputs ``(1, B, ...)``."""
        self._segments(sizes)
        return logit(self.module(x[0])).unsqueeze(0)

    def tensors(self) -> list[Tensor]:
        """All state, with a leading dimension of one."""
        return [value.unsqueeze(0) for value in super().tensors()]

    def states(self) -> list[dict[str, Tensor]]:
        """The module's ``state_dict``."""
        return [{name: v.detach().clone() for name, v in self.module.state_dict().items()}]


def build_stacks(
    factory: ModuleFactory,
    seeds: Sequence[int],
    sample: Tensor,
    device: torch.device,
    dtype: torch.dtype,
) -> list[Stack]:
    """Fresh members, one a seed, in as few stacks as their architecture allows.

    :class:`MLP` members become one :class:`StackedMLP`, on a GPU :class:`LeNet5` members one
    :class:`StackedLeNet`; other modules one :class:`VmapStack` where ``torch.func`` can run them,
    and a :class:`ModuleStack` each where it cannot.

    Parameters
    ----------
    factory : function without arguments that makes a module
        Called once a member, with torch's generator seeded by the member's seed (the global state
        is put back), so a member's weights do not depend on the others.
    seeds : sequence of int
    sample : Tensor of shape (1, ...)
        One input row, to see whether the modules can be stacked.
    device, dtype : where the members live, and what products are computed in
    """
    members = [seeded_network(factory, seed) for seed in seeds]
    if (stack := _of_a_kind(members, device, dtype)) is not None:
        return [stack]
    if len(members) > 1 and _can_vmap(factory, seeds, sample, device):
        return [VmapStack([member.to(device) for member in members])]
    return _one_by_one(members, device)


def stacks_of(
    factory: ModuleFactory,
    states: Sequence[dict[str, Tensor]],
    device: torch.device,
    dtype: torch.dtype,
) -> list[Stack]:
    """Trained members to score with: one stack, where there is one for their kind, or one each."""
    members = []
    for state in states:
        with torch.random.fork_rng(devices=[]):  # first weights are drawn, and forgotten
            member = factory()
        member.load_state_dict(state)
        members.append(member)
    stack = _of_a_kind(members, device, dtype)
    return _one_by_one(members, device) if stack is None else [stack]


def _of_a_kind(
    members: Sequence[nn.Module], device: torch.device, dtype: torch.dtype
) -> Stack | None:
    """The stack that was written for networks of this kind; None if there is none."""
    mlps = [member for member in members if type(member) is MLP]
    if len(mlps) == len(members):
        return StackedMLP(mlps, dtype).to(device)
    # A CPU's convolutions are good; processes that train together share batch-norm statistics.
    lenets = [member for member in members if type(member) is LeNet5]
    if len(lenets) == len(members) and device.type == "cuda" and current_world().is_alone:
        return StackedLeNet(lenets, dtype).to(device)
    return None


def _one_by_one(members: Sequence[nn.Module], device: torch.device) -> list[Stack]:
    members = [member.to(device) for member in members]
    if device.type == "cuda" and _is_wide(members[0]):
        members = [_channels_last(member) for member in members]
    return [ModuleStack(member) for member in members]


def _channels_last(module: nn.Module) -> nn.Module:
    return module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _is_wide(module: nn.Module) -> bool:
    """Whether channels-last, what the matrix units want, pays: thin convolutions lose by it."""
    channels = [m.in_channels for m in module.modules() if isinstance(m, nn.Conv2d)]
    return max(channels, default=0) >= 64


def seeded_network(factory: ModuleFactory, seed: int) -> nn.Module:
    """A network with the weights that its seed alone decides; the global state is put back."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return factory()


def _can_vmap(
    factory: ModuleFactory, seeds: Sequence[int], sample: Tensor, device: torch.device
) -> bool:
    """Try a pair of members on two rows: running them is the only test that tells."""
    pair = [seeded_network(factory, seed).to(device) for seed in seeds[:2]]
    rows = sample.expand(2, 2, *sample.shape[1:])
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            VmapStack(pair).train()(rows)
    except (RuntimeError, ValueError, TypeError):
        return False
    return True
