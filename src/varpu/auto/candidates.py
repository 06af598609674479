"""The models that PUClassifier compares: what each is, how it is fitted, scored and stored."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from varpu.auto import densities, graphs, kernels, mixtures
from varpu.auto.columns import Columns
from varpu.auto.ratios import FoldRatios, fold_of_rows
from varpu.boosting.crossfit import GrownTrees, booster_from_bytes, booster_to_bytes, grow
from varpu.boosting.rows import weighted_rows
from varpu.boosting.settings import TreeSetting
from varpu.crossfit import Split

FAMILIES = ("trees", "kernels", "networks")
# Few positives want small trees and strong shrinkage, thousands want large ones: no one setting
# serves both.
TREES = (
    TreeSetting(0.05, 31, 5, 1, 1.0, 0.8),
    TreeSetting(0.03, 127, 5, 1, 1.0, 0.5),
    TreeSetting(0.03, 7, 20, 10, 0.8, 0.8),
    TreeSetting(0.03, 15, 10, 5, 0.8, 0.8),
    TreeSetting(0.03, 3, 5, 1, 0.8, 0.8),
)
# With directions beside the columns much is said twice, so each tree sees a part of them.
OBLIQUE_TREES = (
    TreeSetting(0.05, 15, 10, 5, 0.8, 0.3),
    TreeSetting(0.05, 7, 20, 10, 0.8, 0.3),
)
_MOST_ROUNDS, _PATIENCE = 1000, 20
VIEWS = ("standard", "ranked")
# The models of the family "kernels", by an array that no other has.
_SMOOTH_MODELS: dict[str, type[FoldRatios]] = {
    "landmarks": kernels.KernelMachines,
    "points": densities.KernelDensities,
    "nodes": graphs.Graph,
    "centres": mixtures.Mixtures,
}
# Up to so many rows kernels take seconds.
_QUICK_ROWS = 20_000

Floats = NDArray[np.float64]


class Table:
    """Rows to score: as they came, and as models of numbers see them, made when first wanted."""

    def __init__(self, rows: Any, columns: Columns | None) -> None:
        self.rows, self._columns = rows, columns
        self._views: dict[str, Floats] = {}

    @property
    def has_directions(self) -> bool:
        """Whether its whitened view is another than the plain one."""
        return self._columns is not None and len(self._columns.centre) > 0

    def view(self, name: str) -> Any:
        """``"rows"`` as they came, or the view of that name of :class:`Columns`.

        ``"oblique"`` is its scores and these whitened, side by side: what cuts along columns can
        then cut along the directions in which the table varies, too.
        """
        if name == "rows":
            return self.rows
        if name == "oblique":
            return np.column_stack([self.view("scores"), self.view("whitened")])
        if name not in self._views:
            self._views[name] = getattr(self._columns, name)(self.rows)
        return self._views[name]


@dataclass
class Candidate:
    """A cross-fitted model.

    Attributes
    ----------
    name, family : str
    view : str
        Which form of the table it takes, as :meth:`Table.view` has it.
    model : GrownTrees, KernelMachines, KernelDensities, Graph, Mixtures or Ensemble
    log_ratio : array of shape (n,)
        Out-of-fold ``log f_P/f`` of the rows.
    """

    name: str
    family: str
    view: str
    model: Any
    log_ratio: Floats = field(repr=False)

    def predict(self, table: Table, device: str) -> Floats:
        """``log f_P/f`` of new rows."""
        rows = table.view(self.view)
        if self.family == "networks":
            from varpu.training import pick_device

            return np.asarray(self.model.predict(rows, pick_device(device)))
        return np.asarray(self.model.predict(rows))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Its model as arrays."""
        if self.family in ("kernels", "networks"):
            return dict(self.model.to_arrays())
        arrays = {f"booster.{i}": booster_to_bytes(b) for i, b in enumerate(self.model.boosters)}
        return {**arrays, "log_means": self.model.log_means, "round": np.array([self.model.round])}


