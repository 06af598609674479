"""The comparison of methods says what the paper says, and what the classifiers say."""

import subprocess
import sys

import pytest

import varpu
from varpu.methods import comparison

# Table 1 of the paper: training without the class prior or its estimate; consistency or optimality
# without the assumption of separable data.
PAPER = {
    "VPUClassifier": (True, True),
    "UPUClassifier": (False, True),
    "NNPUClassifier": (False, True),
    "GenPUClassifier": (False, False),
    "RankPruningClassifier": (True, False),
    "RocchioSVMClassifier": (True, False),
    "PULDClassifier": (False, True),
}


@pytest.fixture(scope="module")
def table():
    return comparison().set_index("classifier")


def test_it_is_the_papers_table(table):
    columns = ["without_prior", "without_separability"]
    found = {name: tuple(table.loc[name, columns].tolist()) for name in PAPER}
    assert found == PAPER


def test_the_same_loss_has_the_same_properties(table):
    for name in ("VPUBoostingClassifier", "PUClassifier"):
        assert table.loc[name, "without_prior"]
        assert table.loc[name, "without_separability"]


def test_elkan_noto_needs_no_prior_but_separable_classes(table):
    assert table.loc["ElkanNotoClassifier", "without_prior"]
    assert not table.loc["ElkanNotoClassifier", "without_separability"]


def test_no_classifier_is_forgotten(table):
    public = [name for name in varpu.__all__ if name.endswith("Classifier")]
    assert list(table.index) == [n for n in public if hasattr(getattr(varpu, n), "pu_tags")]
    # The one that is no PU method.
    assert set(public) - set(table.index) == {"NetworkClassifier"}


def test_lines_are_what_the_classifiers_say(table):
    for name, line in table.iterrows():
        tags = getattr(varpu, name).pu_tags
        assert line["without_prior"] == (not tags.needs_prior)
        assert line["without_separability"] == (not tags.needs_separability)
        for column in ("method", "learner", "images", "cost", "reference", "reconstruction"):
            assert line[column] == getattr(tags, column)


def test_what_was_rebuilt_from_a_description_is_said(table):
    rebuilt = {"GenPUClassifier", "RocchioSVMClassifier", "PULDClassifier"}
    assert set(table.index[table["reconstruction"]]) == rebuilt


def test_it_says_images_of_those_that_take_them(table):
    takes_images = [getattr(varpu, name)._accepts_images for name in table.index]
    assert table["images"].tolist() == takes_images


def test_nothing_is_left_blank(table):
    words = table.select_dtypes(exclude=bool)
    assert (words.map(lambda word: len(word.strip())) > 0).all(axis=None)
    assert table["method"].is_unique


def test_importing_it_imports_no_learner():
    code = "import sys, varpu.methods; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "lightgbm", "sklearn"} & set(done.stdout.split())
