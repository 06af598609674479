"""A Ray cluster to work on: one that is there, or one of this machine's own cores."""

import logging
import os
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from varpu.checks import whole
from varpu.exceptions import VarpuError, missing_extra

__all__ = ["ray_cluster"]

# An address that does not answer is given up after these seconds together: a socket, then Ray.
_SOCKET_SECONDS, _RAY_SECONDS = 5.0, 22.0

# One thread a worker: two teams of threads on two cores slow each other.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
# Ray counts its uses, and warns of changes to come, unless told not to.
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # That a worker died would be printed on standard output, where results belong.
    "RAY_DEDUP_LOGS_SKIP_REGEX": "worker died or was killed|retries remaining|actor died|^$",
}

# `ray.init` waits for minutes, with no way to stop it, where something else than Ray listens or a
# cluster is half gone. So another process tries first, which can be stopped.
_TRY = """
import logging, sys, ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level=logging.CRITICAL)
except Exception as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


@contextmanager
def ray_cluster(address: str | None = None, workers: int | None = None) -> Iterator[int]:
    """Join a Ray cluster, or start one on this machine for as long as the context lasts.

    Parameters
    ----------
    address : str, optional
        ``"host:port"``, or ``"auto"`` for a cluster that runs on this machine; by default what the
        environment variable RAY_ADDRESS says. Without either a cluster is started here.
    workers : int, optional
        Tasks side by side; by default one a core of the cluster. Each has one thread.

    Yields
    ------
    int
        Tasks that can run side by side.

    Raises
    ------
    VarpuError
        If a cluster does not answer within 30 seconds.

    Notes
    -----
    Where the process has joined or started a cluster already, that is used, and left as it is.

    Examples
    --------
    >>> from varpu.scaleout.ray_joining import ray_cluster
    >>> with ray_cluster(workers=2) as workers:  # doctest: +SKIP
    ...     workers
    2
    """
    if workers is not None:
        whole("workers", workers, 1)
    ray = _imported()
    if ray.is_initialized():
        yield _workers(ray, workers)
        return
    address = address or os.environ.get("RAY_ADDRESS") or None
    if address in (None, "local"):
        _start(ray, workers or len(_cores()))
    else:
        assert address is not None
        _join(ray, address)
    try:
        yield _workers(ray, workers)
    finally:
        ray.shutdown()


def _imported() -> Any:
    os.environ.update({name: os.environ.get(name, value) for name, value in _QUIET.items()})
    try:
        with quiet_warnings():
            import ray
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise missing_extra("ray") from None
    return ray


def _cores() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _workers(ray: Any, wanted: int | None) -> int:
    there = max(1, int(ray.cluster_resources().get("CPU", 1)))
    return there if wanted is None else min(wanted, there)


def _start(ray: Any, cores: int) -> None:
    # Workers inherit the environment, which spares Ray the making of one for them.
    with _environment(_ONE_THREAD):
        _init(ray, address="local", num_cpus=cores, include_dashboard=False)


def _join(ray: Any, address: str) -> None:
    began = time.monotonic()
    if address != "auto":
        _knock(address)
    try:
        tried = subprocess.run(
            [sys.executable, "-c", _TRY, address],
            capture_output=True,
            text=True,
            timeout=_RAY_SECONDS,
        )
    except subprocess.TimeoutExpired:
        waited = time.monotonic() - began
        raise VarpuError(
            f"no Ray cluster answers at {address}: gave up after {waited:.0f} s"
        ) from None
    if tried.returncode:
        lines = tried.stderr.strip().splitlines() or [f"exit code {tried.returncode}"]
        raise VarpuError(f"the Ray cluster at {address} cannot be joined: {lines[-1]}")
    own = {name: value for name, value in os.environ.items() if name.startswith("VARPU_")}
    try:
        _init(ray, address=address, runtime_env={"env_vars": {**own, **_ONE_THREAD}})
    except (RuntimeError, ConnectionError, ValueError) as error:
        raise VarpuError(f"the Ray cluster at {address} cannot be joined: {error}") from None


def _knock(address: str) -> None:
    """See whether anything listens there."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        raise VarpuError(f"the address of a Ray cluster is host:port or auto; got {address!r}")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_SOCKET_SECONDS):
            pass
    except (OSError, OverflowError) as error:
        why = "no answer" if isinstance(error, TimeoutError) else error
        raise VarpuError(f"no Ray cluster answers at {address}: {why}") from None


def _init(ray: Any, **options: Any) -> None:
    with quiet_warnings():
        ray.init(
            log_to_driver=False,  # what workers have to say comes back with their results
            logging_level=logging.CRITICAL,
            **options,
        )
    # A worker that died is begun again or told of by whoever waits for it, not by Ray's thread.
    for name in ("ray", "ray.data", "ray.train"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def quiet_warnings() -> Iterator[None]:
    """Around calls of Ray alone: what it and its parts will drop is theirs to mend."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            with suppress(KeyError):
                del os.environ[name]
            if value is not None:
                os.environ[name] = value
