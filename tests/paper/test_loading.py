"""The declared experiments: all can be read, and what is wrong in one is said."""

import pytest

from varpu.exceptions import PUInputError
from varpu.paper import Cell, experiment, names
from varpu.paper.loading import read, register_experiments
from varpu.paper.registry import find_method, find_task
from varpu.paper.specs import PaperValue

PAPER = (
    *("table1", "table2", "table3", "table4", "figure2", "figure3", "table9", "table10"),
    *("figure4", "table11", "figure5", "table12", "table13", "table14", "extension", "faults"),
    *("priors_tables", "priors_images"),
)
GOOD = """
title = "T"
caption = "C"
kind = "lines"
columns = [{ task = "a_1", label = "A", x = 1 }, { task = "b_1", label = "B", x = 2 }]
[[rows]]
method = "m"
label = "M"
paper.a_1 = "1.5 ± 0.25"
"""


def test_all_are_there_in_the_order_of_the_paper():
    assert tuple(names()) == PAPER


@pytest.mark.parametrize("name", PAPER)
def test_every_file_can_be_read(name):
    found = experiment(name)
    assert found.name == name
    assert found.title
    assert found.caption
    untrained = found.kind in ("properties", "weights")
    assert bool(found.cells()) is not untrained
    assert len(set(found.cells())) == len(found.cells())


def cells_of(name):
    return {
        (row.key, column): value.text
        for row in experiment(name).rows
        for column, value in row.paper.items()
    }


def sums(name):
    """Sums of the paper's means and deviations, to be checked by hand."""
    rows = [row for row in experiment(name).rows if row.lam == "chosen"]
    values = [value for row in rows for value in row.paper.values()]
    return (
        len(values),
        round(sum(value.mean for value in values), 3),
        round(sum(value.std or 0 for value in values), 3),
    )


# Added up from the printed tables, row by row.
@pytest.mark.parametrize(
    ("name", "count", "total", "spread"),
    [
        ("table2", 30, 538.4 + 504.9 + 516.7 + 458.8 + 375.56, 3.3 + 12.1 + 9.3 + 4.7 + 4.6),
        ("table3", 30, 525.2 + 512.9 + 466.3 + 399.5 + 468.9, 3.4 + 7.0 + 12.6 + 5.6 + 16.7),
        ("table4", 5, 448.9, 4.7),
        ("table10", 30, 900.2 + 883.2 + 835.9, 5.1 + 10.6 + 13.1),
        ("table11", 10, 1.846, 0),
        ("table12", 36, 538.4 + 525.2 + 540.9 + 518.9 + 504.9 + 512.9, 6.7 + 7.0 + 19.1),
        ("table13", 30, 5.778 + 5.561 + 5.459 + 4.724 + 5.511, 0.016 + 0.025 + 0.048 + 0.108),
        ("table14", 10, 459.0 + 452.6, 2.3 + 3.1),
        ("table9", 40, 0.091 + 10 + 5600 + 1556, 0),
    ],
)
def test_the_papers_values_add_up(name, count, total, spread):
    assert sums(name) == (count, pytest.approx(total), pytest.approx(spread))


@pytest.mark.parametrize("name", ["table2", "table3", "table13"])
def test_the_printed_lambda_stands_beside_the_papers_values(name):
    rows = {row.name: row for row in experiment(name).rows}
    assert rows["vpu (printed λ)"].paper == rows["vpu"].paper


def test_shared_rows_have_the_same_values():
    uci, images = cells_of("table2"), cells_of("table3")
    for name in ("table10", "table12", "table14"):
        found = cells_of(name)
        for (method, task), value in found.items():
            printed = {**uci, **images}.get((method, task))
            assert printed in (None, value), (name, method, task)


def test_values_as_printed():
    assert cells_of("table2")["rank_pruning", "page_blocks_2"] == "9.96 ± 0.7"
    assert cells_of("table2")["vpu", "grid_stability_1-stab"] == "92.6 ± 0.3"
    assert ("vpu", "grid_stability_1") not in cells_of("table2")
    assert cells_of("table13")["vpu", "stl10_2"] == "0.963 ± 0.003"
    assert cells_of("table11")["km2", "fashion_mnist_1-bias-10"] == "0.144"
    assert cells_of("table1")["UPUClassifier", "without_prior"] == "no"


def test_cells_are_shared_between_experiments():
    assert Cell("avila_1", "vpu") in experiment("table2").cells()
    assert Cell("avila_1", "vpu") in experiment("table10").cells()
    assert Cell("grid_stability_1-stab", "vpu") in experiment("faults").cells()


@pytest.mark.parametrize("name", PAPER)
def test_every_task_and_method_is_known(name):
    for cell in experiment(name).cells():
        assert find_task(cell.task).name == cell.task
        assert find_method(cell.method).name == cell.method


def test_values_are_parsed():
    assert PaperValue.parse("93.6 ± 0.4") == PaperValue("93.6 ± 0.4", 93.6, 0.4)
    assert PaperValue.parse("0.267") == PaperValue("0.267", 0.267, None)
    assert PaperValue.parse(True).text == "yes"
    assert PaperValue.parse(0.01).text == "0.01"
    for wrong in ("93.6 +- 0.4", "93,6", "", "93.6 ± "):
        with pytest.raises(PUInputError, match="a value of the paper"):
            PaperValue.parse(wrong)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('kind = "lines"', 'kind = "pie"', "kind is one of table, lines"),
        ('kind = "lines"', 'kind = "lines', "Illegal character"),
        ('title = "T"', "", "lacks something.*title"),
        ('title = "T"', 'titel = "T"', "no place for titel"),
        ('task = "b_1"', 'task = "a_1"', "none of them twice"),
        (", x = 2", "", "has an x"),
        ('task = "b_1", ', "", "each column names its task"),
        ("paper.a_1", "paper.c_1", "values for no column.*c_1"),
        ("1.5 ± 0.25", "1.5 +/- 0.25", "a value of the paper"),
        ('method = "m"', 'metod = "m"', "each row names its method"),
        ('title = "T"', 'title = "T"\nseeds = 0', "seeds is 1 or more"),
        (
            'method = "m"',
            'method = "m"\nlam = "best"',
            "one of chosen, blended, one error, printed; got",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path, before, after, said):
    assert GOOD.count(before) == 1
    file = tmp_path / "mine.toml"
    file.write_text(GOOD, encoding="utf-8")
    assert read("mine", file).columns[1].x == 2
    file.write_text(GOOD.replace(before, after), encoding="utf-8")
    with pytest.raises(PUInputError, match=f"(?s)mine.toml.*{said}"):
        read("mine", file)


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(PUInputError, match="no experiment 'tabel2'; did you mean table2"):
        experiment("tabel2")


def test_a_folder_of_experiments(plugin):
    assert names()[-2:] == ["mixed", "small"]
    assert experiment("small").title == "Small"
    with pytest.raises(PUInputError, match="wants a folder"):
        register_experiments("no_such_folder")
