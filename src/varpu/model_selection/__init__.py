"""Splits of PU data that keep the shares of P and U, and copies of a row on one side."""

from varpu.model_selection.kfold import PUStratifiedKFold
from varpu.model_selection.train_test import pu_train_test_split

__all__ = ["PUStratifiedKFold", "pu_train_test_split"]
