"""Positive-unlabelled learning by the variational principle, without a known class prior.

The names below are loaded when they are first used, so ``import varpu`` is quick and imports no
learning library.
"""

from typing import TYPE_CHECKING

from varpu.lazy import loader

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
        scaleout,
        tabular,
        training,
    )
    from varpu.auto import PUClassifier
    from varpu.boosting import VPUBoostingClassifier, VPUXGBoostClassifier
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
    "VPUXGBoostClassifier",
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
    "scaleout",
    "tabular",
    "training",
    "__version__",
]

# The module that holds each public name; a submodule holds itself.
_HOMES = {
    "PUClassifier": "varpu.auto",
    "VPUClassifier": "varpu.neural",
    "VPUBoostingClassifier": "varpu.boosting",
    "VPUXGBoostClassifier": "varpu.boosting",
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
    "scaleout": "varpu.scaleout",
    "tabular": "varpu.tabular",
    "training": "varpu.training",
}
__getattr__ = loader(globals(), _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
