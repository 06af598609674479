"""The page of all tables: made from results, and up to date."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from varpu.paper import Cell, Run, Store, names, page_text, write_page

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_up_to_date(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["make_reproduction.py", "--check"])
    runpy.run_path(str(DOCS / "make_reproduction.py"), run_name="__main__")


def test_without_results_no_number_is_ours(tmp_path):
    text = page_text(tmp_path)
    assert text.count("\n## ") == len(names())
    assert not re.search(r"\d+\.\d+ ± \d+\.\d+ \(", text)
    assert "![" not in text
    assert text.count("\nNot measured yet:\n") == len(names()) - 2


def test_results_come_with_what_made_them(tmp_path):
    store = Store(tmp_path / "results")
    about = {"versions": {"varpu": "0.1.0", "torch": "2.11"}, "command": "x"}
    for i in (1, 2):
        runs = [
            Run(s, {"accuracy": 81.5}, seconds=10.5, hardware="NVIDIA H200", **about)
            for s in range(10)
        ]
        store.add(Cell(f"avila_{i}", "vpu"), runs)
    store.add(
        Cell("fashion_mnist_1-bias-1", "vpu"),
        [Run(0, {"accuracy": 92.0}, seconds=2.0, hardware="a laptop", **about)],
    )
    page, figure, *more = write_page(tmp_path / "docs" / "page.md", tmp_path / "results")
    text = page.read_text(encoding="utf-8")
    assert "20 runs, 210 s in all, on NVIDIA H200 (varpu 0.1.0, torch 2.11):" in text
    assert "| [Table 2](#table-2) |" in text
    assert "| 2 of 30 | 1 | 0 | 0 | 1 |" in text  # 81.5 ± 0.0 against 82.0 ± 0.9 and 87.2 ± 0.5
    assert "82.0 ± 0.9 / 81.5 ± 0.0 (-0.5, agree)" in text
    assert "![Figure 2](page/figure2.svg)" in text
    assert figure == tmp_path / "docs" / "page" / "figure2.svg"
    assert [path.name for path in more] == ["figure5.svg"]


@pytest.mark.parametrize("name", ["table2", "figure3", "faults"])
def test_each_section_has_its_command(tmp_path, name):
    assert f"\nvarpu paper run {name}\n" in page_text(tmp_path)
