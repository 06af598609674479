"""Join the processes that were started together, and let an error on one be an error on all."""

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from varpu.exceptions import VarpuError, require_extra
from varpu.world.base import World, entered

if TYPE_CHECKING:
    from torch.distributed.distributed_c10d import Store

# For how long a process waits for another that neither answers nor ends.
_PATIENCE = timedelta(minutes=30)
# After an error: for how long the others may take to hear of it, and one that lost its partners
# waits to hear why.
_FAREWELL, _ECHO = timedelta(seconds=10), timedelta(seconds=3)
_FAILED, _HEARD = "failed", "heard"


def is_launched() -> bool:
    """Whether ``torchrun`` (or what sets its environment) started this process beside others."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and "MASTER_ADDR" in os.environ


@contextlib.contextmanager
def joined_world() -> Iterator[World]:
    """Fit together with the other processes of this launch; alone where there are none.

    Under ``torchrun`` it joins the processes of the launch, inside an initialised
    ``torch.distributed`` group it takes that. Every process has to do the same: fit the same model
    on the same rows. An error on one of them is raised on all.

    Examples
    --------
    >>> from varpu.world import joined_world
    >>> with joined_world() as world:
    ...     world.size
    1
    """
    if _has_group():
        from varpu.world.processes import Processes

        with entered(Processes()) as world:
            yield world
    elif is_launched():
        with _own_group() as world:
            yield world
    else:
        with entered(World()) as world:
            yield world


def _has_group() -> bool:
    """Whether somebody has set up ``torch.distributed``; who has not loaded torch has not."""
    if "torch" not in sys.modules:
        return False
    import torch.distributed as dist

    return dist.is_available() and dist.is_initialized()


@contextlib.contextmanager
def _own_group() -> Iterator[World]:
    require_extra("torch")
    import torch
    import torch.distributed as dist
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    from varpu.world.processes import Processes

    backend = "gloo"
    if torch.cuda.is_available():
        backend = "cpu:gloo,cuda:nccl"
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    store, rank, size = next(rendezvous("env://", timeout=_PATIENCE))
    # A launch that torchrun began again must not read what the one before it left.
    store = PrefixStore(f"varpu/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=_PATIENCE)
    world = Processes()
    try:
        with entered(world):
            yield world
            dist.barrier()  # nobody leaves before the last has done its work
    except Exception as error:
        told = _said_by_another(store, world, error)
        dist.destroy_process_group()  # whoever waits for this process hears that it is gone
        _wait_until_heard(store, world)
        if told is None:
            raise
        raise VarpuError(told) from None
    dist.destroy_process_group()


def _said_by_another(store: "Store", world: World, error: Exception) -> str | None:
    """What went wrong first, if that was elsewhere; if it was here, the others are told."""
    is_own = isinstance(error, VarpuError)
    what = str(error) if is_own else f"{type(error).__name__}: {error}"
    if not is_own:  # perhaps no more than the echo of another's error: look before you speak
        with contextlib.suppress(Exception):
            store.wait([_FAILED], _ECHO)
    said = json.dumps({"rank": world.rank, "error": what})
    first = json.loads(store.compare_set(_FAILED, "", said))
    store.add(_HEARD, 1)
    if is_own or first["rank"] == world.rank:
        return None
    return f"process {first['rank']} failed: {first['error']}"


def _wait_until_heard(store: "Store", world: World) -> None:
    """The store may live in this process: stay until the others have read from it."""
    until = time.monotonic() + _FAREWELL.total_seconds()
    with contextlib.suppress(Exception):
        while store.add(_HEARD, 0) < world.size and time.monotonic() < until:
            time.sleep(0.05)
