"""Which versions are at work: the first thing to say in a report of a problem."""

import platform
from importlib.metadata import PackageNotFoundError, version

from varpu import __version__

__all__ = ["show_versions", "versions"]

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


def versions() -> dict[str, str]:
    """The version of varpu, of Python, of the system and of each package that is installed.

    Nothing is imported for it.

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
    for name in _PACKAGES:
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
