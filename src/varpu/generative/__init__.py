"""Adversarial PU learning (GenPU): networks, value functions and the training of many runs as one.

Knows tensors, networks and losses; knows nothing of scikit-learn.
"""

from varpu.generative.checks import check_genpu_params
from varpu.generative.generators import (
    DenseImageGenerator,
    ImageGenerator,
    TableGenerator,
    generator_factory,
)
from varpu.generative.loop import TrainedGenPU, train_classifiers, train_genpu
from varpu.generative.matching import matched_intercept
from varpu.generative.members import GenPUMember, GenPURecipe, recipe_of
from varpu.generative.presets import genpu_preset
from varpu.generative.sampling import generated_rows, in_input_units, spread
from varpu.generative.values import GAMES, Weights

__all__ = [
    "GAMES",
    "DenseImageGenerator",
    "GenPUMember",
    "GenPURecipe",
    "ImageGenerator",
    "TableGenerator",
    "TrainedGenPU",
    "Weights",
    "check_genpu_params",
    "generated_rows",
    "generator_factory",
    "genpu_preset",
    "in_input_units",
    "matched_intercept",
    "recipe_of",
    "spread",
    "train_classifiers",
    "train_genpu",
]
