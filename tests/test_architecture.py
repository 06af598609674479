"""Arrows point one way: who may import whom, read from the source."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "varpu"

# The parts of varpu that each package may import, besides itself.
MAY_IMPORT = {
    "losses": set(),
    "nets": {"losses", "exceptions", "world"},
    "training": {"losses", "nets", "exceptions", "world"},
    "generative": {"losses", "nets", "training", "exceptions", "checks"},
}
# The private modules that a package of users may nevertheless use.
PRIVATE_ALLOWED = {"cli": {"varpu._demo.run_demo"}, "report": set(), "paper": set()}


def imported_names(file, source=SOURCE):
    """Return every absolute dotted name that a file imports, wherever in it the import stands."""
    package = ("varpu", *file.relative_to(source).parent.parts)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            parts = (*base, *filter(None, [node.module]))
            yield from (".".join((*parts, alias.name)) for alias in node.names)


def imports_of(package):
    """Return {name: file} for all that the files of a package import; skip if there are none."""
    files = sorted((SOURCE / package).rglob("*.py"))
    if not files:
        pytest.skip(f"varpu.{package} does not exist")
    return {name: str(file) for file in files for name in imported_names(file)}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_core_knows_no_sklearn_or_pandas(package):
    barred = {"sklearn", "pandas"}
    wrong = {n: f for n, f in imports_of(package).items() if n.split(".")[0] in barred}
    assert not wrong


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_arrows_point_one_way(package):
    allowed = MAY_IMPORT[package] | {package}
    own = {n: f for n, f in imports_of(package).items() if n.split(".")[0] == "varpu"}
    wrong = {n: f for n, f in own.items() if n == "varpu" or n.split(".")[1] not in allowed}
    assert not wrong


@pytest.mark.parametrize("package", PRIVATE_ALLOWED)
def test_users_use_public_names_only(package):
    def is_private(name):
        parts = name.split(".")
        if parts[0] != "varpu" or parts[1:2] == [package]:
            return False
        return any(part.startswith("_") and not part.endswith("__") for part in parts)

    private = {n: f for n, f in imports_of(package).items() if is_private(n)}
    assert not private.keys() - PRIVATE_ALLOWED[package], private


def test_imports_are_read_in_every_form(tmp_path):
    file = tmp_path / "losses" / "loss.py"
    file.parent.mkdir()
    file.write_text(
        "import torch.nn\nfrom . import risk\nfrom .risk import upu\nfrom ..nets import MLP\n"
        "def f():\n    from varpu.neural import VPUClassifier\n"
    )
    assert set(imported_names(file, tmp_path)) == {
        "torch.nn",
        "varpu.losses.risk",
        "varpu.losses.risk.upu",
        "varpu.nets.MLP",
        "varpu.neural.VPUClassifier",
    }
