"""What a classifier gets to see of a task, and what it is judged by."""

from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass
class Split:
    """Training rows with their PU labels and hidden truth, and test rows."""

    X: np.ndarray | pd.DataFrame
    labelled: np.ndarray
    truth: np.ndarray
    X_test: np.ndarray | pd.DataFrame
    y_test: np.ndarray
