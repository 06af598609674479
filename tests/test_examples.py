"""The examples run, and end as they say."""

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_choice_without_negatives_agrees_with_the_truth():
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / "choose_without_negatives.py"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    lines = [line.rsplit(maxsplit=2) for line in done.stdout.splitlines()[3:]]
    found = {name: (float(loss), float(share.rstrip("%"))) for name, loss, share in lines}
    assert set(found) == {"random forest", "logistic regression", "PUClassifier"}
    assert max(found, key=lambda name: found[name][0]) == "PUClassifier"
    assert max(found, key=lambda name: found[name][1]) == "PUClassifier"
    assert found["PUClassifier"][1] > 90
