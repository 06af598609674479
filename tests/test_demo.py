"""``varpu demo``, run as a person would run it."""

import re
import subprocess
import sys

import pytest

from varpu._demo import run_demo
from varpu.exceptions import PUInputError


def test_demo_shows_that_pu_learning_pays(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "varpu", "demo"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    accuracy = dict(re.findall(r"│ (.+?)\s+│ (\d+\.\d)%", done.stdout))
    ours = float(accuracy["positives and unlabelled (varpu)"])
    naive = float(accuracy["unlabelled taken as negative"])
    assert naive + 15 < ours <= float(accuracy["all true labels"])
    share = re.search(r"found (0\.\d+) \(.+? (0\.\d+) to (0\.\d+)\), true (0\.\d+)", done.stdout)
    found, low, high, true = map(float, share.groups())
    assert abs(found - true) < 0.1
    assert low <= found <= high
    assert done.stderr == ""  # no progress bar where nobody watches
    assert done.stdout.endswith("The report: varpu-demo-report.html\n")
    page = (tmp_path / "varpu-demo-report.html").read_text(encoding="utf-8")
    assert "of the 864 unlabelled rows are positive" in page


def test_a_report_that_cannot_be_written_is_refused_before_any_work(tmp_path, capsys):
    for name in ("report.pdf", "no_folder/report.html"):
        with pytest.raises(PUInputError):
            run_demo(seed=0, out=tmp_path / name)
    assert capsys.readouterr().out == ""
