"""PUClassifier: several families of models, cross-fitted on the same folds and blended."""

from varpu.auto.classifier import PUClassifier

__all__ = ["PUClassifier"]
