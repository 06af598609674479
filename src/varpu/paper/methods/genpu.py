"""GenPU with the weights of the paper's Table 9, which were chosen there on the test sets.

What the paper does not say: tables are standardised; generators are fully connected, those of
colour images transposed convolutions; a classifier learns labelled positives against generated
negatives, and its intercept is matched to an estimated prior (BBE's on tables, KM2's on images).
"""

import base64
import io
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier
from torch import Tensor, nn

from varpu.generative import (
    DenseImageGenerator,
    GenPUMember,
    GenPURecipe,
    Weights,
    generated_rows,
    generator_factory,
    genpu_preset,
    in_input_units,
    matched_intercept,
    spread,
    train_genpu,
)
from varpu.nets import stacks_of
from varpu.paper.methods.base import RunOptions, SeedResult
from varpu.paper.methods.networks import Bench, Floats, groups_of_seeds, judged
from varpu.paper.methods.priors import prior_by
from varpu.paper.tasks import Problem, Task
from varpu.tables import column_scales
from varpu.training import DeviceRows, Recipe, logits

_SIDE = 10  # of the square of images that is shown
_COMPARED = 10_000  # training images that generated ones are compared with
_SCORING = Recipe()


@dataclass(frozen=True)
class GenPU:
    """Its networks stacked over seeds, where they are small."""

    name: str = "genpu"
    title: str = "GenPU"

    def run(
        self, task: Task, seeds: Sequence[int], options: RunOptions
    ) -> Iterator[list[SeedResult]]:
        """Train generators and classifiers."""
        bench = Bench.of(task, options)
        for group in groups_of_seeds(bench, seeds):
            yield _group(bench, group, options)


def _group(bench: Bench, seeds: list[int], options: RunOptions) -> list[SeedResult]:
    task = bench.task
    problems = [task.problem(seed) for seed in seeds]
    estimator = "km2" if task.is_image else "bbe"
    priors = [
        float(np.clip(prior_by(estimator, task, problem, seed, options), 0.001, 0.999))
        for seed, problem in zip(seeds, problems, strict=True)
    ]
    rows, firsts = _rows(bench, problems)
    weights = Weights(**genpu_preset(task.base))
    members = [
        GenPUMember(seed, first + problem.split.p, first + problem.train, weights, prior)
        for seed, problem, first, prior in zip(seeds, problems, firsts, priors, strict=True)
    ]
    recipe = _recipe(bench, options)
    start = time.perf_counter()
    trained = train_genpu(rows, members, recipe)
    seconds = (time.perf_counter() - start) / len(seeds)
    results = []
    for i, (seed, problem, first, prior) in enumerate(
        zip(seeds, problems, firsts, priors, strict=True)
    ):
        on_test, on_train = (
            _scores(bench, rows, trained.classifiers[i], first + part)
            for part in (problem.test, problem.train)
        )
        score = on_test + matched_intercept(on_train, prior)
        metrics = {**judged(score > 0, score, problem), "prior": prior}
        settings = {
            "network": task.network,
            "n_labeled": task.n_labeled,
            "epochs": recipe.epochs,
            "steps_per_epoch": recipe.steps_per_epoch,
            "batch_size": recipe.batch_size,
            "precision": recipe.precision,
            "weights": genpu_preset(task.base),
            "prior_by": estimator,
        }
        extra: dict[str, Any] = {}
        if task.is_image:
            generators = trained.positive_generators[i], trained.negative_generators[i]
            extra, spreads = _samples(bench, recipe, generators, problem, seed)
            metrics |= spreads
        results.append(SeedResult(seed, metrics, settings, seconds, extra))
    return results


def _rows(bench: Bench, problems: list[Problem]) -> tuple[DeviceRows, list[int]]:
    """Images as they are; of a table a copy a seed, in units of its training rows."""
    if bench.task.is_image:
        return bench.rows, [0] * len(problems)
    tables = []
    for problem in problems:
        mean, std = column_scales(problem.data.X[problem.train])
        tables.append((problem.data.X - mean) / std)
    table = torch.tensor(np.concatenate(tables), dtype=torch.float32, device=bench.device)
    return DeviceRows(table), [i * len(tables[0]) for i in range(len(tables))]


