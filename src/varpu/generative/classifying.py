"""The classifier of generated positives and generated negatives."""

import torch

from varpu import losses
from varpu.generative.generators import Generators
from varpu.generative.members import GenPUMember, GenPURecipe
from varpu.generative.step import Captured, Latents, Updater
from varpu.nets import Stack, at_least_float32
from varpu.training import DeviceRows, draws
from varpu.training.rows import RowStream
from varpu.training.step import autocast

# Epochs of the labelled rows' order that no adversarial epoch reaches.
_FIRST_EPOCH = 1 << 20


class ClassifierStep:
    """Callable that takes all classifiers one step further, on rows generated for it.

    Parameters
    ----------
    classifiers : Stack
    generators : Generators
        In evaluation mode, G_p of all members and then G_n of all members.
    rows : DeviceRows
    members : list of GenPUMember
    recipe : GenPURecipe
    """

    def __init__(
        self,
        classifiers: Stack,
        generators: Generators,
        rows: DeviceRows,
        members: list[GenPUMember],
        recipe: GenPURecipe,
    ) -> None:
        self.classifiers, self.generators, self.rows = classifiers, generators, rows
        self.recipe = recipe
        device, steps, batch = rows.X.device, recipe.steps_per_epoch, recipe.batch_size
        seeds = torch.tensor([member.seed for member in members], device=device)
        self._prior = torch.tensor([member.prior for member in members], device=device)
        self._n_labelled = round(recipe.labelled_share * batch)
        rows_p = [member.p for member in members]
        width = max(1, self._n_labelled)
        self._stream = RowStream(rows_p, width, steps, seeds, draws.STREAM_P)
        self._rows_p = torch.zeros(steps, len(members), width, dtype=torch.int64, device=device)
        self._latents = Latents(seeds, recipe)
        self._t = torch.zeros(1, dtype=torch.int64, device=device)
        # Latents no generator was trained on.
        self._taken = torch.full_like(self._t, recipe.epochs * steps)
        self._updater = Updater(list(classifiers.parameters()), recipe.classifier_lr, recipe.betas)
        self._run = Captured(self._step, device, recipe.capture)

    def begin_epoch(self, epoch: int) -> None:
        """Draw the epoch's labelled rows on the device."""
        self._rows_p.copy_(self._stream.epoch(_FIRST_EPOCH + epoch))
        self._t.zero_()

    def __call__(self) -> None:
        """Take one step."""
        self._run()

    def _step(self) -> None:
        with torch.no_grad():
            positive, negative = self.generators(self._latents(self._taken)).chunk(2)
            if self._n_labelled:
                labelled = self.rows[self._rows_p.index_select(0, self._t)[0]]
                positive = torch.cat([labelled, positive[:, self._n_labelled :]], dim=1)
        with autocast(self.classifiers, self.recipe, self.rows.X.device):
            g = at_least_float32(self.classifiers(torch.cat([positive, negative], dim=1)))
        g_positive, g_negative = g.split(self.recipe.batch_size, dim=1)
        # Classes come in equal numbers and are weighed: the same as drawing them in the prior's
        # proportion, with less noise.
        self._updater.step(losses.supervised(g_positive, g_negative, self._prior).sum())
        self._t += 1
        self._taken += 1
