"""One member of the Avila recipe on the CPU: varpu beside a textbook loop, in one run.

    VARPU_DATA=... python benchmarks/cpu.py [--seeds 2] [--patience 15] [--out FILE]
    python benchmarks/cpu.py --summarize FILE ...

All train the same network with the same settings on the same split, and report the test accuracy
at the epoch with the least held-out L_var:

* ``textbook``: 50 epochs of 30 steps, as one would first write it;
* ``same steps``: ``varpu.training.train`` with the same 50 epochs, so the same arithmetic;
* ``patience N``: the same, stopped N epochs after the best one. ``--patience`` takes several N; 15
  is the default of ``VPUClassifier``;
* ``same steps, bf16`` and ``patience N, bf16``: with products in bfloat16, where the processor has
  instructions for it (``precision="auto"``).

They take turns, seed by seed, so that what else the machine does falls on all alike.
``--summarize`` puts the files of several runs together instead.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import tasks
import textbook
import torch
from gpu import accuracies, shared_settings
from report import write

from varpu import __version__, paper_recipe
from varpu.nets import MLP
from varpu.training import DeviceRows, pick_precision, train
from varpu.versions import cpu_name


def ours(task: tasks.Task, seed: int, patience: int | None, precision: str) -> tuple[float, float]:
    own = paper_recipe("avila")
    member = task.member(seed, own["lam"], own["lr"])
    recipe = replace(shared_settings("avila", precision), patience=patience)

    def factory() -> MLP:
        return MLP(task.X.shape[1], own["hidden"])

    start = time.perf_counter()
    trained = train(DeviceRows(torch.tensor(task.X)), [member], recipe, factory)
    seconds = time.perf_counter() - start
    (accuracy,) = accuracies(task, [member], trained, factory, torch.device("cpu"))
    return seconds, accuracy / 100


def theirs(task: tasks.Task, seed: int) -> tuple[float, float]:
    own = paper_recipe("avila")
    member = task.member(seed, own["lam"], own["lr"])
    torch.manual_seed(seed)
    net = MLP(task.X.shape[1], own["hidden"])
    start = time.perf_counter()
    accuracy = textbook.fit(task, member, shared_settings("avila", "fp32"), net)
    return time.perf_counter() - start, accuracy


def summarize(files: list[str]) -> None:
    """Mean seconds and accuracy over several runs, and the difference to the textbook's."""
    runs = []
    for file in files:
        with open(file, encoding="utf-8") as opened:
            runs.append(json.load(opened))
    book_seconds = np.mean([run["textbook"]["seconds"] for run in runs])
    book = np.concatenate([run["textbook"]["accuracies"] for run in runs])
    for kind, entry in runs[0].items():
        if not isinstance(entry, dict) or "accuracies" not in entry:
            continue  # the command, the hardware, the versions
        if not all(kind in run for run in runs):
            continue  # runs with another patience
        seconds = np.mean([run[kind]["seconds"] for run in runs])
        found = np.concatenate([run[kind]["accuracies"] for run in runs])
        error = np.std(found - book, ddof=1) / np.sqrt(len(book))
        print(
            f"{kind:17s} {seconds:5.1f} s, {book_seconds / seconds:.2f} x, {len(found)} seeds,"
            f" accuracy {found.mean():.4f}, difference {np.mean(found - book):+.4f} ± {error:.4f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--patience", type=int, nargs="*", default=[15], metavar="N")
    parser.add_argument("--out", help="write the numbers here too, as JSON")
    parser.add_argument("--summarize", nargs="+", metavar="FILE", help="of what --out wrote")
    options = parser.parse_args()
    if options.summarize:
        summarize(options.summarize)
        return
    task = tasks.avila()
    kinds: dict[str, Callable[[int], tuple[float, float]]] = {"textbook": partial(theirs, task)}
    fastest = pick_precision("auto", torch.device("cpu"))
    for precision in dict.fromkeys(("fp32", fastest)):
        suffix = "" if precision == "fp32" else f", {precision}"
        for patience in (None, *options.patience):
            kind = "same steps" if patience is None else f"patience {patience}"
            run = partial(ours, task, patience=patience, precision=precision)
            kinds[kind + suffix] = run
    runs: dict[str, list[tuple[float, float]]] = {kind: [] for kind in kinds}
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        for kind, run in kinds.items():
            runs[kind].append(run(seed))
            seconds, accuracy = runs[kind][-1]
            print(f"seed {seed}: {kind:17s} {seconds:5.1f} s, accuracy {accuracy:.3f}", flush=True)
    means = {kind: np.mean(found, axis=0) for kind, found in runs.items()}
    result = {
        "command": f"python benchmarks/cpu.py --seeds {options.seeds}"
        f" --first-seed {options.first_seed} --patience {' '.join(map(str, options.patience))}",
        "hardware": f"{torch.get_num_threads()} threads of {cpu_name()}",
        "versions": {"varpu": __version__, "torch": torch.__version__, "numpy": np.__version__},
        "seeds": options.seeds,
        **{
            kind: {
                "seconds": seconds,
                "accuracy": accuracy,
                "accuracies": [round(found, 4) for _, found in runs[kind]],
                "times faster than textbook": means["textbook"][0] / seconds,
            }
            for kind, (seconds, accuracy) in means.items()
        },
    }
    for kind, (seconds, accuracy) in means.items():
        faster = means["textbook"][0] / seconds
        print(f"mean: {kind:17s} {seconds:5.1f} s, accuracy {accuracy:.3f}, {faster:.2f} x")
    write(options.out, result)


if __name__ == "__main__":
    main()
