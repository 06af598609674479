"""Which columns matter: how much ``L_var`` rises when a column is shuffled."""

from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from numpy.typing import NDArray

from varpu.crossfit import pooled_loss
from varpu.report.scoring import Bools, Floats, pool_weights, scenario_of, take
from varpu.tables import is_category

_REPEATS = 3
# Rows scored in all: what a reader waits a few seconds for.
_MOST_SCORED = 24_000
_MOST_ROWS, _FEWEST_ROWS = 2_000, 300
_MOST_COLUMNS = 20

Rows = NDArray[np.int64]


def is_table(X: Any) -> bool:
    """Whether there are columns to look at one by one: a frame or a dense array."""
    if X is None or scipy.sparse.issparse(X):
        return False
    return isinstance(X, pd.DataFrame) or np.ndim(X) == 2


def column_names(model: Any, X: Any) -> list[str]:
    """Names of the columns: the table's, the model's, or numbers."""
    if isinstance(X, pd.DataFrame):
        return [str(name) for name in X.columns]
    names = getattr(model, "feature_names_in_", None)
    if names is not None and len(names) == np.shape(X)[1]:
        return [str(name) for name in names]
    return [f"column {j}" for j in range(np.shape(X)[1])]


def importance(
    model: Any, X: Any, positive: Bools, log_ratio: Floats, random_state: int
) -> dict[str, Any]:
    """The rise of ``L_var`` by column, largest first, measured on a sample of the rows.

    Labelled and unlabelled rows are sampled apart and weighted, so that few positives do not
    become fewer. A shuffled column has values drawn from the sample of the marginal. Of a wide
    table only the columns that go with the score most closely are shuffled.
    """
    random = np.random.default_rng(random_state)
    columns = _columns_to_try(X, log_ratio)
    rows, weight_p, weight_u = _sample(positive, scenario_of(model), len(columns), random)
    table = take(X, rows)
    base = pooled_loss(np.asarray(model.log_ratio(table)), weight_p, weight_u)
    names = column_names(model, X)
    found = []
    for j in columns:
        drawn = random.choice(len(rows), (_REPEATS, len(rows)), p=weight_u / weight_u.sum())
        scores = np.asarray(model.log_ratio(_shuffled(table, j, drawn))).reshape(_REPEATS, -1)
        rises = [pooled_loss(one, weight_p, weight_u) - base for one in scores]
        rise, spread = float(np.mean(rises)), float(np.std(rises))
        found.append({"column": names[j], "number": int(j), "rise": rise, "spread": spread})
    found.sort(key=lambda line: -float(line["rise"]))  # type: ignore[arg-type]
    return {
        "loss": base,
        "n_rows": len(rows),
        "n_columns": len(names),
        "repeats": _REPEATS,
        "columns": found,
    }


def _sample(
    positive: Bools, scenario: str, n_columns: int, random: np.random.Generator
) -> tuple[Rows, Floats, Floats]:
    """Row numbers with their weights in P and in the marginal."""
    most = int(np.clip(_MOST_SCORED // (n_columns * _REPEATS), _FEWEST_ROWS, _MOST_ROWS))
    sides = [np.flatnonzero(positive), np.flatnonzero(~positive)]
    n_p = min(len(sides[0]), max(most // 3, most - len(sides[1])))
    sizes = [n_p, min(len(sides[1]), most - n_p)]
    taken = [
        np.sort(random.choice(side, n, replace=False)) for side, n in zip(sides, sizes, strict=True)
    ]
    stands_for = np.repeat([len(s) / n for s, n in zip(sides, sizes, strict=True)], sizes)
    weight_p, weight_u = pool_weights(np.repeat([True, False], sizes), scenario)
    return np.concatenate(taken), weight_p * stands_for, weight_u * stands_for


def _columns_to_try(X: Any, log_ratio: Floats) -> list[int]:
    n = int(np.shape(X)[1])
    if n <= _MOST_COLUMNS:
        return list(range(n))
    ranks = pd.Series(log_ratio).rank().to_numpy()
    ranks = (ranks - ranks.mean()) / (ranks.std() or 1.0)
    closeness = [abs(float(ranks @ _standard(_column(X, j)))) for j in range(n)]
    return sorted(int(j) for j in np.argsort(closeness)[::-1][:_MOST_COLUMNS])


def _column(X: Any, j: int) -> Floats:
    if not isinstance(X, pd.DataFrame):
        return np.asarray(X)[:, j].astype(np.float64)
    column = X.iloc[:, j]
    values = column.cat.codes if is_category(column) else column
    return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))


def _standard(values: Floats) -> Floats:
    known = np.isfinite(values)
    if not known.any():
        return np.zeros_like(values)
    values = np.where(known, values, values[known].mean())
    return np.asarray((values - values.mean()) / (values.std() or 1.0))


def _shuffled(table: Any, j: int, drawn: Rows) -> Any:
    """The table once for each line of ``drawn``, one below the other, with column ``j`` redrawn."""
    if isinstance(table, pd.DataFrame):
        many = pd.concat([table] * len(drawn), ignore_index=True)
        many.isetitem(j, table.iloc[drawn.ravel(), j].reset_index(drop=True))
        return many
    many = np.concatenate([table] * len(drawn))
    many[:, j] = table[drawn.ravel(), j]
    return many
