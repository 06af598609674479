"""Every Python block of the README runs, in order, as one program; its commands run too."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

README = Path(__file__).parents[1] / "README.md"


def python_blocks(text):
    """Yield (first line number, code) of each fenced Python block."""
    for block in re.finditer(r"^```python[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, block.start(1)) + 1, block.group(1)


def test_readme_blocks_run(tmp_path, monkeypatch):
    if not README.is_file():
        pytest.skip("there is no README.md")
    blocks = list(python_blocks(README.read_text(encoding="utf-8")))
    if not blocks:
        pytest.skip("README.md has no Python block")
    monkeypatch.chdir(tmp_path)  # what the blocks write goes there
    namespace = {"__name__": "readme"}
    for line, code in blocks:
        # The empty lines in front make a traceback point into README.md.
        exec(compile("\n" * (line - 1) + code, str(README), "exec"), namespace)


def commands():
    """Every ``varpu`` command of the README, without its remark."""
    text = README.read_text(encoding="utf-8")
    return re.findall(r"^(varpu [^#\n]*?)\s*(?:#.*)?$", text, re.MULTILINE)


def test_readme_commands_run(tmp_path):
    """In their order, but for the experiments, which take long and need a GPU or data."""
    random = np.random.default_rng(0)
    sick = random.random(150) < 0.4
    table = pd.DataFrame(random.normal(size=(150, 3)) + 2 * sick[:, None], columns=list("abc"))
    table.insert(0, "patient", [f"P{i:03d}" for i in range(150)])
    table.to_parquet(tmp_path / "others.parquet", index=False)
    table["sick"] = np.where(sick & (random.random(150) < 0.7), "yes", "")
    table.to_csv(tmp_path / "patients.csv", index=False)
    clicks = pd.DataFrame(random.normal(size=(3000, 2)), columns=["x", "z"])
    clicks["bought"] = ((clicks["x"] > 0.5) & (random.random(3000) < 0.5)).astype(int)
    (tmp_path / "clicks").mkdir()
    clicks.to_parquet(tmp_path / "clicks" / "1.parquet", index=False)
    shown = [command.split() for command in commands()]
    assert {words[1] for words in shown} == {"check", "fit", "predict", "report", "data", "paper"}
    for words in shown:
        if words[1:3] != ["paper", "run"]:
            done = subprocess.run(
                [sys.executable, "-m", *words],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, (words, done.stderr)
    assert len(pd.read_parquet(tmp_path / "scored.parquet")) == 150
    assert len(pd.read_parquet(tmp_path / "scored_clicks.parquet")) == 3000
    assert (tmp_path / "report.html").stat().st_size > 10_000
