"""The pages run and print what they show, have one form, and build without a warning."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import varpu
from varpu import priors
from varpu.methods import comparison

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
METHODS, ESTIMATORS = (
    [page for page in PAGES if page.parent.name == folder and page.name != "index.md"]
    for folder in ("methods", "priors")
)
SECTIONS = ["Formula", "Assumes", "Fails", "Costs", "Example", "Reference"]
# Another build of torch or LightGBM sums in another order, and training carries that on.
TOLERANCE = 0.03

OUTPUTS = runpy.run_path(str(DOCS / "make_outputs.py"))
python_blocks, with_outputs = OUTPUTS["python_blocks"], OUTPUTS["with_outputs"]


def titled(page):
    """Return the names of classes in a page's title."""
    return re.findall(r"`(\w+)`", page.read_text(encoding="utf-8").split("\n", 1)[0])


def name_of(page):
    return page.relative_to(DOCS).as_posix()


def words_and_numbers(text):
    """Split a text into all but its decimal numbers, and these."""
    number = r"-?\d+\.\d+"
    return re.sub(number, "#", text), [float(found) for found in re.findall(number, text)]


def assert_same(found, shown):
    """Words are the same, whole numbers too, and decimals nearly so."""
    (words, numbers), (shown_words, shown_numbers) = map(words_and_numbers, (found, shown))
    assert words == shown_words
    assert numbers == pytest.approx(shown_numbers, abs=TOLERANCE)


@pytest.mark.parametrize(
    "page", [p for p in PAGES if "```python" in p.read_text("utf-8")], ids=name_of
)
def test_blocks_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what the blocks write goes there
    text = page.read_text(encoding="utf-8")
    assert_same(with_outputs(text, str(page)), text)


def test_commands_of_the_page_on_the_terminal_run(tmp_path, monkeypatch):
    """In their order, in the folder where its Python block made the table."""
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "command.md").read_text(encoding="utf-8")
    with_outputs(text, "command.md")
    commands = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert [command.split()[1] for command in commands] == ["check", "fit", "predict", "report"]
    for command in commands:
        words = [sys.executable, "-m", *command.split()]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    scored = pd.read_csv(tmp_path / "scored.csv")
    assert list(scored.columns) == ["patient", "probability", "label"]
    assert len(scored) == 569
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "unlabelled rows are positive" in page


def test_outputs_are_written_and_compared():
    page = "# Page\n\n```python\nx = 2\nprint(x)\n```\n{}\nMore.\n\n```python\nx += 1\n```\nEnd.\n"
    true = page.format("\n```text\n2\n```\n")
    for shown in ("", "\n```text\n5\n```\n", "\n```text\n2\n```\n"):
        assert with_outputs(page.format(shown), "page") == true
    assert_same("a 0.51, b 2\n", "a 0.50, b 2\n")
    for wrong in ("a 0.54, b 2\n", "a 0.50, b 3\n", "a 0.50, b 2 0.50\n", ""):
        with pytest.raises(AssertionError):
            assert_same(wrong, "a 0.50, b 2\n")


@pytest.mark.parametrize("page", METHODS + ESTIMATORS, ids=name_of)
def test_pages_have_one_form(page):
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    assert 40 <= text.count("\n") <= 90
    [(_, code)] = python_blocks(text)
    assert 8 <= len([line for line in code.split("\n") if line.strip()]) <= 15
    assert "```text" in text.split("## Example")[1]


def test_every_method_has_a_page():
    titles = [name for page in METHODS for name in titled(page)]
    assert sorted(titles) == sorted(comparison()["classifier"])


def test_every_prior_estimator_has_a_page():
    public = [name for name in priors.__all__ if hasattr(getattr(priors, name), "fit")]
    titles = [name for page in ESTIMATORS for name in titled(page)]
    assert sorted(titles) == sorted(set(public) - {"BasePriorEstimator"})


@pytest.mark.parametrize("page", METHODS, ids=name_of)
def test_a_page_calls_a_reconstruction_one(page):
    [name] = titled(page)
    said = "**A reconstruction**" in page.read_text(encoding="utf-8")
    assert said is getattr(varpu, name).pu_tags.reconstruction


def run_comparison(docs, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["make_comparison.py", *arguments])
    runpy.run_path(str(docs / "make_comparison.py"), run_name="__main__")


def test_the_comparison_is_up_to_date(monkeypatch):
    run_comparison(DOCS, monkeypatch, "--check")


@pytest.mark.parametrize(
    ("where", "altered"), [("methods", ("| yes |", "| no |")), ("priors", ("| `BBE` |", "| `X` |"))]
)
def test_a_stale_comparison_is_found_and_mended(tmp_path, monkeypatch, where, altered):
    docs = tmp_path / "docs"
    shutil.copytree(DOCS, docs)
    shutil.copytree(ROOT / "results", tmp_path / "results")
    page, before, after = docs / where / "index.md", *altered
    good = page.read_text(encoding="utf-8")
    page.write_text(good.replace(before, after), encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        run_comparison(docs, monkeypatch, "--check")
    assert stop.value.code not in (0, None)
    assert page.read_text(encoding="utf-8") != good
    run_comparison(docs, monkeypatch)
    assert page.read_text(encoding="utf-8") == good


def test_the_site_builds_and_fetches_nothing(tmp_path):
    pytest.importorskip("mkdocs")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    for page in PAGES:
        html = (tmp_path / page.relative_to(DOCS)).with_suffix(".html").read_text(encoding="utf-8")
        assert not re.findall(r'<(?:script|img|iframe)[^>]* src="?(?:https?:)?//', html)
        assert not re.findall(r'<link[^>]* href="?(?:https?:)?//', html)
    assert (tmp_path / "results" / "uci.json").is_file()  # what pages link to
    assert not list(tmp_path.rglob("*.py"))
