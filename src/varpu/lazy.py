"""Public names that are loaded when they are first used."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from varpu.exceptions import missing_extra

_EXTRAS = ("torch", "ray", "xgboost")


def loader(package: dict[str, Any], homes: dict[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package.

    Parameters
    ----------
    package : dict
        Its ``globals()``, where a name is kept once it was loaded.
    homes : dict
        The module that holds each public name; a submodule holds itself.
    """
    here = package["__name__"]

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {here!r} has no attribute {name!r}")
        home = homes[name]
        try:
            module = import_module(home)
        except ModuleNotFoundError as error:
            if error.name in _EXTRAS:
                raise missing_extra(error.name) from None
            raise
        value = module if home == f"{here}.{name}" else getattr(module, name)
        package[name] = value
        return value

    return load
