"""Where a fit runs and in what arithmetic."""

import contextlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch

PRECISIONS = ("fp32", "tf32", "bf16")
_BF16_OF_CPUS = ("amx_bf16", "avx512_bf16")


def pick_device(name: str) -> torch.device:
    """The device of that name; ``"auto"`` is a GPU where there is one.

    Raises
    ------
    ValueError
        If there is no such device here.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(
            f"device must be 'auto', 'cpu' or a device torch knows, such as 'cuda:0'; got {name!r}"
        ) from None
    if device.type == "cpu":
        return device
    if device.type != "cuda":
        raise ValueError(f"device must be a CPU or a CUDA GPU, got {name!r}")
    if not torch.cuda.is_available() or (device.index or 0) >= torch.cuda.device_count():
        found = torch.cuda.device_count() if torch.cuda.is_available() else 0
        raise ValueError(f"device={name!r} was asked for, but torch sees {found} CUDA device(s)")
    return device


def compute_dtype(precision: str) -> torch.dtype:
    """The type products are computed in."""
    return torch.bfloat16 if precision == "bf16" else torch.float32


def pick_precision(name: str, device: torch.device) -> str:
    """The precision of that name; ``"auto"`` is bfloat16 where the device has instructions for it.

    Weights, Adam and the loss are float32 in any case, and a device that would have to imitate
    bfloat16 gets float32.
    """
    if name != "auto":
        return name
    return "bf16" if _has_bfloat16(device) else "fp32"


@cache
def _has_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    # Not every release of torch tells what the processor can do.
    capabilities: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(capabilities.get(name) for name in _BF16_OF_CPUS)


@contextlib.contextmanager
def arithmetic(precision: str, device: torch.device) -> Iterator[None]:
    """Set the arithmetic of float32 products, and put the user's own settings back after.

    torch's default lets convolutions, but not products, round to TF32; here ``"fp32"`` means it.
    """
    if device.type != "cuda":
        yield
        return
    tf32 = precision != "fp32"
    matmul, conv = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, conv.allow_tf32, conv.benchmark
    matmul.allow_tf32, conv.allow_tf32, conv.benchmark = tf32, tf32, True
    try:
        yield
    finally:
        matmul.allow_tf32, conv.allow_tf32, conv.benchmark = before
