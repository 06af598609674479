"""A network fitted by several workers of a Ray cluster, each with its share of every batch."""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from varpu.base import BasePUClassifier
from varpu.checks import whole
from varpu.exceptions import PUInputError, VarpuError, require_extra
from varpu.scaleout.ray_joining import quiet_warnings, ray_cluster

__all__ = ["fit_on_ray"]

# So often a fit begins anew after one of its workers was lost.
RESTARTS = 2

Model = TypeVar("Model", bound=BasePUClassifier)


def fit_on_ray(
    model: Model,
    X: Any,
    y: Any,
    *,
    workers: int = 2,
    address: str | None = None,
    storage: str | Path | None = None,
) -> Model:
    """Fit a network classifier data-parallel under Ray Train.

    The loss is that of the whole batch, as if one process had fitted it; see :mod:`varpu.world`.
    Where a worker is lost the fit begins anew.

    Parameters
    ----------
    model : classifier of networks
        It is not changed.
    X, y
        As its ``fit`` takes them.
    workers : int, default 2
        Processes; each has a GPU of its own where the cluster has so many and the model's
        ``device`` allows it, or else a core.
    address : str, optional
        As in :func:`varpu.scaleout.ray_cluster`.
    storage : path, optional
        A folder for Ray Train's own notes; on a cluster of several machines all must reach it. By
        default a temporary one.

    Returns
    -------
    fitted model
        Read back from what the first worker saved, with the parameters of ``model``.

    Examples
    --------
    >>> from varpu import VPUClassifier
    >>> from varpu.scaleout.ray_train import fit_on_ray
    >>> fitted = fit_on_ray(VPUClassifier(random_state=0), X, y)  # doctest: +SKIP
    """
    whole("workers", workers, 1)
    require_extra("torch")
    with ExitStack() as stack:
        stack.enter_context(ray_cluster(address, None if address else workers))
        notes = storage or stack.enter_context(tempfile.TemporaryDirectory())
        content, error = _trained(model, X, y, workers, Path(notes).resolve())
    if error:
        raise PUInputError(error)
    if not content:
        raise VarpuError("the fit on Ray came to its end without a model")
    return _loaded(content)


def _trained(
    model: BasePUClassifier, X: Any, y: Any, workers: int, storage: Path
) -> tuple[bytes, str]:
    with quiet_warnings():
        import ray
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchConfig, TorchTrainer

        cores = ray.cluster_resources().get("CPU", 0)
        if cores < workers:  # Ray Train would wait for more machines to come, for ever
            raise PUInputError(f"{workers} workers were asked for; the cluster has {cores:g} cores")
        box: Any = ray.remote(num_cpus=0)(_Box).remote()
        on_cpu = getattr(model, "device", "auto") == "cpu"
        use_gpu = not on_cpu and ray.cluster_resources().get("GPU", 0) >= workers
        # Scores and sums of a fit go round on CPUs even where its networks are on GPUs.
        backend = "cpu:gloo,cuda:nccl" if use_gpu else "gloo"
        trainer = TorchTrainer(
            _fit_in_worker,
            train_loop_config={"model": model, "rows": ray.put((X, np.asarray(y))), "box": box},
            scaling_config=ScalingConfig(num_workers=workers, use_gpu=use_gpu),
            torch_config=TorchConfig(backend=backend),
            run_config=RunConfig(
                storage_path=str(storage), failure_config=FailureConfig(max_failures=RESTARTS)
            ),
        )
        try:
            trainer.fit()
        except Exception as error:  # Ray Train has one kind of error a version
            lines = str(error).strip().splitlines()
            raise VarpuError(f"the fit on Ray failed: {lines[-1] if lines else error!r}") from error
        found: tuple[bytes, str] = ray.get(box.take.remote())
        ray.kill(box)
        return found


class _Box:
    """Holds what the first worker made until the driver takes it; no folder need be shared."""

    def __init__(self) -> None:
        self._held = (b"", "")

    def put(self, content: bytes, error: str) -> None:
        self._held = (content, error)

    def take(self) -> tuple[bytes, str]:
        return self._held


def _fit_in_worker(config: dict[str, Any]) -> None:
    """In each worker; torch.distributed has been set up by Ray Train."""
    import ray

    from varpu.io import save
    from varpu.world import joined_world

    X, y = ray.get(config["rows"])
    content, said = b"", ""
    with joined_world() as world:
        try:
            fitted = config["model"].fit(X, y)
            with tempfile.TemporaryDirectory() as folder:
                save(fitted, Path(folder) / "model.varpu")
                content = (Path(folder) / "model.varpu").read_bytes()
        except VarpuError as error:
            # Raised by all alike: to begin anew, as after the loss of a worker, would not help.
            said = str(error)
        if world.is_first:
            ray.get(config["box"].put.remote(content, said))


def _loaded(content: bytes) -> Any:
    from varpu.io import load

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.varpu"
        path.write_bytes(content)
        return load(path)
