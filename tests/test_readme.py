"""Every Python block of the README runs, in order, as one program."""

import re
from pathlib import Path

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
