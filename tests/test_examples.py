"""The examples run, and end as they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def lines_of(name):
    """Run an example, a warning being an error, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / f"{name}.py"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    return done.stdout.splitlines()


def test_every_example_is_tested():
    tested = {"choose_without_negatives", "tabular", "images", "text", "training_loop"}
    assert {file.stem for file in EXAMPLES.glob("*.py")} == tested


def test_the_choice_without_negatives_agrees_with_the_truth():
    lines = [line.rsplit(maxsplit=2) for line in lines_of("choose_without_negatives")[3:]]
    found = {name: (float(loss), float(share.rstrip("%"))) for name, loss, share in lines}
    assert set(found) == {"random forest", "logistic regression", "PUClassifier"}
    assert max(found, key=lambda name: found[name][0]) == "PUClassifier"
    assert max(found, key=lambda name: found[name][1]) == "PUClassifier"
    assert found["PUClassifier"][1] > 90


def numbers(line):
    return [float(number) for number in re.findall(r"\d+\.?\d*", line)]


def test_tabular_finds_the_share_and_ranks_positives_first():
    _, share, _, first, accuracy = lines_of("tabular")
    prior, low, high, true = numbers(share)
    assert low <= true <= high
    assert abs(prior - true) < 0.08
    assert numbers(first)[1] >= 90
    assert numbers(accuracy)[0] > 88


def test_images_with_a_network_of_ones_own():
    _, loss, prior, accuracy = lines_of("images")
    assert "-0." in loss
    assert abs(numbers(prior)[0] - numbers(prior)[1]) < 0.08
    assert numbers(accuracy)[0] > 90


def test_texts_like_the_known_are_found():
    *_, found, auc = lines_of("text")
    assert "score" in found
    assert numbers(auc)[0] > 0.93


def test_a_training_loop_of_ones_own():
    (line,) = lines_of("training_loop")
    assert numbers(line)[1] > 82
