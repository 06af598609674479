"""Accuracy and the Lee-Liu score against their supervised counterparts."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, precision_score, recall_score

from varpu.exceptions import PUInputError
from varpu.metrics import lee_liu_score, pu_accuracy


@pytest.mark.parametrize("n_labelled", [1, 2, 5])
@pytest.mark.parametrize("threshold", [0.0, 0.35, 0.75, 1.0])
def test_accuracy_is_unbiased_over_all_labellings(population, n_labelled, threshold):
    pred = (population.score > threshold).astype(int)
    mean = np.mean(
        [pu_accuracy(y, pred, population.prior) for y in population.all_labellings(n_labelled)]
    )
    assert mean == pytest.approx(accuracy_score(population.truth, pred))


@pytest.mark.parametrize("threshold", [0.0, 0.35, 0.75, 1.0])
def test_accuracy_in_an_exact_case_control_sample(population, threshold):
    pred = (population.score > threshold).astype(int)
    y, pred_pu = population.case_control(pred)
    accuracy = pu_accuracy(y, pred_pu, population.prior, scenario="case-control")
    assert accuracy == pytest.approx(accuracy_score(population.truth, pred))


@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
def test_accuracy_of_one_answer_for_all(scenario):
    # The peers' one-sample proxy, which counts found instead of missed positives, fails this.
    y = np.repeat([1, 0], [20, 80])
    assert pu_accuracy(y, np.ones(100), 0.4, scenario=scenario) == pytest.approx(0.4)
    assert pu_accuracy(y, np.zeros(100), 0.4, scenario=scenario) == pytest.approx(0.6)


def test_accuracy_and_lee_liu_on_a_large_sample(big, draw_labels):
    prior, x, truth, _ = big
    y, pred = draw_labels(truth, 0.3, seed=1), (x > 1).astype(int)
    assert pu_accuracy(y, pred, prior) == pytest.approx(accuracy_score(truth, pred), abs=0.01)
    supervised = precision_score(truth, pred) * recall_score(truth, pred) / prior
    assert lee_liu_score(y, pred) == pytest.approx(supervised, rel=0.03)


@pytest.mark.parametrize("threshold", [0.0, 0.35])
def test_lee_liu_is_precision_times_recall_over_the_prior(population, threshold):
    truth, prior, pred = population.truth, population.prior, population.score > threshold
    supervised = precision_score(truth, pred) * recall_score(truth, pred) / prior
    assert lee_liu_score(truth, pred.astype(int)) == pytest.approx(supervised)
    y, pred_pu = population.case_control(pred.astype(int))
    assert lee_liu_score(y, pred_pu, scenario="case-control") == pytest.approx(supervised)


def test_lee_liu_at_its_ends():
    y = np.array(["z", "z", "a", "a", "a"])  # the larger string marks positives
    assert lee_liu_score(y, np.full(5, "z")) == 1
    assert lee_liu_score(y, np.full(5, "a")) == 0
    assert lee_liu_score(y, y) == pytest.approx(5 / 2)
    # Only labelled rows are found: one unlabelled row is the least share that can be told.
    assert lee_liu_score(y, y, scenario="case-control") == pytest.approx(3)


@pytest.mark.parametrize(
    ("pred", "prior", "message"),
    [
        ([1, 1, 0, 0], 0.0, "prior must be a finite number above 0 and at most 1; got 0.0"),
        ([1, 1, 0, 0], 1.2, "prior"),
        ([1, 1, 0, 0], np.nan, "prior"),
        ([1, 1, 0, 0], "half", "prior"),
        ([1, 1, 0, 0], True, "prior"),
        ([1, 1, 0], 0.5, "4 labels but 3 scores"),
        ([1, -1, 0, 0], 0.5, r"classes of the labels, \[0, 1\]; got \[-1\]"),
        ([0.2, 0.9, 0, 1], 0.5, "classes of the labels"),
        ([[1, 0]] * 4, 0.5, "one class a row"),
    ],
)
def test_bad_input(pred, prior, message):
    with pytest.raises(PUInputError, match=message):
        pu_accuracy([1, 0, 0, 1], pred, prior)
