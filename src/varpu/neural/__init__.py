"""Classifiers that are networks; they need the extra ``torch``."""

from varpu.exceptions import require_extra

require_extra("torch")

from varpu.neural.genpu import GenPUClassifier, genpu_preset  # noqa: E402
from varpu.neural.network import NetworkClassifier  # noqa: E402
from varpu.neural.nnpu import NNPUClassifier  # noqa: E402
from varpu.neural.recipes import paper_recipe  # noqa: E402
from varpu.neural.upu import UPUClassifier  # noqa: E402
from varpu.neural.vpu import VPUClassifier  # noqa: E402

__all__ = [
    "GenPUClassifier",
    "NNPUClassifier",
    "NetworkClassifier",
    "UPUClassifier",
    "VPUClassifier",
    "genpu_preset",
    "paper_recipe",
]
