"""Plan what an experiment lacks, run it, and go on where a run was stopped."""

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from varpu.exceptions import DatasetError, PUInputError
from varpu.paper.loading import experiment, names
from varpu.paper.naming import known
from varpu.paper.registry import find_method, find_task
from varpu.paper.reporting import Reporter
from varpu.paper.results import FOLDER, Run, Store
from varpu.paper.specs import Cell, Experiment
from varpu.versions import hardware, versions

if TYPE_CHECKING:
    from varpu.paper.methods.base import LookUp, RunOptions, SeedResult

__all__ = ["Job", "Outcome", "plan", "run", "store_for"]


# What does the arithmetic of a result.
_ARITHMETIC = ("torch", "numpy", "scikit-learn", "lightgbm")


@dataclass(frozen=True)
class Job:
    """A cell and the seeds it lacks."""

    cell: Cell
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class About:
    """What every run of a cell has in common."""

    versions: dict[str, str]
    hardware: str
    command: str


@dataclass
class Outcome:
    """What a run did.

    Attributes
    ----------
    done : int
        Seeds that were run.
    skipped : dict
        Why, by the name of a task whose data are not there.
    failed : dict
        What went wrong and where, by cell.
    """

    done: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    failed: dict[Cell, str] = field(default_factory=dict)


def store_for(results: str | Path = FOLDER, quick: bool = False) -> Store:
    """The store of a folder; quick results have one of their own, beneath it."""
    return Store(Path(results) / "quick" if quick else results)


def plan(
    name: str | Sequence[str],
    methods: Sequence[str] | None = None,
    data: Sequence[str] | None = None,
    seeds: int = 10,
    store: Store | None = None,
) -> list[Job]:
    """What is missing of one or more experiments.

    Parameters
    ----------
    name : str or sequence of str
        Experiments; ``"all"`` are all.
    methods : sequence of str, optional
        Only these.
    data : sequence of str, optional
        Only these data sets (``"avila"``) or tasks (``"avila_1"``).
    seeds : int, default 10
        Seeds 0 to ``seeds - 1``, or as many of them as an experiment has use for.
    store : Store, optional
        What is there; by default ``results/paper``.

    Returns
    -------
    list of Job
        Method by method, each cell once, without what is there.
    """
    if seeds < 1:
        raise PUInputError(f"seeds is 1 or more; got {seeds}")
    store = Store() if store is None else store
    wanted: dict[Cell, int] = {}
    for found in _experiments(name):
        for cell in found.cells():
            limit = seeds if found.seeds is None else min(seeds, found.seeds)
            wanted[cell] = max(limit, wanted.get(cell, 0))
    cells = _chosen(list(wanted), methods, data)
    jobs = (Job(cell, missing(store, cell, range(wanted[cell]))) for cell in cells)
    return [job for job in jobs if job.seeds]


def _experiments(name: str | Sequence[str]) -> list[Experiment]:
    asked = [name] if isinstance(name, str) else list(name)
    return [experiment(one) for one in (names() if "all" in asked else asked)]


def _chosen(
    cells: list[Cell], methods: Sequence[str] | None, data: Sequence[str] | None
) -> list[Cell]:
    if methods is not None:
        there = list(dict.fromkeys(cell.method for cell in cells))
        methods = [known(name, there, "method here named") for name in methods]
        cells = [cell for cell in cells if cell.method in methods]
    if data is not None:
        sets = {cell.task: find_task(cell.task).dataset for cell in cells}
        there = list(dict.fromkeys([*sets.values(), *sets]))
        data = [known(name, there, "data set or task here named") for name in data]
        cells = [cell for cell in cells if cell.task in data or sets[cell.task] in data]
    return cells


def missing(store: Store, cell: Cell, seeds: Sequence[int]) -> tuple[int, ...]:
    """Those of the seeds that the store lacks."""
    there = {run.seed for run in store.read(cell)}
    return tuple(seed for seed in seeds if seed not in there)


