"""Checks of parameters, before any long work: what was wanted, what came."""

from typing import TYPE_CHECKING, Any

import numpy as np

from varpu.base import SCENARIOS
from varpu.checks import one_of, real, whole
from varpu.exceptions import PUInputError
from varpu.neural.inputs import NETWORKS
from varpu.scale import SCALES
from varpu.training import LOSSES, PENALTIES, PRECISIONS, pick_device

if TYPE_CHECKING:
    from varpu.neural.vpu import VPUClassifier


def check_network_params(model: Any) -> None:
    """Check what every classifier on networks has: the network, its training, its device."""
    one_of("precision", model.precision, ("auto", *PRECISIONS))
    lrs = np.atleast_1d(np.asarray(model.lr, dtype=object))
    if lrs.ndim != 1 or len(lrs) == 0:
        raise PUInputError(f"lr must be a number or a non-empty sequence, got {model.lr!r}")
    for lr in lrs:
        real("lr", lr, 0, open_low=True)
    real("lr_decay", model.lr_decay, 0, open_low=True)
    for name in ("epochs", "steps_per_epoch"):
        whole(name, getattr(model, name), 1)
    for name in ("batch_size", "patience"):
        if getattr(model, name) is not None:
            whole(name, getattr(model, name), 1)
    if len(model.betas) != 2:
        raise PUInputError(f"betas must be two numbers, got {model.betas!r}")
    for beta in model.betas:
        real("betas", beta, 0, 1, open_high=True)
    for width in model.hidden:
        whole("hidden", width, 1)
    for milestone in model.lr_milestones:
        whole("lr_milestones", milestone, 0)
    _check_validation(model.validation_fraction)
    if not (model.module is None or callable(model.module)):
        one_of("module", model.module, tuple(NETWORKS))
    try:
        pick_device(model.device)
    except ValueError as error:
        raise PUInputError(str(error)) from None


def check_single_params(model: Any) -> None:
    """Check a classifier of one network: a choice of learning rates needs rows held out."""
    check_network_params(model)
    real("weight_decay", model.weight_decay, 0)
    if len(np.atleast_1d(model.lr)) > 1 and model.validation_fraction == 0:
        raise PUInputError("a grid of lr needs held-out rows: validation_fraction must not be 0")


def check_vpu_params(model: "VPUClassifier") -> None:
    """Raise :class:`PUInputError` for the first parameter that makes no sense."""
    one_of("loss", model.loss, LOSSES)
    one_of("penalty", model.penalty, (None, *PENALTIES))
    one_of("scenario", model.scenario, SCENARIOS)
    lams = np.atleast_1d(np.asarray(model.lam, dtype=object))
    if lams.ndim != 1 or len(lams) == 0:
        raise PUInputError(f"lam must be a number or a non-empty sequence, got {model.lam!r}")
    for lam in lams:
        real("lam", lam, 0)
    for name in ("alpha", "epsilon"):
        real(name, getattr(model, name), 0, open_low=True)
    check_network_params(model)
    real("lr", model.lr, 0, open_low=True)
    if model.cv is not None:
        whole("cv", model.cv, 2)
    elif model.validation_fraction == 0:
        _check_nothing_held_out(model, len(lams))
    if isinstance(model.scale, str):
        one_of("scale", model.scale, SCALES)
    else:
        real("scale", model.scale, 0, open_low=True)
    if model.prior is not None:
        real("prior", model.prior, 0, 1, open_low=True)


def _check_nothing_held_out(model: "VPUClassifier", n_lams: int) -> None:
    if n_lams > 1:
        raise PUInputError("a grid of lam needs held-out rows: validation_fraction must not be 0")
    if model.scale == "prior" and model.prior is None:
        raise PUInputError(
            'scale="prior" reads the prior off held-out rows, but none are held out: give prior=,'
            " another scale, cv=, or a validation_fraction above 0"
        )


def _check_validation(value: Any) -> None:
    if not isinstance(value, tuple):
        real("validation_fraction", value, 0, 1, open_high=True)
        return
    if len(value) != 2:
        raise PUInputError(f"validation_fraction must be a share or two counts, got {value!r}")
    whole("validation_fraction", value[0], 1)
    whole("validation_fraction", value[1], value[0] + 1)
