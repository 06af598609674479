"""Speed and accuracy of the paper's recipes on one GPU.

    VARPU_DATA=... python benchmarks/gpu.py [--tasks avila grid ...] [--out FILE]

Each task is trained with the settings of ``varpu.paper_recipe`` and its own penalty weight, ten
seeds; a seed is a new split, and held-out positives are never trained on. ``seconds`` is the wall
time of a whole fit: networks made, batches drawn, 50 epochs of 30 steps with a held-out pass each,
and the best epoch's weights brought back. A one-epoch fit before it keeps the start-up of CUDA and
cuDNN, which a process pays once, out of the number. Accuracy is on the test set at the epoch with
the least held-out L_var, by the paper's rule: Phi above half its maximum over the training rows.

``cifar10_nnpu`` is nnPU with the true prior on CIFAR-10: 100 epochs of 90 steps, which is once
through U an epoch, with the weight decay of its authors; the epoch with the least held-out risk.
"""

import argparse
import dataclasses
import platform
import sys
import time
from collections.abc import Callable

import numpy as np
import tasks
import torch
from report import write
from torch import nn
from torch.nn.functional import logsigmoid

from varpu import __version__, paper_recipe
from varpu.nets import MLP, CifarCNN, LeNet5, logit
from varpu.neural.inputs import pixels_to_unit
from varpu.training import DeviceRows, Member, Recipe, Risk, Trained, train

LAMBDAS = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0)
SEEDS = range(10)
DEVICE = torch.device("cuda")

Factory = Callable[[], nn.Module]


def shared_settings(name: str, precision: str) -> Recipe:
    """The part of a paper recipe that all members share."""
    fields = {field.name for field in dataclasses.fields(Recipe)}
    settings = {key: value for key, value in paper_recipe(name).items() if key in fields}
    return Recipe(**settings, precision=precision)


def timed(
    task: tasks.Task, members: list[Member], recipe: Recipe, factory: Factory
) -> tuple[Trained, float]:
    rows = DeviceRows(torch.tensor(task.X, device=DEVICE), pixels_to_unit)
    train(rows, members, dataclasses.replace(recipe, epochs=1), factory)
    torch.cuda.synchronize()
    start = time.perf_counter()
    trained = train(rows, members, recipe, factory)
    torch.cuda.synchronize()
    return trained, time.perf_counter() - start


def accuracies(
    task: tasks.Task,
    members: list[Member],
    trained: Trained,
    factory: Factory,
    device: torch.device = DEVICE,
) -> list[float]:
    """Test accuracy of each member by the paper's decision rule."""
    X, X_test = (torch.tensor(part, device=device) for part in (task.X, task.X_test))
    truth = torch.tensor(task.y_test, device=device)
    found = []
    for member, state in zip(members, trained.states, strict=True):
        network = factory().to(device).eval()
        network.load_state_dict(state)
        largest = log_phi(network, X[torch.tensor(member.u, device=device)]).max()
        positive = log_phi(network, X_test) - largest > np.log(0.5)
        found.append((positive == truth).float().mean().item() * 100)
    return found


@torch.no_grad()
def log_phi(network: nn.Module, X: torch.Tensor) -> torch.Tensor:
    parts = [logsigmoid(logit(network(pixels_to_unit(part)))) for part in X.split(5000)]
    return torch.cat(parts)


def summary(found: list[float]) -> dict[str, float | int]:
    return {
        "accuracy": round(float(np.mean(found)), 2),
        "std": round(float(np.std(found)), 2),
        "seeds": len(found),
    }


def avila() -> dict[str, object]:
    task, recipe = tasks.avila(), shared_settings("avila", "bf16")
    own = paper_recipe("avila")

    def factory() -> MLP:
        return MLP(task.X.shape[1], own["hidden"])

    members = [task.member(seed, lam, own["lr"]) for lam in LAMBDAS for seed in SEEDS]
    trained, seconds = timed(task, members, recipe, factory)
    found = accuracies(task, members, trained, factory)
    at_its_lam = [a for a, m in zip(found, members, strict=True) if m.lam == own["lam"]]
    return {"precision": "bf16", "members": len(members), "seconds": seconds, **summary(at_its_lam)}


def grid() -> dict[str, object]:
    recipe, own = shared_settings("grid_stability", "bf16"), paper_recipe("grid_stability")
    found, total = [], 0.0
    for seed in SEEDS:  # each seed has its own test rows
        task = tasks.grid(seed)
        width = task.X.shape[1]

        def factory(width: int = width) -> MLP:
            return MLP(width, own["hidden"])

        members = [task.member(seed, own["lam"], own["lr"])]
        trained, seconds = timed(task, members, recipe, factory)
        found += accuracies(task, members, trained, factory)
        total += seconds
    return {"precision": "bf16", "members": 1, "seconds": total / len(SEEDS), **summary(found)}


def images(name: str, task: tasks.Task, factory: Factory, precision: str) -> dict[str, object]:
    recipe, own = shared_settings(name, precision), paper_recipe(name)
    members = [task.member(seed, own["lam"], own["lr"]) for seed in SEEDS]
    _, seconds = timed(task, members[:1], recipe, factory)
    trained, all_seconds = timed(task, members, recipe, factory)
    found = accuracies(task, members, trained, factory)
    return {
        "precision": precision,
        "members": 1,
        "seconds": seconds,
        **summary(found),
        "seconds_ten_members": all_seconds,
    }


def cifar10_nnpu() -> dict[str, object]:
    task = tasks.cifar10()
    recipe = Recipe(
        penalty=None,
        epochs=100,
        steps_per_epoch=90,
        betas=(0.9, 0.999),
        weight_decay=5e-3,
        lr_milestones=(),
        precision="bf16",
        risk=Risk("nnpu"),
    )
    members = [
        dataclasses.replace(task.member(seed, 0.0, 1e-4), prior=float(task.y.mean()))
        for seed in range(3)
    ]
    _, seconds = timed(task, members[:1], recipe, CifarCNN)
    trained, all_seconds = timed(task, members, recipe, CifarCNN)
    X_test, truth = torch.tensor(task.X_test, device=DEVICE), torch.tensor(task.y_test)
    found = []
    for state in trained.states:
        network = CifarCNN().to(DEVICE).eval()
        network.load_state_dict(state)
        positive = log_phi(network, X_test).cpu() > np.log(0.5)
        found.append((positive == truth).float().mean().item() * 100)
    return {
        "precision": "bf16",
        "members": 1,
        "seconds": seconds,
        **summary(found),
        "seconds_three_members": all_seconds,
    }


TASKS: dict[str, Callable[[], dict[str, object]]] = {
    "avila": avila,
    "grid": grid,
    "fashion_mnist": lambda: images("fashion_mnist", tasks.fashion_mnist(), LeNet5, "tf32"),
    "cifar10": lambda: images("cifar10", tasks.cifar10(), CifarCNN, "bf16"),
    "cifar10_nnpu": cifar10_nnpu,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--out", help="write the numbers here too, as JSON")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("this benchmark needs a CUDA GPU")
    results: dict[str, object] = {
        "command": "python benchmarks/gpu.py --tasks " + " ".join(options.tasks),
        "hardware": torch.cuda.get_device_name(),
        "versions": {
            "varpu": __version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }
    for name in options.tasks:
        results[name] = found = TASKS[name]()
        print(
            f"{name:14s}",
            " ".join(
                f"{key}={value:.2f}" if isinstance(value, float) else f"{key}={value}"
                for key, value in found.items()
            ),
            flush=True,
        )
    write(options.out, results)


if __name__ == "__main__":
    sys.exit(main())
