"""Checks that the splitters share."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varpu.exceptions import PUInputError
from varpu.metrics.checks import check_labels
from varpu.model_selection.rows import Ids


def check_rows(X: Any, y: ArrayLike | None) -> NDArray[np.bool_]:
    """Which rows are labelled positives, one label a row."""
    _, positive = check_labels(y)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows != len(positive):
        raise PUInputError(f"X has {n_rows} rows but y has {len(positive)}")
    return positive


def check_enough(positive: NDArray[np.bool_], ids: Ids, n_sides: int) -> None:
    """Each side needs a labelled and an unlabelled row of its own."""
    for what, which in (("labelled positives", positive), ("unlabelled rows", ~positive)):
        n_distinct = len(np.unique(ids[which]))
        if n_distinct < n_sides:
            raise PUInputError(
                f"a split in {n_sides} needs at least {n_sides} {what} that are no copies of each"
                f" other (nor of one group); there are {n_distinct}, in {which.sum()} rows"
            )


def check_sides(positive: NDArray[np.bool_], side: Ids, n_sides: int) -> None:
    """No side may have come out without labelled or without unlabelled rows."""
    for what, which in (("labelled positive", positive), ("unlabelled row", ~positive)):
        if len(np.unique(side[which])) < n_sides:
            raise PUInputError(
                f"identical rows stay together, which left a part of the split without any {what}:"
                " remove copies or split in fewer parts"
            )
