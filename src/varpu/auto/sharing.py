"""Candidates where several processes fit one model: networks by all, the others by the first."""

from collections.abc import Callable

from varpu.auto.candidates import Candidate, Limits, model_from_arrays
from varpu.world import current_world


def fit_together(
    family: str, fit: Callable[[Limits], list[Candidate]], limits: Limits
) -> list[Candidate]:
    """What ``fit`` gives, on every process.

    Processes train networks together, each with its share of the rows. Trees and kernel machines
    are fitted by the first process and sent to the others: by all, they would only be made again.
    """
    world = current_world()
    if world.is_alone or family == "networks":
        return fit(limits)
    fitted = fit(limits) if world.is_first else []
    shared = []
    for i, (name, view) in enumerate(world.from_first([[one.name, one.view] for one in fitted])):
        own = {**fitted[i].to_arrays(), "log_ratio": fitted[i].log_ratio} if fitted else {}
        arrays = world.arrays_from_first(own)
        if fitted:
            shared.append(fitted[i])
            continue
        log_ratio = arrays.pop("log_ratio")
        shared.append(Candidate(name, family, view, model_from_arrays(family, arrays), log_ratio))
    return shared
