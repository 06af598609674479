"""What is at work, versions and hardware: to be said with every problem and every result."""

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from varpu import __version__

__all__ = ["cpu_name", "hardware", "show_versions", "versions"]

_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "lightgbm",
    "safetensors",
    "matplotlib",
    "jinja2",
    "torch",
    "pyarrow",
    "ray",
)


def versions(packages: Iterable[str] = _PACKAGES) -> dict[str, str]:
    """The version of varpu, of Python, of the system and of each package that is installed.

    Nothing is imported for it.

    Parameters
    ----------
    packages : names, by default of all that varpu uses

    Examples
    --------
    >>> from varpu.versions import versions
    >>> list(versions())[:3]
    ['varpu', 'python', 'system']
    """
    found = {
        "varpu": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def show_versions() -> None:
    """Print the versions of varpu and of what it uses, one a line."""
    found = versions()
    width = max(map(len, found))
    for name, value in found.items():
        print(f"{name:<{width}}  {value}")


def hardware(device: str = "auto") -> str:
    """The processor and its cores, after the GPU if the device is or may be one."""
    processor = f"{cpu_name()}, {_cores()} cores"
    gpu = None if device == "cpu" else _gpu_name()
    return f"{gpu}; {processor}" if gpu else processor


def cpu_name() -> str:
    """The processor as Linux names it; elsewhere whatever Python knows."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _cores() -> int:
    """Cores that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _gpu_name() -> str | None:
    if find_spec("torch") is None:
        return None
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None
