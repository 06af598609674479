"""Classifiers that are networks; they need the extra ``torch``."""

from varpu.exceptions import require_extra

require_extra("torch")

from varpu.neural.recipes import paper_recipe  # noqa: E402
from varpu.neural.vpu import VPUClassifier  # noqa: E402

__all__ = ["VPUClassifier", "paper_recipe"]
