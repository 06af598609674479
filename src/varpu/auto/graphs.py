"""Shares of labelled rows, smoothed over a graph of neighbours.

Each row is tied to the few rows nearest to it, labelled or not, and tied rows should have like
scores. A label so spreads along the places where rows lie, and not across the gaps between them.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import cg
from sklearn.neighbors import NearestNeighbors

from varpu.auto.ratios import FoldRatios, Rows, fold_of_rows, out_of_fold, some_of
from varpu.crossfit import Split
from varpu.scale import log_mean_exp

_NEIGHBOURS = 12
# Distinct rows that a graph is made of; half of them at most are labelled.
_MOST_NODES = 10_000
# What each row weighs towards the overall share of labels, where no label can be reached.
_LEAST_MASS = 1e-4
# Added to every ratio: a region without a labelled row may still hold a positive.
_LEAST_RATIO = 0.05
# Beyond this share the odds of a label are mostly noise.
_MOST_SHARE = 0.99
_TOLERANCE, _MOST_ITERATIONS = 1e-6, 1000

Floats = NDArray[np.float64]


class GraphSetting(NamedTuple):
    """A view of the table, and what ties weigh beside labels, both in the unit of one row."""

    view: str
    smoothing: float

    @property
    def name(self) -> str:
        """For people."""
        return f"graph, {self.view}, smoothing {self.smoothing:g}"


SETTINGS = (GraphSetting("whitened", 3.0), GraphSetting("scores", 1.0))


@dataclass(kw_only=True)
class Graph(FoldRatios):
    """Scores of nodes, of which those of other rows are local means.

    Attributes
    ----------
    nodes : array of shape (m, d)
    widths : array of shape (m,)
        How far from a node its neighbours are.
    ratios : array of shape (m, folds)
        ``f_P/f`` of the nodes, before it is scaled.
    """

    nodes: Floats
    widths: Floats
    ratios: Floats

    _batch: ClassVar[int] = 20_000  # for each, the nodes are made ready to be searched

    def _unscaled(self, view: Floats) -> Floats:
        return self.local_means(view, np.full(len(view), -1))

    def local_means(self, view: Floats, own: Rows) -> Floats:
        """The logarithm of the mean ratio of the nodes near each row, shape (n, folds).

        A row that is itself the node ``own`` is none of its neighbours.
        """
        search = NearestNeighbors().fit(self.nodes)
        wanted = min(_NEIGHBOURS, len(self.nodes) - 1)
        apart, near = _neighbours(search, view, own, wanted)
        width = np.maximum(apart[:, -1], self.widths.min())
        # The nearest has weight 1, so that not all are 0 far away from every node.
        further = apart**2 - apart[:, :1] ** 2
        weights = np.exp(-further / (width[:, None] * self.widths[near]))
        weights /= weights.sum(axis=1, keepdims=True)
        return np.asarray(np.log(np.einsum("nk,nkf->nf", weights, self.ratios[near])))


def fit_graph(
    view: Floats,
    splits: list[Split],
    smoothing: float,
    single_set: bool,
    random: np.random.RandomState,
) -> tuple[Graph, Floats]:
    """Scores of nodes a fold, and the out-of-fold ``log f_P/f`` of every row.

    Rows that a fold holds out are nodes too, but what they are is not told.

    Parameters
    ----------
    view : array of shape (n, d)
        Columns in one unit.
    splits : list of Split
        One a fold.
    smoothing : float
    single_set : bool
        Whether the ratio is the share of labelled rows or their odds.
    random : RandomState
        Draws the nodes where there are too many rows.
    """
    drawn = _draw_nodes(view, splits, random)
    ties, widths = _ties(drawn.places)
    laplacian = scipy.sparse.diags_array(ties.sum(axis=1)) - ties
    mass = drawn.mass / drawn.mass.mean()
    ratios = []
    for k in range(len(splits)):
        told = np.where(drawn.fold == k, 0.0, mass)
        overall = float(np.average(drawn.labelled, weights=told))
        shares = _smooth(drawn.labelled, told, overall, smoothing * laplacian)
        ratios.append(_LEAST_RATIO + _ratio(shares, single_set) / _ratio(overall, single_set))
    found = Graph(
        nodes=drawn.places,
        widths=widths,
        ratios=np.column_stack(ratios),
        log_means=np.zeros(len(splits)),
    )
    scores = found.local_means(view, drawn.node_of_row).T
    for k, split in enumerate(splits):
        # A node that is trained on shows its own label, so only what was held out tells the mean.
        found.log_means[k] = log_mean_exp(scores[k, split.held_out_u])
    return found, out_of_fold(scores - found.log_means[:, None], splits)


class _Nodes(NamedTuple):
    """Distinct rows: where, in which fold, how many rows each stands for, how many labelled."""

    places: Floats
    fold: Rows
    mass: Floats
    labelled: Floats  # as a share of the mass
    node_of_row: Rows  # -1 where a row is no node


def _draw_nodes(view: Floats, splits: list[Split], random: np.random.RandomState) -> _Nodes:
    fold = fold_of_rows(len(view), splits)
    labelled = np.zeros(len(view))
    labelled[splits[0].labelled] = 1
    # Rows that differ can have one view, and be in different folds.
    rows, number = np.unique(np.column_stack([view, fold]), axis=0, return_inverse=True)
    number = number.ravel()
    count = np.bincount(number).astype(np.float64)
    share = np.bincount(number, labelled) / count
    of_p = some_of(np.flatnonzero(share > 0), _MOST_NODES // 2, random)
    of_u = some_of(np.flatnonzero(share == 0), _MOST_NODES - len(of_p), random)
    mass = np.zeros(len(rows))
    for kind, drawn in ((share > 0, of_p), (share == 0, of_u)):
        # Those that are drawn stand for all.
        mass[drawn] = count[drawn] * count[kind].sum() / count[drawn].sum()
    chosen = np.flatnonzero(mass > 0)
    place = np.full(len(rows), -1)
    place[chosen] = np.arange(len(chosen))
    return _Nodes(
        places=np.ascontiguousarray(rows[chosen, :-1]),
        fold=rows[chosen, -1].astype(np.int64),
        mass=mass[chosen],
        labelled=share[chosen],
        node_of_row=place[number],
    )


def _ties(places: Floats) -> tuple[scipy.sparse.csr_array, Floats]:
    """How strongly nodes are tied, 1 in all a node on average, and how far their neighbours are."""
    n = len(places)
    search = NearestNeighbors().fit(places)
    apart, near = _neighbours(search, places, np.arange(n), min(_NEIGHBOURS, n - 1))
    widths = apart[:, -1]
    widths = np.maximum(widths, max(0.1 * float(np.median(widths)), 1e-6))
    weights = np.exp(-(apart**2) / (widths[:, None] * widths[near]))
    start = np.arange(0, weights.size + 1, weights.shape[1])
    ties = scipy.sparse.csr_array((weights.ravel(), near.ravel(), start), shape=(n, n))
    ties = ties + ties.T
    return ties / max(float(ties.sum()) / n, np.finfo(float).tiny), widths


def _neighbours(
    search: NearestNeighbors, view: Floats, own: Rows, wanted: int
) -> tuple[Floats, Rows]:
    """Distances and numbers of the nearest nodes of each row, (n, wanted), without its own."""
    apart, near = search.kneighbors(view, n_neighbors=wanted + 1)
    is_own = near == own[:, None]
    is_own[~is_own.any(axis=1), -1] = True  # one too many: the farthest goes
    shape = (len(view), wanted)
    return apart[~is_own].reshape(shape), near[~is_own].reshape(shape)


def _smooth(
    labelled: Floats, mass: Floats, overall: float, laplacian: scipy.sparse.csr_array
) -> Floats:
    """The scores that are near the shares of labels where there is mass, and near tied ones."""
    system = scipy.sparse.csr_array(laplacian + scipy.sparse.diags_array(mass + _LEAST_MASS))
    scores, _ = cg(
        system,
        mass * labelled + _LEAST_MASS * overall,
        x0=np.full(len(mass), overall),
        rtol=_TOLERANCE,
        maxiter=_MOST_ITERATIONS,
        M=scipy.sparse.diags_array(1 / system.diagonal()),
    )
    return np.clip(scores, 0.0, 1.0)


def _ratio(share: Any, single_set: bool) -> Any:
    """What ``f_P/f`` is proportional to, by the share of labelled rows."""
    if single_set:
        return share
    capped = np.minimum(share, _MOST_SHARE)
    return capped / (1 - capped)
