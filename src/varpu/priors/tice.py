"""Tree induction for label frequency estimation (TIcE; Bekker and Davis, 2018)."""

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from varpu.checks import one_of, share, whole
from varpu.crossfit import assign_folds
from varpu.priors.base import BasePriorEstimator, Interval, Sample
from varpu.priors.coordinates import coordinates
from varpu.priors.elkan_noto import prior_from_frequency

BINNINGS = ("width", "quantile")
_BINS = 4
_COMPONENTS = 50
# A subset needs as many rows to be split, and to count.
_FEWEST_ROWS = 10
_N_DRAWS = 200

Rows = NDArray[np.int64]


class TIcE(BasePriorEstimator):
    """The prior from a lower bound of the label frequency, found by trees.

    In any subset of the domain the share of labelled rows is at most
    ``c = P(labelled | positive)``, and it is ``c`` where all rows are positive. A tree, grown on
    one fold towards subsets with many labels, proposes subsets; on the other folds the largest
    ``L/T - sqrt(c (1 - c) (1 - delta) / (delta T))`` of them, with ``L`` labels among ``T`` rows,
    is the bound. The mean over the folds is the estimate of ``c``, and a second pass uses it in the
    bound. The prior follows from ``c`` as in :class:`ElkanNotoPrior`.

    It needs a region of positives that is a box of a few columns, and enough rows in it: in few
    rows the bound is low and the prior too high. Positives must be labelled at random. It costs up
    to ``max_splits`` splits in each of ``2 n_folds`` trees.

    Parameters
    ----------
    delta : float or None, default=None
        The chance that a bound does not hold. None: ``max(0.025, 1 / (1 + 0.004 T))``, ``T`` being
        the rows bounds are computed on.
    max_splits : int, default=500
    n_folds : int, default=5
    binning : {"width", "quantile"}, default="width"
        A column is cut in four parts of its range, as published, or in four parts of equal numbers
        of rows. Missing values are a part of their own.
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether all rows are the marginal sample, or the unlabelled rows alone.
    random_state : int, RandomState or None, default=None
        Decides the folds, and the draws for the interval.

    Attributes
    ----------
    prior_ : float
    prior_interval_ : pair of float
        90% by a bootstrap of the labels in the subsets that gave the bounds; trees are not grown
        again.
    label_frequency_ : float
        The estimate of ``c``.

    References
    ----------
    Bekker and Davis, "Estimating the Class Prior in Positive and Unlabeled Data through Decision
    Tree Induction", AAAI 2018. Bound, ``delta``, splitting criterion, stopping rules and the two
    passes follow the authors' program.
    """

    label_frequency_: float

    def __init__(
        self,
        *,
        delta: float | None = None,
        max_splits: int = 500,
        n_folds: int = 5,
        binning: str = "width",
        scenario: str = "single-set",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.delta = delta
        self.max_splits = max_splits
        self.n_folds = n_folds
        self.binning = binning
        self.scenario = scenario
        self.random_state = random_state

    def _check_params(self) -> None:
        if self.delta is not None:
            share("delta", self.delta)
        whole("max_splits", self.max_splits, 1)
        whole("n_folds", self.n_folds, 2)
        one_of("binning", self.binning, BINNINGS)

    def _check_table(self, X: Any) -> Any:
        return validate_data(self, X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")

    def _estimate(self, sample: Sample, random: np.random.RandomState) -> tuple[float, Interval]:
        rows = coordinates(sample.rows, False, _COMPONENTS) if sample.is_image else sample.rows
        codes = binned(rows, self.binning)
        fold = assign_folds(rows, sample.positive, self.n_folds, random)
        c = 0.5
        for _ in range(2):
            bounds = [
                best_bound(codes, sample.positive, fold == k, c, self.delta, self.max_splits)
                for k in range(fold.max() + 1)
            ]
            c = float(np.mean([bound.value for bound in bounds]))
        self.label_frequency_ = c
        n_p, n_u = sample.n_positive, sample.n_marginal
        drawn_c = np.mean([bound.redrawn(random) for bound in bounds], axis=0)
        single = sample.scenario == "single-set"
        ratio = random.binomial(n_u, n_p / n_u, size=_N_DRAWS) / n_u if single else n_p / n_u
        drawn = prior_from_frequency(np.maximum(drawn_c, 1e-12), ratio, sample.scenario)
        low, high = np.quantile(np.clip(drawn, 0, 1), [0.05, 0.95])
        prior = prior_from_frequency(max(c, 1e-12), n_p / n_u, sample.scenario)
        return float(prior), (float(low), float(high))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@dataclass(frozen=True)
class Bound:
    """A lower bound of ``c``, from ``n_labelled`` of ``n_rows`` rows less a correction."""

    n_rows: int
    n_labelled: int
    correction: float

    @property
    def value(self) -> float:
        """The bound."""
        return self.n_labelled / self.n_rows - self.correction

    def redrawn(self, random: np.random.RandomState) -> NDArray[np.float64]:
        """Bounds with as many rows and labels drawn anew."""
        labelled = random.binomial(self.n_rows, self.n_labelled / self.n_rows, size=_N_DRAWS)
        return labelled / self.n_rows - self.correction


def binned(rows: NDArray[Any], binning: str) -> NDArray[np.int64]:
    """The part of its column that each value is in, 0 to 3, and 4 where it is missing."""
    codes = np.full(rows.shape, _BINS, dtype=np.int64)
    for j in range(rows.shape[1]):
        known = ~np.isnan(rows[:, j])
        values = rows[known, j].astype(np.float64)
        if not len(values):
            continue
        inner = np.arange(1, _BINS) / _BINS
        if binning == "width":
            edges = values.min() + inner * (values.max() - values.min())
        else:
            edges = np.quantile(values, inner)
        codes[known, j] = np.searchsorted(edges, values, side="right")
    return codes


def best_bound(
    codes: NDArray[np.int64],
    positive: NDArray[np.bool_],
    trained: NDArray[np.bool_],
    c: float,
    delta: float | None,
    max_splits: int,
) -> Bound:
    """The largest bound over the subsets that a tree proposes.

    Parameters
    ----------
    codes : array of shape (n, d)
    positive, trained : bool arrays of shape (n,)
        Labelled rows, and rows that the tree is grown on; bounds are computed on the others.
    c : float
        What the label frequency is taken to be in the correction.
    delta : float or None
    max_splits : int
    """
    judged_on = np.flatnonzero(~trained)
    if delta is None:
        delta = max(0.025, 1 / (1 + 0.004 * len(judged_on)))
    search = _Search(codes, positive, spread=c * (1 - c) * (1 - delta) / delta)
    return search.run(np.flatnonzero(trained), judged_on, max_splits)


class _Search:
    """A tree that splits the most promising node first; every part of a split is judged."""

    def __init__(
        self, codes: NDArray[np.int64], positive: NDArray[np.bool_], spread: float
    ) -> None:
        self._codes, self._positive, self._spread = codes, positive, spread
        self._offsets = (_BINS + 1) * np.arange(codes.shape[1])

    def run(self, grown_on: Rows, judged_on: Rows, max_splits: int) -> Bound:
        """Grow on some rows, and return the best bound on the others."""
        # Of all rows the share needs no correction: that it bounds c is no matter of chance.
        best = Bound(len(judged_on), self._labels(judged_on), 0.0)
        fewest_labels = 1.0
        every = np.ones(self._codes.shape[1], dtype=bool)
        # The most promising first; a number keeps the heap from comparing arrays.
        heap = [(0.0, 0, grown_on, judged_on, every)]
        n_pushed = 0
        for _ in range(max_splits):
            if not heap:
                break
            _, _, grown_on, judged_on, columns = heapq.heappop(heap)
            columns = columns & self._has_labels(judged_on, fewest_labels)
            column = self._purest_column(grown_on, columns)
            if column is None or len(np.unique(self._codes[judged_on, column])) == 1:
                continue
            parts = list(
                zip(self._parts(grown_on, column), self._parts(judged_on, column), strict=True)
            )
            best = max([best, *(self._bound(judged) for _, judged in parts)], key=_value)
            # With fewer labels no subset can beat the best bound.
            fewest_labels = self._spread / max(1 - best.value, 1e-9) ** 2
            below = columns.copy()
            below[column] = False
            for grown, judged in parts:
                pure = self._labels(grown) in (0, len(grown))
                if self._labels(judged) > fewest_labels and len(grown) > _FEWEST_ROWS and not pure:
                    n_pushed += 1
                    promise = self._bound(grown).value
                    heapq.heappush(heap, (-promise, n_pushed, grown, judged, below))
        return best

    def _labels(self, rows: Rows) -> int:
        return int(self._positive[rows].sum())

    def _bound(self, rows: Rows) -> Bound:
        if len(rows) < _FEWEST_ROWS:
            return Bound(1, 0, 0.0)
        return Bound(len(rows), self._labels(rows), float(np.sqrt(self._spread / len(rows))))

    def _parts(self, rows: Rows, column: int) -> list[Rows]:
        return [rows[self._codes[rows, column] == part] for part in range(_BINS + 1)]

    def _has_labels(self, rows: Rows, fewest: float) -> NDArray[np.bool_]:
        """Columns of which some part has enough labels."""
        return np.asarray(self._counts(rows[self._positive[rows]]).max(axis=1) >= fewest)

    def _purest_column(self, rows: Rows, columns: NDArray[np.bool_]) -> int | None:
        """The column with the purest part."""
        n_labels = self._counts(rows[self._positive[rows]])
        # Five rows are added to each part, so that few rows do not look pure by chance.
        purity = np.where(columns, (n_labels / (self._counts(rows) + 5)).max(axis=1), 0.0)
        column = int(purity.argmax())
        return column if purity[column] > 0 else None

    def _counts(self, rows: Rows) -> NDArray[np.int64]:
        """Rows in each part of each column, shape (d, parts)."""
        flat = (self._codes[rows] + self._offsets).ravel()
        size = len(self._offsets) * (_BINS + 1)
        return np.bincount(flat, minlength=size).reshape(len(self._offsets), -1)


def _value(bound: Bound) -> float:
    return bound.value
