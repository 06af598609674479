"""Area under the ROC curve and average precision against their supervised counterparts."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from varpu.exceptions import PUInputError
from varpu.metrics import pu_average_precision, pu_roc_auc


@pytest.mark.parametrize("n_labelled", [1, 2, 5])
def test_corrected_auc_is_unbiased_over_all_labellings(population, n_labelled):
    values = [
        pu_roc_auc(y, population.score, population.prior)
        for y in population.all_labellings(n_labelled)
    ]
    assert np.mean(values) == pytest.approx(roc_auc_score(population.truth, population.score))


def test_ranking_in_an_exact_case_control_sample(population):
    truth, score, prior = population.truth, population.score, population.prior
    y, score_pu = population.case_control(score)
    auc = pu_roc_auc(y, score_pu, prior, scenario="case-control")
    assert auc == pytest.approx(roc_auc_score(truth, score))
    precision = pu_average_precision(y, score_pu, prior, scenario="case-control")
    assert precision == pytest.approx(average_precision_score(truth, score))


def test_average_precision_is_exact_where_every_positive_is_labelled(population):
    truth, score = population.truth, population.score
    precision = pu_average_precision(truth, score, population.prior)
    assert precision == pytest.approx(average_precision_score(truth, score))


def test_raw_auc_counts_wins_over_the_marginal():
    y, score = [1, 0, 1, 0], [3.0, 1.0, 2.0, 2.0]
    # 3 beats all but itself; 2 beats one, and ties with itself and one more.
    assert pu_roc_auc(y, score) == pytest.approx((3.5 + 2) / 8)
    assert pu_roc_auc(y, score, scenario="case-control") == pytest.approx((2 + 1.5) / 4)
    assert pu_roc_auc(y, score, scenario="case-control") == roc_auc_score(y, score)


def test_ranking_on_a_large_sample(big, draw_labels):
    prior, x, truth, _ = big
    y = draw_labels(truth, 0.2, seed=1)
    assert pu_roc_auc(y, x, prior) == pytest.approx(roc_auc_score(truth, x), abs=0.01)
    assert pu_roc_auc(y, x) == pytest.approx(prior / 2 + 0.7 * roc_auc_score(truth, x), abs=0.01)
    supervised = average_precision_score(truth, x)
    assert pu_average_precision(y, x, prior) == pytest.approx(supervised, abs=0.02)


def test_ranking_on_a_large_case_control_sample(big):
    prior, x, truth, _ = big
    score = np.concatenate([np.random.default_rng(1).normal(1.5, size=3000), x])
    y = np.repeat([1, 0], [3000, len(x)])
    auc = pu_roc_auc(y, score, prior, scenario="case-control")
    assert auc == pytest.approx(roc_auc_score(truth, x), abs=0.01)
    precision = pu_average_precision(y, score, prior, scenario="case-control")
    assert precision == pytest.approx(average_precision_score(truth, x), abs=0.02)


def test_average_precision_with_few_labels_is_near_on_average(big, draw_labels):
    prior, x, truth, _ = big
    x, truth = x[:2000], truth[:2000]
    values = [pu_average_precision(draw_labels(truth, 0.1, s), x, prior) for s in range(100)]
    assert np.mean(values) == pytest.approx(average_precision_score(truth, x), abs=0.03)


@pytest.mark.parametrize("metric", [pu_roc_auc, pu_average_precision])
def test_only_ranks_matter(big, draw_labels, metric):
    prior, x, truth, posterior = big
    y = draw_labels(truth, 0.2, seed=1)
    assert metric(y, x, prior) == pytest.approx(metric(y, posterior, prior))


def test_average_precision_stays_within_bounds():
    y, score = np.repeat([1, 0], [5, 5]), np.arange(10.0)[::-1]
    assert pu_average_precision(y, score, 1.0) == 1
    assert pu_average_precision(y, score, 0.5) == pytest.approx(1)
    assert pu_average_precision(y, score, 0.5, scenario="case-control") <= 1
    assert 0 < pu_average_precision(y, -score, 1e-3) < 0.01


@pytest.mark.parametrize("metric", [pu_roc_auc, pu_average_precision])
@pytest.mark.parametrize(
    ("y", "score", "prior", "message"),
    [
        ([1, 1, 1], [0.1, 0.2, 0.3], 0.5, "two values"),
        ([1, 0, 0], [0.1, np.nan, 0.3], 0.5, "1 of 3 are not"),
        ([1, 0, 0], [0.1, 0.3], 0.5, "3 labels but 2 scores"),
        ([1, 0, 0], [0.1, 0.2, 0.3], 0, "prior must be"),
        ([1, 0, 0], [0.1, 0.2, 0.3], 1.01, "prior must be"),
    ],
)
def test_bad_input(metric, y, score, prior, message):
    with pytest.raises(PUInputError, match=message):
        metric(y, score, prior)


def test_no_negatives_no_corrected_auc():
    with pytest.raises(PUInputError, match="below 1; got 1"):
        pu_roc_auc([1, 0], [0.1, 0.2], 1)
