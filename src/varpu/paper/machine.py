"""What a result was made on and with."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from varpu import __version__

__all__ = ["hardware", "versions"]


def versions() -> dict[str, str]:
    """Versions of varpu, Python, and of what does the arithmetic; what is absent is left out."""
    found = {"varpu": __version__, "python": platform.python_version()}
    for name in ("torch", "numpy", "scikit-learn", "lightgbm"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def hardware(device: str = "auto") -> str:
    """The processor and its cores, after the GPU if the device is or may be one."""
    processor = f"{_cpu_name()}, {_cores()} cores"
    gpu = None if device == "cpu" else _gpu_name()
    return f"{gpu}; {processor}" if gpu else processor


def _cores() -> int:
    """Cores that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu_name() -> str:
    """The processor as Linux names it; elsewhere whatever Python knows."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _gpu_name() -> str | None:
    if find_spec("torch") is None:
        return None
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None
