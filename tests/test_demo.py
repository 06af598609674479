"""``varpu demo``, run as a person would run it."""

import re
import subprocess
import sys


def test_demo_shows_that_pu_learning_pays():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "varpu", "demo"],
        capture_output=True,
        text=True,
        check=True,
    )
    accuracy = dict(re.findall(r"│ (.+?)\s+│ (\d+\.\d)%", done.stdout))
    vpu = float(accuracy["positives and unlabelled (VPU)"])
    naive = float(accuracy["unlabelled taken as negative"])
    assert naive + 15 < vpu <= float(accuracy["all true labels"])
    share = re.search(r"found (0\.\d+) \(.+? (0\.\d+) to (0\.\d+)\), true (0\.\d+)", done.stdout)
    found, low, high, true = map(float, share.groups())
    assert abs(found - true) < 0.1
    assert low <= found <= high
    assert done.stderr == ""  # no progress bar where nobody watches
