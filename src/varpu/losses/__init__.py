"""The losses of PU learning as pure functions: tensors in, one value per member out.

Every function reduces the last dimension (the rows of a batch) and keeps the leading ones, so a
stack of ``K`` members is scored by one call: ``(K, B)`` in, ``(K,)`` out. Nothing here trains,
draws a random number or knows of an estimator; all of it works in log space.
"""

from varpu.losses.consistency import (
    margin,
    mix,
    mixup,
    mixup_mse,
    mixup_positive,
    mixup_union,
)
from varpu.losses.risk import SURROGATES, nnpu, supervised, upu
from varpu.losses.smoothness import adversarial, virtual_adversarial
from varpu.losses.variational import js, js_saddle, l2, variational

__all__ = [
    "SURROGATES",
    "adversarial",
    "js",
    "js_saddle",
    "l2",
    "margin",
    "mix",
    "mixup",
    "mixup_mse",
    "mixup_positive",
    "mixup_union",
    "nnpu",
    "supervised",
    "upu",
    "variational",
    "virtual_adversarial",
]
