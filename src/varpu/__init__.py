"""Positive-unlabelled learning by the variational principle, without a known class prior.

The names below are loaded when they are first used, so ``import varpu`` is quick and imports no
learning library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from varpu.exceptions import missing_extra

if TYPE_CHECKING:
    from varpu import crossfit, losses, metrics, model_selection, nets, scale, training
    from varpu.auto import PUClassifier
    from varpu.boosting import VPUBoostingClassifier
    from varpu.io import load, save
    from varpu.neural import VPUClassifier, paper_recipe

__version__ = "0.1.0"

__all__ = [
    "PUClassifier",
    "VPUClassifier",
    "VPUBoostingClassifier",
    "paper_recipe",
    "load",
    "save",
    "crossfit",
    "losses",
    "metrics",
    "model_selection",
    "nets",
    "scale",
    "training",
    "__version__",
]

# The module that holds each public name; a submodule holds itself.
_HOMES = {
    "PUClassifier": "varpu.auto",
    "crossfit": "varpu.crossfit",
    "VPUClassifier": "varpu.neural",
    "VPUBoostingClassifier": "varpu.boosting",
    "paper_recipe": "varpu.neural",
    "load": "varpu.io",
    "save": "varpu.io",
    "losses": "varpu.losses",
    "metrics": "varpu.metrics",
    "model_selection": "varpu.model_selection",
    "nets": "varpu.nets",
    "scale": "varpu.scale",
    "training": "varpu.training",
}
_EXTRAS = ("torch", "ray")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'varpu' has no attribute {name!r}")
    home = _HOMES[name]
    try:
        module = import_module(home)
    except ModuleNotFoundError as error:
        if error.name in _EXTRAS:
            raise missing_extra(error.name) from None
        raise
    value = module if home == f"varpu.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
