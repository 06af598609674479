"""Checks of GenPU's parameters, before any long work: what was wanted, what came."""

from typing import Any

from varpu.checks import one_of, real, whole
from varpu.exceptions import PUInputError
from varpu.generative.values import GAMES
from varpu.training import PRECISIONS, pick_device


def check_genpu_params(model: Any) -> None:
    """Raise :class:`PUInputError` for the first parameter that makes no sense."""
    one_of("precision", model.precision, ("auto", *PRECISIONS))
    for name in GAMES:
        if getattr(model, name) is not None:
            real(name, getattr(model, name), 0)
    for name in ("lr", "generator_lr", "classifier_lr"):
        real(name, getattr(model, name), 0, open_low=True)
    for name in ("n_latent", "epochs", "steps_per_epoch", "classifier_epochs"):
        whole(name, getattr(model, name), 1)
    if model.batch_size is not None:
        whole("batch_size", model.batch_size, 1)
    for name in ("ramp", "labelled_share"):
        real(name, getattr(model, name), 0, 1)
    real("average", model.average, 0, 1, open_high=True)
    if len(model.betas) != 2:
        raise PUInputError(f"betas must be two numbers, got {model.betas!r}")
    for beta in model.betas:
        real("betas", beta, 0, 1, open_high=True)
    for name in ("hidden", "generator_hidden"):
        for width in getattr(model, name):
            whole(name, width, 1)
    try:
        pick_device(model.device)
    except ValueError as error:
        raise PUInputError(str(error)) from None
