"""``varpu paper``, as a person types it."""

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from varpu.cli import app
from varpu.exceptions import PUInputError
from varpu.paper import Cell, Store


@pytest.fixture
def call(plugin):
    """Call ``varpu paper --plugin ...`` and return its exit code, output and errors."""

    def called(*words, code=0):
        result = CliRunner().invoke(
            app, ["paper", "--plugin", str(plugin), *words], catch_exceptions=False
        )
        assert result.exit_code == code, result.output
        return result

    return called


def test_list(call):
    lines = call("list").stdout.splitlines()
    assert lines[0].startswith("table1 ")
    assert len(lines) == 20
    assert any(line.startswith("small ") for line in lines)


def test_several_tables_are_one_run(call):
    only = ("--seeds", "1", "--device", "cpu", "--data", "small_1", "--methods", "logistic")
    said = call("run", "small", "mixed", *only)
    assert "varpu paper show small" in said.stdout
    for name in ("small", "mixed"):
        assert "0 seeds run" in call("run", name, *only).stdout


def test_run_show_and_run_again(call):
    said = call("run", "small", "--seeds", "2", "--device", "cpu", "--data", "small_1,small_2")
    assert re.match(r"4 seeds run in \d+ s\. To see the table: varpu paper show small", said.stdout)
    assert "seed 1: accuracy" in said.stderr
    assert "0 seeds run" in call("run", "small", "--seeds", "2", "--data", "small_1").stdout
    shown = call("show", "small").stdout
    assert "| Small¹ | 80.0 ± 1.0 / " in shown
    assert "2 seeds)" in shown
    assert call("show", "small", "--format", "csv").stdout.startswith("experiment,row_key,")


def test_words_may_be_repeated(call):
    words = ("run", "small", "--seeds", "1", "--data", "small_1", "--data", "small_3")
    call(*words, "--methods", "logistic", "--device", "cpu", "--results", "elsewhere")
    [run] = Store("elsewhere").read(Cell("small_3", "logistic"))
    assert run.command == (
        "varpu paper run small --methods logistic --data small_1,small_3 --seeds 1 --device cpu"
    )


def test_trouble_gives_exit_code_1(call):
    said = call("run", "mixed", "--seeds", "1", "--device", "cpu", code=1)
    assert "2 cells failed" in said.stdout
    assert "RuntimeError: the network caught fire" in said.stderr
    assert "absent_1 was skipped: absent is not there" in said.stderr


def test_quick_results_are_shown_apart(call):
    call("run", "small", "--seeds", "1", "--quick", "--device", "cpu")
    assert "1 seed)" not in call("show", "small").stdout
    assert "1 seed)" in call("show", "small", "--quick").stdout


def test_show_all(call):
    assert call("show", "all").stdout.count("\n# ") == 19
    lines = call("show", "all", "--format", "csv").stdout.splitlines()
    assert sum(line.startswith("experiment,") for line in lines) == 1


def test_figures_and_page(call):
    assert "Nothing to draw" in call("figures").stderr
    call("run", "mixed", "--methods", "logistic", "--seeds", "2", "--device", "cpu")
    assert call("figures", "mixed", "--out", "drawn").stdout.split() == ["drawn/mixed.svg"]
    files = call("page", "--out", "pages/reproduction.md").stdout.split()
    assert files == ["pages/reproduction.md", "pages/reproduction/mixed.svg"]


def test_a_typo_gets_a_hint(call):
    with pytest.raises(PUInputError, match="did you mean small"):
        call("run", "smal")
    with pytest.raises(PUInputError, match="did you mean small_1"):
        call("run", "small", "--data", "smal_1")
    with pytest.raises(PUInputError, match="a plugin is a Python file"):
        CliRunner().invoke(app, ["paper", "--plugin", "none.py", "list"], catch_exceptions=False)


@pytest.mark.parametrize("command", ["list", "run", "show", "figures", "page"])
def test_each_help_has_an_example(command):
    result = CliRunner().invoke(app, ["paper", command, "--help"])
    assert result.exit_code == 0
    assert f"Example: varpu paper {command}" in result.stdout


def test_the_modules_are_light():
    code = "import sys, varpu.paper, varpu.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"torch", "lightgbm", "sklearn", "pandas", "scipy", "numpy", "matplotlib"}
    assert not heavy & set(loaded.stdout.split())
