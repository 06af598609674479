"""Which rows belong together, and how such groups are dealt out to the sides of a split."""

import heapq
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from varpu.exceptions import PUInputError

Ids = NDArray[np.int64]

# How many unlabelled rows are alike, on average, where rows are alike by chance: where columns have
# few values each, and whatever they have. Nobody has the same record so often by mistake.
_ALIKE_OF_FEW_VALUES, _ALIKE = 2, 5


def rows_together(X: Any, positive: NDArray[np.bool_], groups: ArrayLike | None = None) -> Ids:
    """A number for each row, the same for rows that no split may part; numbered as they appear.

    In PU data an unlabelled copy of a labelled row is common, and a model that saw the one knows
    the other. So copies stay together, and rows of one group where ``groups`` are given. But rows
    that are only alike, as in a table of a few answers each (:func:`alike_by_chance`), are rows of
    their own: kept together they would hide whole kinds of rows from those who are to score them.
    """
    hashes = row_hashes(X)
    if alike_by_chance(X, hashes, positive):
        ids = np.arange(len(hashes), dtype=np.int64)
    else:
        ids = _first_seen(hashes)
    if groups is None:
        return ids
    named = _first_seen(np.asarray(groups))
    if len(named) != len(ids):
        raise PUInputError(f"X has {len(ids)} rows but groups has {len(named)}")
    # Rows are edges between their features and their group; what is connected stays together.
    n_ids, n_nodes = ids.max() + 1, ids.max() + named.max() + 2
    edges = sparse.coo_array((np.ones(len(ids)), (ids, n_ids + named)), shape=(n_nodes, n_nodes))
    _, component = sparse.csgraph.connected_components(edges, directed=False)
    return _first_seen(component[ids])


def alike_by_chance(X: Any, hashes: NDArray[np.uint64], positive: NDArray[np.bool_]) -> bool:
    """Whether identical rows are no copies: the table has few kinds of rows, and many of each.

    Unlabelled rows decide, for labelled ones are copied on purpose: into the unlabelled sample, or
    many times to weigh more.

    Parameters
    ----------
    X : array, frame, sparse matrix or images, n rows
    hashes : array of shape (n,)
        Of :func:`row_hashes`.
    positive : bool array of shape (n,)
        Which rows are labelled.
    """
    unlabelled = hashes[~positive]
    n_kinds = len(np.unique(unlabelled))
    if n_kinds < 2:
        return False
    alike = len(unlabelled) / n_kinds
    if alike >= _ALIKE or alike < _ALIKE_OF_FEW_VALUES or sparse.issparse(X):
        return alike >= _ALIKE
    # A column that nearly tells the rows apart makes it no chance that they are alike.
    values = _as_frame(X).nunique(dropna=False)
    return bool(values.max() <= len(np.unique(hashes)) / 2)


def row_hashes(X: Any) -> NDArray[np.uint64]:
    """A 64-bit number for each row of an array, frame, sparse matrix or stack of images."""
    return _hash_sparse(X) if sparse.issparse(X) else _hash_dense(X)


def deal(positive: NDArray[np.bool_], ids: Ids, capacity: NDArray[np.float64], random: Any) -> Ids:
    """Deal groups of rows to sides, so that each gets its share of P and of U.

    Groups with labelled rows go first, as these are the scarce ones, and larger groups before
    smaller, each to the side that lacks most; single rows, the last, even out what is left.

    Parameters
    ----------
    positive : array of shape (n,)
    ids : array of shape (n,)
        The group of each row.
    capacity : array of shape (n_sides, 2)
        How P and U are to be shared out, in any unit.
    random : RandomState or None
        Shuffles the groups.

    Returns
    -------
    array of shape (n,)
        The side of each row.
    """
    n_groups = ids.max() + 1
    counts = np.column_stack(
        [np.bincount(ids[w], minlength=n_groups) for w in (positive, ~positive)]
    )
    order = np.arange(n_groups) if random is None else random.permutation(n_groups)
    shares, load = capacity.tolist(), [[0, 0] for _ in capacity]
    side_of = np.empty(n_groups, dtype=np.int64)

    def need(side: int, kind: int) -> tuple[float, float, int]:
        # The next row's worth of load, as in D'Hondt's apportionment: whole quotas come out exact.
        full, share, other = load[side], shares[side], 1 - kind
        return (full[kind] + 1) / share[kind], (full[other] + 1) / share[other], side

    for kind, chosen in enumerate([counts[:, 0] > 0, counts[:, 0] == 0]):
        turn = order[chosen[order]]
        turn = turn[np.lexsort((-counts[turn, 1 - kind], -counts[turn, kind]))]
        heap = sorted(need(side, kind) for side in range(len(capacity)))
        sides = []
        for p, u in counts[turn].tolist():
            side = heap[0][2]
            sides.append(side)
            load[side][0] += p
            load[side][1] += u
            heapq.heapreplace(heap, need(side, kind))
        side_of[turn] = sides
    return side_of[ids]


def _first_seen(keys: NDArray[Any]) -> Ids:
    return np.asarray(pd.factorize(keys, use_na_sentinel=False)[0], dtype=np.int64)


def _hash_dense(X: Any) -> NDArray[np.uint64]:
    """A 64-bit number a row. Two rows that share one by accident are kept together: no harm."""
    return np.asarray(pd.util.hash_pandas_object(_as_frame(X), index=False))


def _as_frame(X: Any) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame):
        return X
    rows = np.asarray(X)
    return pd.DataFrame(rows.reshape(len(rows), -1))


def _hash_sparse(X: Any) -> NDArray[np.uint64]:
    """The sum of the hashes of a row's entries, whatever the order they are stored in."""
    rows = sparse.csr_array(X, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    entries = pd.DataFrame({"column": rows.indices, "value": rows.data})
    hashes = np.asarray(pd.util.hash_pandas_object(entries, index=False))
    sums = np.concatenate([[np.uint64(0)], np.cumsum(hashes)])  # modulo 2^64
    return sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
