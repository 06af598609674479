"""The registry of checks, and the function that runs them."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from varpu.base import SCENARIOS
from varpu.checks import one_of
from varpu.diagnosis import columns, counts, rows, scores, separation, shifts
from varpu.diagnosis.finding import SEVERITIES, Finding
from varpu.diagnosis.table import Table, read_columns
from varpu.exceptions import PUInputError
from varpu.metrics.checks import check_labels

Check = Callable[[Table, list[Finding]], Iterator[Finding]]

# In this order: the model of the last leaves out the columns that the others have found.
CHECKS: tuple[Check, ...] = (
    counts.few_positives,
    counts.few_unlabelled,
    columns.shared_names,
    columns.constant,
    columns.mostly_missing,
    columns.infinite,
    columns.numbers_as_text,
    columns.ids,
    rows.labelled_copies,
    rows.copies,
    rows.order,
    shifts.gaps,
    shifts.periods,
    separation.separating,
    scores.model_checks,
)


def check_pu(
    X: Any,
    y: ArrayLike,
    *,
    scenario: str = "single-set",
    random_state: int | np.random.RandomState | None = 0,
) -> list[Finding]:
    """Look for trouble in a table of labelled positives and unlabelled rows.

    Each check asks what could not be so if labels were a random subset of the positives, or what
    a method here cannot stand; a column that tells the classes apart well is no finding. PU001,
    PU005, PU008 and PU015 each allow one false alarm in 1000 tables, over all columns, as long as
    at most 90% of the positives are labelled.

    Parameters
    ----------
    X : frame or array of shape (n, d)
        Columns of any type: numbers, strings, categories, booleans, dates, missing values.
    y : array of shape (n,) with two values
        The larger value marks labelled positives, the other unlabelled rows.
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether labelled rows are some of one sample, or were drawn apart.
    random_state : int, RandomState or None, default=0
        Decides which rows of a large table are looked at, and folds.

    Returns
    -------
    list of Finding
        Errors first, then warnings, then notes, each by code.

    Raises
    ------
    PUInputError
        If there are no rows or columns, or labels are not of two kinds.

    Examples
    --------
    >>> import pandas as pd
    >>> from varpu.diagnosis import check_pu
    >>> table = pd.DataFrame({"size": range(40), "unit": "cm"})
    >>> [found.code for found in check_pu(table, [1] * 10 + [0] * 30)]
    ['PU003', 'PU007', 'PU010', 'PU006']
    """
    one_of("scenario", scenario, SCENARIOS)
    names, read = read_columns(X)
    _, positive = check_labels(y)
    if len(positive) != read.n_rows:
        raise PUInputError(f"X has {read.n_rows} rows but y has {len(positive)}")
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    table = Table(names, read.columns, positive, read.groups, scenario, seed)
    found: list[Finding] = []
    for check in CHECKS:
        found += list(check(table, found))
    return sorted(found, key=lambda f: (SEVERITIES.index(f.severity), f.code))
