"""The methods of the paper's tables, by name. None is loaded before it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING

from varpu.exceptions import PUInputError, missing_extra

if TYPE_CHECKING:
    from varpu.paper.methods.base import Method

__all__ = ["method", "method_names"]

# The module that holds each method.
_HOMES = {
    **dict.fromkeys(
        [
            "vpu",
            "vpu_none",
            "vpu_mixup_p",
            "vpu_mixup_pu",
            "vpu_mse",
            "vpu_margin",
            "vpu_l2",
            "vpu_js",
        ],
        "vpu",
    ),
    **dict.fromkeys(
        ["nnpu", "upu", "nnpu_true", "upu_true", "nnpu_mixup", "nnpu_true_mixup"], "risks"
    ),
    "km2": "priors",
    "bbe": "priors",
    "genpu": "genpu",
    "rank_pruning": "rank_pruning",
    "default": "default",
}


def method_names() -> list[str]:
    """All there are."""
    return list(_HOMES)


def method(name: str) -> "Method":
    """The method of that name.

    Raises
    ------
    PUInputError
        If there is none.
    """
    if name not in _HOMES:
        raise PUInputError(f"there is no method {name!r}; there are {', '.join(_HOMES)}")
    try:
        module = import_module(f"varpu.paper.methods.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        if error.name == "torch":
            raise missing_extra("torch") from None
        raise
    found: dict[str, Method] = {one.name: one for one in module.METHODS}
    return found[name]
