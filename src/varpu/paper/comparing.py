"""Our results beside the paper's: mean and deviation over seeds, the difference, a verdict."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean, pstdev

from varpu.paper.registry import find_task
from varpu.paper.results import Run, Store
from varpu.paper.specs import Cell, Experiment, Fault, PaperValue, Row

__all__ = ["Entry", "Measured", "entries", "fault_entries", "measured"]


@dataclass(frozen=True)
class Measured:
    """A mean over seeds with its (population) deviation; of neither if nothing was trained."""

    mean: float
    std: float | None = None
    seeds: int | None = None


@dataclass(frozen=True)
class Entry:
    """A place in a table: what the paper has there, and what we have.

    Attributes
    ----------
    row_key, row, column_key, column : str
        Names and labels.
    paper : PaperValue or None
    ours : Measured or None
    awaited : bool
        Whether the experiment says why ours is not there.
    """

    row_key: str
    row: str
    column_key: str
    column: str
    paper: PaperValue | None = None
    ours: Measured | None = None
    awaited: bool = False

    @property
    def difference(self) -> float | None:
        """Ours less the paper's."""
        if self.paper is None or self.ours is None:
            return None
        return self.ours.mean - self.paper.mean

    @property
    def verdict(self) -> str:
        """How the two stand to each other.

        "agree": our mean lies within the paper's mean ± deviation (where it prints no deviation,
        the paper's value lies within ours). "overlap": only the two intervals overlap, which for a
        wide one says little. Otherwise ours is "above" or "below". Where nothing has a deviation,
        such as a property, "agree" or "differ".
        """
        if self.paper is None or self.ours is None or self.difference is None:
            return ""
        paper, ours, apart = self.paper.std, self.ours.std, abs(self.difference)
        if paper is None and ours is None:
            return "agree" if apart == 0 else "differ"
        # Intervals that touch overlap, whatever binary fractions make of it.
        if apart <= (paper if paper is not None else ours or 0.0) + 1e-9:
            return "agree"
        if apart <= (paper or 0.0) + (ours or 0.0) + 1e-9:
            return "overlap"
        return "above" if self.difference > 0 else "below"


def measured(values: Iterable[float]) -> Measured | None:
    """Mean and deviation of the numbers among the values; None if there are none."""
    found = [value for value in values if math.isfinite(value)]
    return Measured(fmean(found), pstdev(found), len(found)) if found else None


def entries(experiment: Experiment, store: Store) -> list[Entry]:
    """Every place of an experiment's table, row by row."""
    if experiment.kind == "faults":
        return [entry for fault in experiment.faults for entry in fault_entries(fault, store)]
    ours = {"properties": _property, "weights": _weight}.get(experiment.kind)
    found = []
    for row in experiment.rows:
        for column in experiment.columns:
            if ours is None:
                runs = store.read(Cell(column.key, row.key))
                value = measured(_values(row, column.key, runs, experiment.metric))
            else:
                value = Measured(ours(row.key, column.key))
            paper = row.paper.get(column.key)
            awaited = experiment.awaited(column.key)
            found.append(
                Entry(row.name, row.label, column.key, column.label, paper, value, awaited)
            )
    return found


def _values(row: Row, task: str, runs: list[Run], metric: str) -> Iterator[float]:
    """A metric of each run, of the networks that the row shows."""
    if row.lam == "chosen":
        return _metric(runs, metric)
    if row.lam == "blended":
        return _blended(runs, metric)
    if row.lam == "one error":
        return _within_one_error(runs, metric)
    return _with_lam(runs, find_task(task).lam if row.lam == "printed" else float(row.lam), metric)


def _metric(runs: Iterable[Run], metric: str) -> Iterator[float]:
    return (run.metrics[metric] for run in runs if metric in run.metrics)


def _property(classifier: str, name: str) -> float:
    from varpu.methods import comparison

    return float(comparison().set_index("classifier").loc[classifier, name])


def _weight(task: str, name: str) -> float:
    from varpu import genpu_preset

    return genpu_preset(task)[name]


def fault_entries(fault: Fault, store: Store) -> Iterator[Entry]:
    """Each case twice: as published, and mended."""
    for case in fault.cases:
        published = store.read(Cell(case.published, fault.method))
        mended = store.read(Cell(case.mended, fault.method))
        values = (
            _with_lam(published, case.lam, "accuracy")
            if case.lam
            else _metric(published, "accuracy")
        )
        for i, (task, ours) in enumerate(
            (
                (case.published, measured(values)),
                (case.mended, measured(_metric(mended, "accuracy"))),
            )
        ):
            key, label = ("published", "mended")[i], fault.columns[i]
            yield Entry(task, f"{fault.title}: {case.label}", key, label, None, ours)


def _with_lam(runs: Iterable[Run], lam: float, metric: str) -> Iterator[float]:
    """A metric of the networks with that lambda, which were trained beside the chosen one."""
    for run in runs:
        for tried in run.extra.get("lambdas", ()):
            if math.isclose(tried["lam"], lam, rel_tol=1e-4):
                yield float("nan") if tried[metric] is None else tried[metric]


def _blended(runs: Iterable[Run], metric: str) -> Iterator[float]:
    """A metric of all networks of a run as one, where the run kept it."""
    for run in runs:
        found = run.extra.get("blend", {})
        if metric in found:
            yield float("nan") if found[metric] is None else found[metric]


def _within_one_error(runs: Iterable[Run], metric: str) -> Iterator[float]:
    """A metric of the largest lambda whose held-out loss is the least one, to its standard error.

    The rule of one standard error: of what the held-out rows cannot tell apart, the smoothest.
    """
    for run in runs:
        lines = run.extra.get("lambdas", ())
        if any("held_out_error" not in line for line in lines):
            continue  # of a run that did not keep them
        tried = [line for line in lines if line["held_out_loss"] is not None]
        if not tried:
            continue
        best = min(tried, key=lambda line: line["held_out_loss"])
        most = best["held_out_loss"] + (best["held_out_error"] or 0.0)
        chosen = max(
            (line for line in tried if line["held_out_loss"] <= most), key=lambda line: line["lam"]
        )
        yield float("nan") if chosen[metric] is None else chosen[metric]
