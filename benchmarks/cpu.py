"""One member of the Avila recipe on the CPU: varpu beside a textbook loop, in one run.

    VARPU_DATA=... python benchmarks/cpu.py [--seeds 2] [--out FILE]

Both train the same network on the same split with the same settings, 50 epochs of 30 steps, and
report the test accuracy at the epoch with the least held-out L_var. They take turns, seed by seed,
so that what else the machine does falls on both alike.
"""

import argparse
import json
import platform
import time

import numpy as np
import tasks
import textbook
import torch
from gpu import shared_settings

from varpu import VPUClassifier, __version__, paper_recipe
from varpu.nets import MLP


def ours(task: tasks.Task, seed: int) -> tuple[float, float]:
    """Seconds of a whole ``VPUClassifier.fit``, scale included, and the test accuracy."""
    member = task.member(seed, 0.0, 0.0)
    labelled = np.zeros(len(task.y), dtype=int)
    labelled[np.concatenate([member.p, member.held_out_p])] = 1
    model = VPUClassifier(**paper_recipe("avila"), device="cpu", random_state=seed)
    start = time.perf_counter()
    model.fit(task.X, labelled)
    return time.perf_counter() - start, float((model.predict(task.X_test) == task.y_test).mean())


def theirs(task: tasks.Task, seed: int) -> tuple[float, float]:
    own = paper_recipe("avila")
    torch.manual_seed(seed)
    net = MLP(task.X.shape[1], own["hidden"])
    start = time.perf_counter()
    accuracy = textbook.fit(
        task, task.member(seed, own["lam"], own["lr"]), shared_settings("avila", "fp32"), net
    )
    return time.perf_counter() - start, accuracy


def cpu_name() -> str:
    """The processor as Linux names it; elsewhere whatever Python knows."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--out", help="write the numbers here too, as JSON")
    options = parser.parse_args()
    task = tasks.avila()
    runs = []
    for seed in range(options.seeds):
        (our_seconds, our_accuracy), (their_seconds, their_accuracy) = (
            ours(task, seed),
            theirs(task, seed),
        )
        runs.append([our_seconds, their_seconds, our_accuracy, their_accuracy])
        print(
            f"seed {seed}: varpu {our_seconds:.1f} s, accuracy {our_accuracy:.3f};"
            f" textbook {their_seconds:.1f} s, accuracy {their_accuracy:.3f};"
            f" ratio {their_seconds / our_seconds:.2f}",
            flush=True,
        )
    seconds, book_seconds, accuracy, book_accuracy = np.mean(runs, axis=0)
    result = {
        "command": f"python benchmarks/cpu.py --seeds {options.seeds}",
        "hardware": f"{torch.get_num_threads()} threads of {cpu_name()}",
        "versions": {"varpu": __version__, "torch": torch.__version__, "numpy": np.__version__},
        "seeds": options.seeds,
        "varpu": {"seconds": seconds, "accuracy": accuracy},
        "textbook": {"seconds": book_seconds, "accuracy": book_accuracy},
        "ratio": book_seconds / seconds,
    }
    print(f"ratio of mean seconds: {result['ratio']:.2f}")
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
