"""Boosted trees on the variational loss."""

from varpu.boosting.classifier import VPUBoostingClassifier
from varpu.boosting.objective import variational_derivatives
from varpu.boosting.xgboost_classifier import VPUXGBoostClassifier

__all__ = ["VPUBoostingClassifier", "VPUXGBoostClassifier", "variational_derivatives"]
