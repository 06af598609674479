"""Positive-unlabelled learning by the variational principle, without a known class prior.

The names below are loaded when they are first used, so ``import varpu`` is quick and imports no
learning library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from varpu.exceptions import missing_extra

if TYPE_CHECKING:
    from varpu import (
        classic,
        crossfit,
        datasets,
        diagnosis,
        losses,
        methods,
        metrics,
        model_selection,
        nets,
        paper,
        priors,
        report,
        scale,
        tabular,
        training,
    )
    from varpu.auto import PUClassifier
    from varpu.boosting import VPUBoostingClassifier
    from varpu.classic import (
        ElkanNotoClassifier,
        PULDClassifier,
        RankPruningClassifier,
        RocchioSVMClassifier,
    )
    from varpu.io import load, save
    from varpu.neural import (
        GenPUClassifier,
        NetworkClassifier,
        NNPUClassifier,
        UPUClassifier,
        VPUClassifier,
        genpu_preset,
        paper_recipe,
    )
    from varpu.report import PUReport
    from varpu.versions import show_versions

__version__ = "0.1.0"

__all__ = [
    "PUClassifier",
    "VPUClassifier",
    "VPUBoostingClassifier",
    "UPUClassifier",
    "NNPUClassifier",
    "GenPUClassifier",
    "RankPruningClassifier",
    "RocchioSVMClassifier",
    "PULDClassifier",
    "ElkanNotoClassifier",
    "NetworkClassifier",
    "paper_recipe",
    "genpu_preset",
    "PUReport",
    "load",
    "save",
    "show_versions",
    "classic",
    "crossfit",
    "datasets",
    "diagnosis",
    "losses",
    "methods",
    "metrics",
    "model_selection",
    "nets",
    "paper",
    "priors",
    "report",
    "scale",
    "tabular",
    "training",
    "__version__",
]

# The module that holds each public name; a submodule holds itself.
_HOMES = {
    "PUClassifier": "varpu.auto",
    "VPUClassifier": "varpu.neural",
    "VPUBoostingClassifier": "varpu.boosting",
    "UPUClassifier": "varpu.neural",
    "NNPUClassifier": "varpu.neural",
    "GenPUClassifier": "varpu.neural",
    "RankPruningClassifier": "varpu.classic",
    "RocchioSVMClassifier": "varpu.classic",
    "PULDClassifier": "varpu.classic",
    "ElkanNotoClassifier": "varpu.classic",
    "NetworkClassifier": "varpu.neural",
    "paper_recipe": "varpu.neural",
    "genpu_preset": "varpu.neural",
    "PUReport": "varpu.report",
    "load": "varpu.io",
    "save": "varpu.io",
    "show_versions": "varpu.versions",
    "classic": "varpu.classic",
    "crossfit": "varpu.crossfit",
    "datasets": "varpu.datasets",
    "diagnosis": "varpu.diagnosis",
    "losses": "varpu.losses",
    "methods": "varpu.methods",
    "metrics": "varpu.metrics",
    "model_selection": "varpu.model_selection",
    "nets": "varpu.nets",
    "paper": "varpu.paper",
    "priors": "varpu.priors",
    "report": "varpu.report",
    "scale": "varpu.scale",
    "tabular": "varpu.tabular",
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
