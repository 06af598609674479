"""The paper's splits, by the numbers of its Tables 5, 6 and 8."""

import os

import numpy as np
import pytest

from varpu.datasets import Dataset
from varpu.exceptions import PUInputError
from varpu.paper.tasks import Task, task

needs_data = pytest.mark.skipif(
    not os.environ.get("VARPU_DATA"), reason="VARPU_DATA names no folder of data sets"
)

# N, M, M_v and the size of the test set.
SIZES = {
    "page_blocks_1": (3284, 100, 16, 2189),
    "page_blocks_2": (3284, 100, 16, 2189),
    "grid_stability_1": (6000, 1000, 167, 4000),
    "grid_stability_2": (6000, 1000, 167, 4000),
    "avila_1": (10430, 2000, 192, 10437),
    "avila_2": (10430, 2000, 192, 10437),
    "fashion_mnist_1": (60000, 3000, 500, 10000),
}


@needs_data
@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_the_papers(name):
    n_train, n_labeled, n_validation, n_test = SIZES[name]
    problem = task(name).problem(0)
    split = problem.split
    assert (len(problem.train), len(problem.test)) == (n_train, n_test)
    assert (len(split.p), len(split.held_out_p)) == (n_labeled, n_validation)
    assert len(split.held_out_u) == round(n_train * n_validation / n_labeled)
    assert len(split.u) + len(split.held_out_u) == n_train
    assert problem.truth[split.labeled].all()


@needs_data
@pytest.mark.parametrize("name", SIZES)
def test_nothing_is_both_trained_on_and_judged_by(name):
    problem = task(name).problem(3)
    split = problem.split
    assert not np.intersect1d(split.u, split.held_out_u).size
    assert not np.intersect1d(problem.train, problem.test).size
    assert np.isin(split.p, split.u).all()
    assert np.isin(split.held_out_p, split.held_out_u).all()


@needs_data
@pytest.mark.parametrize(("name", "prior"), [("page_blocks_1", 0.104), ("grid_stability_2", 0.635)])
def test_true_priors_are_the_papers(name, prior):
    found = np.mean([task(name).problem(seed).true_prior for seed in range(10)])
    assert found == pytest.approx(prior, abs=0.006)
    assert task(name).prior == prior


@needs_data
def test_seeds_differ_and_repeat():
    first, again, other = (task("avila_1").problem(seed).split.p for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@needs_data
def test_selection_bias_is_as_named():
    problem = task("fashion_mnist_1-bias-5").problem(0)
    counts = [int((problem.data.y[problem.split.p] == k).sum()) for k in (1, 4, 7)]
    assert sum(counts) == 3000
    assert counts[1] == pytest.approx(counts[2], abs=1)
    assert counts[0] == pytest.approx(5 * counts[1], abs=5)


@needs_data
def test_a_leaky_split_holds_out_positives_that_are_trained_on():
    split = task("fashion_mnist_1-leaky").problem(0).split
    shared = np.isin(split.held_out_p, split.p).mean()
    assert 0.1 < shared < 0.24  # a sixth


@needs_data
def test_the_authors_file_lacks_a_row():
    assert len(task("page_blocks_1-authors").load().y) == 5472
    assert len(task("page_blocks_1").load().y) == 5473


@needs_data
def test_grid_has_the_label_in_a_column_only_if_asked():
    with_stab, without = (task(f"grid_stability_1{v}").load() for v in ("-stab", ""))
    assert with_stab.X.shape[1] == without.X.shape[1] + 1
    assert task("grid_stability_1-stab").title.endswith("with stab")


class UnlabelledTask(Task):
    """As STL-10: few rows have a class, and all of its positives are labelled."""

    def load(self):
        y = np.repeat([0, 1, 2, -1, 0, 1], [25, 25, 25, 1000, 50, 50])
        return Dataset("small", np.zeros((len(y), 1), np.float32), y, n_train=1075)


def test_rows_without_a_class_are_unlabelled():
    wanted = {"positive": (0, 1), "n_labeled": 45, "n_validation": 5}
    own = UnlabelledTask(**{**task("stl10_1").__dict__, **wanted})
    split = own.problem(0).split
    assert (len(split.p), len(split.held_out_p)) == (45, 5)
    np.testing.assert_array_equal(split.labeled, np.arange(50))
    assert len(split.held_out_u) == round(1075 * 5 / 50)
    assert len(split.u) + len(split.held_out_u) == 1075
    assert not np.intersect1d(split.u, split.held_out_u).size
    assert np.isin(split.p, split.u).all()


@pytest.mark.parametrize(
    "name",
    ["avila", "avila_3", "avila_1-stab", "page_blocks_1-bias-2", "fashion_mnist_1-bias-0", "x-y"],
)
def test_an_unknown_task_is_refused(name):
    with pytest.raises(PUInputError, match=f"no task '{name}'"):
        task(name)


def test_variants_know_their_base_and_scale_their_validation():
    few = task("fashion_mnist_1-labelled-500")
    assert (few.name, few.base, few.dataset) == (
        "fashion_mnist_1-labelled-500",
        "fashion_mnist_1",
        "fashion_mnist",
    )
    assert (few.n_labeled, few.n_validation) == (500, 83)
