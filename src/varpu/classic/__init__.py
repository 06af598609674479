"""Methods from before the variational loss: around any classifier, or by support vectors."""

from varpu.classic.elkan_noto import ElkanNotoClassifier
from varpu.classic.puld import PULDClassifier
from varpu.classic.rank_pruning import RankPruningClassifier
from varpu.classic.rocchio_svm import RocchioSVMClassifier

__all__ = [
    "RankPruningClassifier",
    "RocchioSVMClassifier",
    "PULDClassifier",
    "ElkanNotoClassifier",
]
