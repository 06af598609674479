"""Training: many members as one, device-resident, in one loop that fits on a screen.

Knows tensors, networks and losses; knows nothing of scikit-learn.
"""

from varpu.training.loop import Trained, train
from varpu.training.members import LOSSES, RISKS, Member, Recipe, Risk
from varpu.training.penalties import PENALTIES
from varpu.training.precision import PRECISIONS, compute_dtype, pick_device, pick_precision
from varpu.training.rows import DeviceRows
from varpu.training.scoring import logits

__all__ = [
    "LOSSES",
    "PENALTIES",
    "PRECISIONS",
    "RISKS",
    "DeviceRows",
    "Member",
    "Recipe",
    "Risk",
    "Trained",
    "compute_dtype",
    "logits",
    "pick_device",
    "pick_precision",
    "train",
]
