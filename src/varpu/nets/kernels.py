"""Kernels of our own for a GPU, in modules that only a build of torch with Triton can import."""

from functools import lru_cache
from importlib import import_module
from typing import Any


@lru_cache(maxsize=8)
def triton_module(name: str) -> Any:
    """The module ``varpu.nets.<name>_triton``; None where there is no Triton."""
    try:
        return import_module(f"varpu.nets.{name}_triton")
    except ModuleNotFoundError as error:
        if error.name != "triton":
            raise
        return None
