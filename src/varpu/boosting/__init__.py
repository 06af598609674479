"""Boosted trees on the variational loss."""

from varpu.boosting.classifier import VPUBoostingClassifier
from varpu.boosting.objective import variational_derivatives

__all__ = ["VPUBoostingClassifier", "variational_derivatives"]
