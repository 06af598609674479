"""The models that PUClassifier compares: what each is, how it is fitted, scored and stored."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from varpu.auto import densities, kernels
from varpu.auto.columns import Columns
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
_MOST_ROUNDS, _PATIENCE = 1000, 20
VIEWS = ("standard", "ranked")
# Up to so many rows kernels take seconds.
_QUICK_ROWS = 20_000

Floats = NDArray[np.float64]


class Table:
    """Rows to score: as they came, and as models of numbers see them, made when first wanted."""

    def __init__(self, rows: Any, columns: Columns | None) -> None:
        self.rows, self._columns = rows, columns
        self._views: dict[str, Floats] = {}

    def view(self, name: str) -> Any:
        """``"rows"`` as they came, or the view of that name of :class:`Columns`."""
        if name == "rows":
            return self.rows
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
    model : GrownTrees, KernelMachines, KernelDensities or Ensemble
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
        if self.family == "kernels":
            if isinstance(self.model, densities.KernelDensities):
                return densities.to_arrays(self.model)
            return kernels.to_arrays(self.model)
        if self.family == "networks":
            return dict(self.model.to_arrays())
        arrays = {f"booster.{i}": booster_to_bytes(b) for i, b in enumerate(self.model.boosters)}
        return {**arrays, "log_means": self.model.log_means, "round": np.array([self.model.round])}


def model_from_arrays(family: str, arrays: dict[str, NDArray[Any]]) -> Any:
    """The model that :meth:`Candidate.to_arrays` gave."""
    if family == "kernels":
        return (densities if "points" in arrays else kernels).from_arrays(arrays)
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
        fold = np.zeros(len(self.positive), dtype=np.int64)
        for k, split in enumerate(self.splits):
            fold[split.held_out_p] = fold[split.held_out_u] = k
        return fold


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

    def fit(name: str, setting: TreeSetting, limits: Limits) -> list[Candidate]:
        params = setting.for_lightgbm(problem.seed)
        trees = grow(rows, fold, params, _MOST_ROUNDS, _PATIENCE, problem.n_threads)
        return [Candidate(name, "trees", "rows", trees, trees.log_ratio[rows.number])]

    for setting in TREES:
        name = f"trees of {setting.num_leaves} leaves"
        yield "trees", name, partial(fit, name, setting)


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
        model, log_ratio = densities.fit_densities(
            problem.table.view("scores"), problem.splits, width, random
        )
        return [Candidate(name, "kernels", "scores", model, log_ratio)]

    for setting in kernels.SETTINGS:
        yield "kernels", setting.name, partial(fit_machines, setting)
    for width in densities.WIDTHS:
        name = f"densities, width {width:g}"
        yield "kernels", name, partial(fit_densities, name, width)


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