def run(
    name: str | Sequence[str],
    methods: Sequence[str] | None = None,
    data: Sequence[str] | None = None,
    seeds: int = 10,
    *,
    device: str = "auto",
    jobs: int = 1,
    quick: bool = False,
    results: str | Path = FOLDER,
    progress: bool | None = None,
    engine: str = "local",
    address: str | None = None,
    workers: int | None = None,
) -> Outcome:
    """Run what is missing of one or more experiments; each seed is kept as soon as it is done.

    Stopped at any moment, the same call goes on where it was. A task whose data are not there is
    skipped, and an error in one cell leaves the others alone.

    Parameters
    ----------
    name, methods, data, seeds
        As in :func:`plan`.
    device : str, default "auto"
        ``"auto"``, ``"cpu"``, ``"cuda"``...
    jobs : int, default 1
        Fits side by side, where a method can.
    quick : bool, default False
        A short training, to see it work; kept apart in the folder ``quick``.
    results : path, default "results/paper"
        The folder of results.
    progress : bool, optional
        A bar, or plain lines; by default a bar if standard error is a terminal.
    engine : {"local", "ray"}, default "local"
        Run cell after cell in this process, or side by side on a Ray cluster, to the same numbers.
    address, workers : optional
        Of the Ray cluster, as in :func:`varpu.scaleout.ray_cluster`.

    Returns
    -------
    Outcome
    """
    from varpu.checks import one_of
    from varpu.paper.methods.base import RunOptions

    one_of("engine", engine, ("local", "ray"))
    store = store_for(results, quick)
    store.clean()
    planned = plan(name, methods, data, seeds, store)
    for one in {job.cell.method for job in planned}:
        find_method(one)  # an unknown name is found out before any long work
    asked = {"methods": methods, "data": data, "seeds": seeds, "device": device}
    command = _command(name, **asked, jobs=jobs, quick=quick, engine=engine)
    options = RunOptions(
        device=device, quick=quick, jobs=jobs, progress=False, look_up=_look_up(store)
    )
    outcome = Outcome()
    if engine == "ray":
        from varpu.paper.ray_engine import run_on_ray

        if planned:
            run_on_ray(planned, store, options, command, outcome, progress, address, workers)
        return outcome
    with Reporter(planned, progress) as report:
        for job in planned:
            _run_job(job, store, options, command, report, outcome)
    return outcome


def _look_up(store: Store) -> "LookUp":
    def metrics(task: str, method: str, seed: int) -> dict[str, float] | None:
        runs = store.read(Cell(task, method))
        return next((run.metrics for run in runs if run.seed == seed), None)

    return metrics


def _run_job(
    job: Job,
    store: Store,
    options: "RunOptions",
    command: str,
    report: Reporter,
    outcome: Outcome,
) -> None:
    cell = job.cell
    if cell.task in outcome.skipped:
        report.begin(job, len(job.seeds))  # why was said when the first of its cells was due
        return
    try:
        # Read again: another process may have run some of it in the meantime.
        seeds = missing(store, cell, job.seeds)
        report.begin(job, len(job.seeds) - len(seeds))
        if not seeds:
            return
        about = about_here(options.device, command)
        for results in find_method(cell.method).run(find_task(cell.task), seeds, options):
            # At once: what was trained together is kept together, or is trained together again.
            store.add(cell, [as_run(result, about) for result in results])
            outcome.done += len(results)
            for result in results:
                report.seed(job, result.seed, result.metrics, result.seconds)
    except DatasetError as error:
        outcome.skipped[cell.task] = str(error)
        report.skip(job, str(error))
    except Exception as error:  # one cell's trouble is not the others'
        outcome.failed[cell] = "".join(traceback.format_exception(error)).strip()
        report.fail(job, f"{type(error).__name__}: {error}")


def about_here(device: str, command: str) -> About:
    """What a result of this process is made with."""
    return About(versions(_ARITHMETIC), hardware(device), command)


def as_run(result: "SeedResult", about: About) -> Run:
    return Run(
        seed=result.seed,
        metrics=result.metrics,
        settings=result.settings,
        seconds=result.seconds,
        extra=result.extra,
        versions=about.versions,
        hardware=about.hardware,
        command=about.command,
    )


def _command(name: str | Sequence[str], **options: object) -> str:
    """The command that does the same; what is as by default is left out."""
    words = ["varpu", "paper", "run", *([name] if isinstance(name, str) else name)]
    for option, value in options.items():
        if value is True:
            words.append(f"--{option}")
        elif isinstance(value, list | tuple):
            words += [f"--{option}", ",".join(value)]
        elif value not in (None, False, _DEFAULTS.get(option)):
            words += [f"--{option}", str(value)]
    return " ".join(words)


_DEFAULTS = {"seeds": 10, "device": "auto", "jobs": 1, "engine": "local"}
