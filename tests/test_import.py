"""What `import varpu` and the command do, each in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

import varpu
from varpu import exceptions


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, timeout=120)


def run_python(code):
    result = run(sys.executable, "-c", code)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_is_light():
    loaded = run_python("import sys, varpu; print(*sys.modules)").split()
    assert "varpu" in loaded
    assert not {"torch", "lightgbm", "sklearn", "pandas", "scipy", "numpy"} & set(loaded)


def test_help_is_light():
    loaded = run_python("import sys, varpu.cli; print(*sys.modules)").split()
    assert not {"torch", "lightgbm", "sklearn", "pandas", "scipy", "numpy"} & set(loaded)


def test_public_names_are_listed():
    names = run_python("import varpu; print(*dir(varpu))").split()
    assert set(varpu.__all__) <= set(names)
    assert set(varpu.__all__) == {*varpu._HOMES, "__version__"}


@pytest.mark.parametrize("name", sorted(varpu._HOMES))
def test_public_names_are_there(name):
    pytest.importorskip("torch")
    assert getattr(varpu, name) is not None


def test_unknown_name():
    with pytest.raises(AttributeError, match="no attribute 'nothing_like_it'"):
        _ = varpu.nothing_like_it


def test_without_torch_the_error_names_the_install_command():
    code = """
import sys
sys.modules["torch"] = None
import varpu
from varpu.exceptions import MissingExtraError
try:
    varpu.VPUClassifier
except MissingExtraError as error:
    print(error)
"""
    message = run_python(code).strip()
    assert 'pip install "varpu[torch]"' in message
    assert "\n" not in message


def test_require_extra():
    exceptions.require_extra("pytest")
    with pytest.raises(exceptions.MissingExtraError, match="no_such_package"):
        exceptions.require_extra("no_such_package")


def test_python_m_version():
    result = run(sys.executable, "-m", "varpu", "--version")
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == f"varpu {varpu.__version__}"


def test_command_help():
    result = run(str(Path(sys.executable).with_name("varpu")), "--help")
    assert result.returncode == 0, result.stderr
    assert "demo" in result.stdout


def test_own_errors_are_one_line():
    code = """
import sys
from varpu import cli
from varpu.exceptions import PUInputError

@cli.app.command()
def fail():
    raise PUInputError("wanted two labels,\\n  got 3")

sys.argv = ["varpu", "fail"]
cli.main()
"""
    result = run(sys.executable, "-c", code)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr == "varpu: wanted two labels, got 3\n"
