"""What is trained: the settings all members share, and what is each member's own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from varpu.generative.values import Weights
from varpu.training import pick_device, pick_precision
from varpu.training.members import RowNumbers


@dataclass(frozen=True)
class GenPURecipe:
    """Settings that all members share.

    Attributes
    ----------
    discriminator, generator : function without arguments that makes a network
        The discriminator's is the classifier's, too.
    n_latent : int
        Standard normal numbers a generated row is made from.
    epochs, steps_per_epoch, batch_size : int
        Of the adversarial training; a batch is that many rows of P, of U, and of each generator.
    lr_discriminator, lr_generator : float
    betas : pair of float
        Of Adam, for all networks.
    ramp : float
        The share of steps over which the push of G_n away from P grows, geometrically, to its
        weight. Pushed with all weight at once, G_n leaves the data before it has learned them.
    average : float
        Generators are kept as running means of their weights with this memory: their last step
        is one moment of a circling motion. 0 keeps the last.
    classifier_epochs, classifier_lr
        Of the classifier's training on generated rows; its steps and batches are as above.
    labelled_share : float
        The share of labelled rows, in place of generated ones, among the classifier's positives.
    precision : {"fp32", "tf32", "bf16"}
    capture : bool
        Whether a GPU replays a step as a CUDA graph; the numbers are the same without.
    """

    discriminator: Callable[[], nn.Module]
    generator: Callable[[], nn.Module]
    n_latent: int = 32
    epochs: int = 50
    steps_per_epoch: int = 30
    batch_size: int = 128
    lr_discriminator: float = 3e-4
    lr_generator: float = 3e-4
    betas: tuple[float, float] = (0.5, 0.99)
    ramp: float = 0.5
    average: float = 0.99
    classifier_epochs: int = 20
    classifier_lr: float = 3e-4
    labelled_share: float = 0.0
    precision: str = "fp32"
    capture: bool = True


@dataclass(frozen=True)
class GenPUMember:
    """One independent run: its own seed, rows and weights.

    Rows are numbers of rows of the one table that all members share. ``u`` is the sample of the
    marginal: in the single-set scenario it holds the rows of ``p`` too.

    Attributes
    ----------
    seed : int
    p, u : int arrays
    weights : Weights
    prior : float
        The share of positives among what the classifier is trained on.
    """

    seed: int
    p: RowNumbers
    u: RowNumbers
    weights: Weights
    prior: float = 0.5


def recipe_of(
    model: Any,
    discriminator: Callable[[], nn.Module],
    generator: Callable[[], nn.Module],
    n_marginal: int,
) -> GenPURecipe:
    """What a classifier's parameters say of its training.

    A batch that is not given is a tenth of the ``n_marginal`` rows, from 32 to 128.
    """
    wanted = model.batch_size or min(max(n_marginal // 10, 32), 128)
    return GenPURecipe(
        discriminator=discriminator,
        generator=generator,
        n_latent=model.n_latent,
        epochs=model.epochs,
        steps_per_epoch=model.steps_per_epoch,
        batch_size=min(wanted, n_marginal),
        lr_discriminator=model.lr,
        lr_generator=model.generator_lr,
        betas=(model.betas[0], model.betas[1]),
        ramp=model.ramp,
        average=model.average,
        classifier_epochs=model.classifier_epochs,
        classifier_lr=model.classifier_lr,
        labelled_share=model.labelled_share,
        precision=pick_precision(model.precision, pick_device(model.device)),
    )
