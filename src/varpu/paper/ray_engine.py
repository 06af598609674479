"""The paper's cells side by side on a Ray cluster, to the numbers of the local engine.

A task calls the method as the local engine does, with the same seeds, so that what is trained
together stays together: a stack of another height may round another way. Only methods that are
known to take one seed after the other are cut into a task a seed. Tasks compute and hand groups of
seeds back as they come; this process alone writes, so each result is written once. A worker that
dies costs the group of seeds it was at: what is missing of its task is begun again.
"""

import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from varpu.exceptions import DatasetError, VarpuError
from varpu.paper.registry import find_method, find_task, load_plugin, plugins
from varpu.paper.reporting import Reporter
from varpu.paper.results import Store
from varpu.paper.running import Job, Outcome, about_here, as_run, missing
from varpu.paper.specs import Cell
from varpu.scaleout.ray_joining import ray_cluster

if TYPE_CHECKING:
    from varpu.paper.methods.base import RunOptions

__all__ = ["run_on_ray"]

# So often a group of seeds whose worker died is begun again.
RETRIES = 3
# Methods that fit one seed after the other, so that a seed alone has the same numbers; one of a
# plugin says so by ``seed_by_seed = True``.
_SEED_BY_SEED = {"default", "km2", "bbe"}
# Methods whose results others look up on the same task: these are awaited.
_LOOKED_UP = {"km2", "bbe"}

Known = dict[tuple[str, int], dict[str, float]]


@dataclass
class _Piece:
    """Seeds of a cell that are one task."""

    job: Job
    seeds: tuple[int, ...]
    deaths: int = 0
    stream: Any = None


@dataclass
class _State:
    """What is known of a run while it goes."""

    store: Store
    options: "RunOptions"
    command: str
    outcome: Outcome
    report: Reporter
    begun: set[Cell] = field(default_factory=set)


def run_on_ray(
    planned: list[Job],
    store: Store,
    options: "RunOptions",
    command: str,
    outcome: Outcome,
    progress: bool | None,
    address: str | None,
    workers: int | None,
) -> None:
    """Run the planned jobs on a cluster; see :func:`varpu.paper.run` for what is promised."""
    with (
        ray_cluster(address, workers) as side_by_side,
        Reporter(planned, progress) as report,
    ):
        state = _State(store, options, command, outcome, report)
        waiting = [piece for job in planned for piece in _pieces(job)]
        running: list[_Piece] = []
        task = _remote(options.device)
        try:
            while waiting or running:
                for piece in _ready(waiting, running, side_by_side - len(running)):
                    waiting.remove(piece)
                    if _begin(piece, state, task):
                        running.append(piece)
                _take(running, state, task)
        finally:
            _cancel(running)


def _pieces(job: Job) -> list[_Piece]:
    method = job.cell.method
    if method in _SEED_BY_SEED or getattr(find_method(method), "seed_by_seed", False):
        return [_Piece(job, (seed,)) for seed in job.seeds]
    return [_Piece(job, job.seeds)]


def _ready(waiting: list[_Piece], running: list[_Piece], room: int) -> list[_Piece]:
    """In the order of the plan, but none before what it looks up on its task is there."""
    found: list[_Piece] = []
    looked_up = {piece.job.cell for piece in running if piece.job.cell.method in _LOOKED_UP}
    for piece in waiting:
        cell = piece.job.cell
        if len(found) >= room:
            break
        awaited = (other.task == cell.task and other.method != cell.method for other in looked_up)
        if not any(awaited):
            found.append(piece)
        if cell.method in _LOOKED_UP:
            looked_up.add(cell)
    return found


def _begin(piece: _Piece, state: _State, task: Any) -> bool:
    """Hand a piece to the cluster, unless there is nothing left to do of it."""
    try:
        return _hand_out(piece, state, task)
    except VarpuError as error:  # a file of results that was damaged meanwhile
        return _fail(piece.job, state, str(error), str(error))


def _hand_out(piece: _Piece, state: _State, task: Any) -> bool:
    cell = piece.job.cell
    lost = cell.task in state.outcome.skipped or cell in state.outcome.failed
    # Read again: another process may have run some of it in the meantime.
    if cell not in state.begun:
        state.begun.add(cell)
        left = () if lost else missing(state.store, cell, piece.job.seeds)
        state.report.begin(piece.job, len(piece.job.seeds) - len(left))
    piece.seeds = () if lost else missing(state.store, cell, piece.seeds)
    if not piece.seeds:
        return False
    known = _known(state.store, cell.task)
    options = replace(state.options, look_up=_nothing)  # a function of this process
    files = [str(file) for file in plugins()]
    piece.stream = task.remote(files, cell, piece.seeds, options, known, state.command)
    return True


