"""TIcE: its bins, its bound by hand, and that it stays below the label frequency."""

import numpy as np
import pytest

from varpu.exceptions import PUInputError
from varpu.priors import TIcE
from varpu.priors.tice import best_bound, binned


def boxes(n, prior=0.4, frequency=0.5, seed=0, n_columns=4):
    """Positives fill the quarter of the first column below 1/4, negatives the rest."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < prior
    X = rng.random((n, n_columns))
    X[:, 0] = np.where(truth, X[:, 0] / 4, 0.25 + 0.75 * X[:, 0])
    X[:2, 0] = [0.0, 1.0]  # the ends, so that a quarter of the range is a quarter
    truth[:2] = [True, False]
    return X, truth, (truth & (rng.random(n) < frequency)).astype(int)


def test_bins():
    column = np.array([0.0, 0.1, 0.25, 0.5, 0.74, 1.0, np.nan])
    assert binned(column[:, None], "width")[:, 0].tolist() == [0, 0, 1, 2, 2, 3, 4]
    ranks = binned(np.exp(np.arange(8.0))[:, None], "quantile")[:, 0]
    assert ranks.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert (binned(np.full((5, 1), np.nan), "width") == 4).all()


def test_bound_by_hand():
    """One binary column: 60 labels of 100 rows in one half, none in the other."""
    codes = np.repeat([[0], [3]], [200, 200], axis=0)
    trained = np.arange(400) % 2 == 0
    positive = np.zeros(400, dtype=bool)
    positive[:200] = np.arange(200) % 10 < 6  # 60 of the 100 that are not trained on
    found = best_bound(codes, positive, trained, c=0.5, delta=0.2, max_splits=10)
    assert (found.n_rows, found.n_labelled) == (100, 60)
    assert found.value == pytest.approx(0.6 - np.sqrt(0.25 * 0.8 / 0.2 / 100))


def test_without_a_useful_split_the_share_of_labels_is_the_bound():
    codes = np.zeros((100, 2), dtype=np.int64)
    positive = np.arange(100) % 5 == 0
    found = best_bound(codes, positive, np.arange(100) < 20, c=0.5, delta=None, max_splits=10)
    assert found.value == pytest.approx(16 / 80)


@pytest.mark.parametrize("frequency", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("prior", [0.2, 0.6])
def test_bound_is_below_the_label_frequency_and_near_it(prior, frequency):
    for seed in range(5):
        X, truth, y = boxes(4000, prior, frequency, seed)
        found = TIcE(random_state=0).fit(X, y)
        labelled = y.sum() / truth.sum()
        assert labelled - 0.2 < found.label_frequency_ < labelled + 0.03
        assert found.prior_ == pytest.approx(min(1, y.mean() / found.label_frequency_))


def test_more_rows_bring_the_bound_nearer():
    few, many = (TIcE(random_state=0).fit(*boxes(n)[::2]) for n in (500, 20_000))
    assert few.label_frequency_ < many.label_frequency_
    assert many.prior_ == pytest.approx(0.4, abs=0.06)


def test_case_control():
    X, truth, _ = boxes(8000, prior=0.4)
    rng = np.random.default_rng(1)
    P = rng.random((2000, 4)) * [0.25, 1, 1, 1]
    found = TIcE(scenario="case-control", random_state=0)
    found.fit(np.vstack([X, P]), np.repeat([0, 1], [8000, 2000]))
    assert found.prior_ == pytest.approx(truth.mean(), abs=0.08)


def test_quantile_bins_do_not_mind_the_unit_of_a_column():
    X, _, y = boxes(2000)
    plain = TIcE(binning="quantile", random_state=0).fit(X, y)
    bent = X.copy()
    bent[:, 0] = np.exp(8 * X[:, 0])
    assert TIcE(binning="quantile", random_state=0).fit(bent, y).prior_ == plain.prior_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"delta": 0}, "delta must be"),
        ({"max_splits": 0}, "max_splits must be"),
        ({"n_folds": 1}, "n_folds must be"),
        ({"binning": "tree"}, "binning must be one of"),
    ],
)
def test_bad_parameters(settings, message):
    X, _, y = boxes(50)
    with pytest.raises(PUInputError, match=message):
        TIcE(**settings).fit(X, y)
