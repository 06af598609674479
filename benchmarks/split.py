"""What a classifier gets to see of a task, and what it is judged by."""

from dataclasses import dataclass

import numpy as np


@dataclass
class Split:
    """Training rows with their PU labels and hidden truth, and test rows."""

    X: np.ndarray
    labelled: np.ndarray
    truth: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