def model_from_arrays(family: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """The model that :meth:`Candidate.to_arrays` gave."""
    if family == "kernels":
        (kind,) = (kind for name, kind in _SMOOTH_MODELS.items() if name in arrays)
        return kind.from_arrays(arrays)
    if family == "networks":
        from varpu.auto import networks

        return networks.from_arrays(arrays)
    n_boosters = sum(name.startswith("booster.") for name in arrays)
    boosters = [booster_from_bytes(arrays[f"booster.{i}"]) for i in range(n_boosters)]
    none = np.zeros(0)
    return GrownTrees(boosters, arrays["log_means"], int(arrays["round"][0]), none, np.nan, [])


@dataclass
class Problem:
    """What all candidates are fitted to: one table, one set of folds."""

    table: Table
    positive: NDArray[np.bool_]
    splits: list[Split]
    scenario: str
    seed: int
    n_threads: int
    device: str

    @property
    def fold(self) -> NDArray[np.int64]:
        """The fold of each row."""
        return fold_of_rows(len(self.positive), self.splits)


@dataclass(frozen=True)
class Limits:
    """When a fit should stop: at a time, or early on if it comes nowhere near a held-out loss."""

    deadline: float | None
    goal: float


# A fit is named before it is run, so that it can be left out.
Fit = tuple[str, str, Callable[[Limits], list[Candidate]]]


def fits(problem: Problem, families: tuple[str, ...]) -> Iterator[Fit]:
    """All fits, each as (family, name, function of limits), the most useful first."""
    if "trees" in families:
        yield from _tree_fits(problem)
    if "kernels" in families:
        yield from _kernel_fits(problem)
    if "networks" in families:
        yield from _network_fits(problem)


def is_quick(family: str, problem: Problem) -> bool:
    """Whether a family's fits take less time than it could save to leave some out."""
    return family == "kernels" and len(problem.positive) <= _QUICK_ROWS


def families_for(table: Any, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """Of the wanted families those that take such a table: a sparse one is for trees alone."""
    return ("trees",) if scipy.sparse.issparse(table) else wanted


def _tree_fits(problem: Problem) -> Iterator[Fit]:
    rows = weighted_rows(
        problem.table.rows, problem.positive, np.ones(len(problem.positive)), problem.scenario
    )
    fold = np.zeros(len(rows.weight_p), dtype=np.int64)
    fold[rows.number] = problem.fold  # identical rows are in one fold

    def fit(name: str, view: str, setting: TreeSetting, limits: Limits) -> list[Candidate]:
        seen = rows
        if view != "rows":  # what is one row, and its fold, go by the rows as they came
            _, first = np.unique(rows.number, return_index=True)
            seen = replace(rows, X=problem.table.view(view)[first])
        params = setting.for_lightgbm(problem.seed, seen.X)
        trees = grow(seen, fold, params, _MOST_ROUNDS, _PATIENCE, problem.n_threads)
        return [Candidate(name, "trees", view, trees, trees.log_ratio[rows.number])]

    for setting in TREES:
        name = f"trees of {setting.num_leaves} leaves"
        yield "trees", name, partial(fit, name, "rows", setting)
    if not problem.table.has_directions:
        return
    for setting in OBLIQUE_TREES:
        name = f"oblique trees of {setting.num_leaves} leaves"
        yield "trees", name, partial(fit, name, "oblique", setting)


def _kernel_fits(problem: Problem) -> Iterator[Fit]:
    single_set = problem.scenario == "single-set"

    def fit_machines(setting: kernels.KernelSetting, limits: Limits) -> list[Candidate]:
        machines, log_ratio = kernels.fit_machines(
            problem.table.view(setting.view),
            problem.splits,
            setting,
            single_set,
            np.random.RandomState(problem.seed),
        )
        return [Candidate(setting.name, "kernels", setting.view, machines, log_ratio)]

    def fit_densities(name: str, width: float, limits: Limits) -> list[Candidate]:
        random = np.random.RandomState(problem.seed)
        view = problem.table.view("scores")
        model, log_ratio = densities.fit_densities(view, problem.splits, width, random)
        return [Candidate(name, "kernels", "scores", model, log_ratio)]

    def fit_graph(setting: graphs.GraphSetting, limits: Limits) -> list[Candidate]:
        random = np.random.RandomState(problem.seed)
        view = problem.table.view(setting.view)
        graph, log_ratio = graphs.fit_graph(
            view, problem.splits, setting.smoothing, single_set, random
        )
        return [Candidate(setting.name, "kernels", setting.view, graph, log_ratio)]

    def fit_mixtures(name: str, view: str, limits: Limits) -> list[Candidate]:
        random = np.random.RandomState(problem.seed)
        model, log_ratio = mixtures.fit_mixtures(problem.table.view(view), problem.splits, random)
        return [Candidate(name, "kernels", view, model, log_ratio)]

    for setting in kernels.SETTINGS:
        yield "kernels", setting.name, partial(fit_machines, setting)
    for width in densities.WIDTHS:
        name = f"densities, width {width:g}"
        yield "kernels", name, partial(fit_densities, name, width)
    for graph in graphs.SETTINGS:
        yield "kernels", graph.name, partial(fit_graph, graph)
    for view in mixtures.VIEWS:
        if problem.table.view(view).shape[1] <= mixtures.MOST_COLUMNS:
            name = f"mixtures, {view}"
            yield "kernels", name, partial(fit_mixtures, name, view)


def _network_fits(problem: Problem) -> Iterator[Fit]:
    from varpu.auto import networks  # needs torch

    seeds = np.random.RandomState(problem.seed).randint(2**31 - 1, size=len(problem.splits))

    def fit(view: str, limits: Limits) -> list[Candidate]:
        rows = problem.table.view(view)
        fitted = networks.fit_networks(
            rows,
            problem.splits,
            seeds.tolist(),
            problem.device,
            limits.deadline,
            limits.goal,
        )
        return [
            Candidate(f"network, {view}, lam {lam:g}", "networks", view, ensemble, log_ratio)
            for lam, ensemble, log_ratio in zip(networks.LAMS, *fitted, strict=True)
        ]

    for view in VIEWS:
        yield "networks", f"networks, {view}", partial(fit, view)