def _recipe(bench: Bench, options: RunOptions) -> GenPURecipe:
    """One for all tables, one for all images."""
    is_image = bench.task.is_image
    n_latent = 64 if is_image else 32
    shape = tuple(bench.rows.X.shape[1:])
    return GenPURecipe(
        discriminator=bench.network,
        generator=_generator(n_latent, shape),
        n_latent=n_latent,
        epochs=10 if options.quick else 60,
        steps_per_epoch=30,
        batch_size=128 if is_image else 64,
        lr_discriminator=2e-4 if is_image else 1e-4,
        lr_generator=2e-4 if is_image else 1e-3,
        ramp=0.5,
        average=0.995,
        classifier_epochs=10,
        classifier_lr=1e-3,
        labelled_share=1.0,
        precision=_precision(bench),
    )


def _precision(bench: Bench) -> str:
    if bench.device.type != "cuda":
        return "fp32"
    return "bf16" if bench.task.is_image else "tf32"


def _generator(n_latent: int, shape: tuple[int, ...]) -> Callable[[], nn.Module]:
    """Of grey images a fully connected one."""
    if len(shape) == 3 and shape[0] == 1:
        return lambda: DenseImageGenerator(n_latent, shape, (256, 512))
    return generator_factory(n_latent, shape, (128, 128), -1.0, 1.0)


def _scores(
    bench: Bench, rows: DeviceRows, state: dict[str, Tensor], numbers: NDArray[np.int64]
) -> Floats:
    (stack,) = stacks_of(bench.network, [state], bench.device, torch.float32)
    values = logits(stack, rows, torch.from_numpy(numbers).to(bench.device)[None], _SCORING)
    return values[0].double().cpu().numpy()


def _samples(
    bench: Bench,
    recipe: GenPURecipe,
    generators: tuple[dict[str, Tensor], dict[str, Tensor]],
    problem: Problem,
    seed: int,
) -> tuple[dict[str, Any], dict[str, float]]:
    """Generated images for the eye, and how widely they vary beside real ones."""
    shown: dict[str, Any] = {"classes": {}}
    spreads = {}
    is_shown = seed == 0 and bench.task.name == bench.task.base  # pictures take room
    for name, state, is_real in zip(
        ("positive", "negative"), generators, (problem.truth, ~problem.truth), strict=True
    ):
        generator = recipe.generator()
        generator.load_state_dict(state)
        generator.eval()
        made = generated_rows(generator, recipe.n_latent, 1000, seed, bench.device)
        images = in_input_units(made, np.zeros(1), np.ones(1), as_bytes=True)
        if is_shown:
            shown[name] = _png(images[: _SIDE**2])
            shown["classes"][name] = _shares_of_classes(images, problem)
        real = problem.data.X[problem.train[is_real[problem.train]]]
        spreads[f"{name}_spread"] = spread(images, real)
    return ({"samples": shown} if is_shown else {}), spreads


def _shares_of_classes(images: NDArray[np.uint8], problem: Problem) -> dict[str, float]:
    """How many of the images are nearest to a training image of each class, for the eye alone."""
    some = problem.train[:_COMPARED]
    real = problem.data.X[some].reshape(len(some), -1).astype(np.float32)
    nearest = KNeighborsClassifier(1).fit(real, problem.data.y[some])
    found = nearest.predict(images.reshape(len(images), -1).astype(np.float32))
    classes, counts = np.unique(found, return_counts=True)
    shares = zip(classes.tolist(), counts / len(images), strict=True)
    return {f"class {label}": float(share) for label, share in shares}


def _png(images: NDArray[np.uint8]) -> str:
    """A square of images as a PNG in base 64."""
    from matplotlib import image

    _, channels, height, width = images.shape
    square = images.reshape(_SIDE, _SIDE, channels, height, width).transpose(0, 3, 1, 4, 2)
    square = square.reshape(_SIDE * height, _SIDE * width, channels)
    if channels == 1:
        square = square.repeat(3, axis=2)
    file = io.BytesIO()
    image.imsave(file, square, format="png")
    return base64.b64encode(file.getvalue()).decode()


METHODS = [GenPU()]