def _take(running: list[_Piece], state: _State, task: Any) -> None:
    """Wait until one or more tasks have something to tell, and keep it."""
    import ray

    if not running:
        return
    streams = {piece.stream: piece for piece in running}
    ready, _ = ray.wait(list(streams), num_returns=1, fetch_local=False)
    for stream in ready:
        piece = streams[stream]
        if not _take_one(ray, piece, state, task):
            running.remove(piece)


def _take_one(ray: Any, piece: _Piece, state: _State, task: Any) -> bool:
    """Keep what a task tells next; whether it goes on."""
    job, outcome = piece.job, state.outcome
    died = (ray.exceptions.WorkerCrashedError, ray.exceptions.ObjectLostError)
    try:
        kind, *said = ray.get(next(piece.stream))
    except StopIteration:
        return False
    except (*died, ray.exceptions.OutOfMemoryError, ray.exceptions.NodeDiedError) as error:
        piece.deaths += 1
        if piece.deaths <= RETRIES:
            return _begin(piece, state, task)
        why = " ".join(str(error).split())[:200]
        kind, said = "failed", [f"its worker died {piece.deaths} times: {why}"] * 2
    if kind == "results":
        results, about = said
        try:
            state.store.add(job.cell, [as_run(result, about) for result in results])
        except (VarpuError, OSError) as error:  # such as a full disk
            return _fail(job, state, str(error), str(error))
        outcome.done += len(results)
        piece.deaths = 0
        for result in results:
            state.report.seed(job, result.seed, result.metrics, result.seconds, alone=False)
        return True
    if kind == "skipped":
        if job.cell.task not in outcome.skipped:
            outcome.skipped[job.cell.task] = said[0]
            state.report.skip(job, said[0])
        return False
    return _fail(job, state, *said)


def _fail(job: Job, state: _State, why: str, in_short: str) -> bool:
    """A cell fails once, whichever of its seeds went wrong; it does not go on."""
    if job.cell not in state.outcome.failed:
        state.outcome.failed[job.cell] = why
        state.report.fail(job, in_short)
    return False


def _cancel(running: list[_Piece]) -> None:
    """What is not wanted any more would hold its core on a cluster that goes on."""
    import ray

    for piece in running:
        ray.cancel(piece.stream, force=True)


def _known(store: Store, task: str) -> Known:
    """The metrics that are on record for a task, by method and seed: what may be looked up."""
    files = sorted((store.folder / task).glob("*.json"))
    cells = [Cell(task, file.stem) for file in files]
    return {(cell.method, run.seed): run.metrics for cell in cells for run in store.read(cell)}


def _nothing(task: str, method: str, seed: int) -> None:
    """No results to look up."""


def _remote(device: str) -> Any:
    import ray

    has_gpu = ray.cluster_resources().get("GPU", 0) >= 1
    if device.startswith("cuda") and not has_gpu:  # Ray would wait for one to come, for ever
        raise VarpuError(f"device {device!r} was asked for, and the Ray cluster has no GPU")
    gpus = 1 if device.startswith("cuda") or (device == "auto" and has_gpu) else 0
    # An error of a method is no reason to try again, and after a death only what is missing is
    # begun again, which Ray itself could not know.
    return ray.remote(num_cpus=1, num_gpus=gpus, max_retries=0, num_returns="streaming")(_compute)


def _compute(
    files: list[str],
    cell: Cell,
    seeds: tuple[int, ...],
    options: "RunOptions",
    known: Known,
    command: str,
) -> Iterator[tuple[Any, ...]]:
    """In a worker: groups of seeds as they are done, and at the end what went wrong, if it did."""

    def look_up(task: str, method: str, seed: int) -> dict[str, float] | None:
        return known.get((method, seed)) if task == cell.task else None

    try:
        for file in files:
            load_plugin(file)
        about = about_here(options.device, command)
        options = replace(options, look_up=look_up)
        for results in find_method(cell.method).run(find_task(cell.task), seeds, options):
            yield "results", results, about
    except DatasetError as error:
        yield "skipped", str(error)
    except Exception as error:  # one cell's trouble is not the others'
        trace = "".join(traceback.format_exception(error)).strip()
        yield "failed", trace, f"{type(error).__name__}: {error}"
