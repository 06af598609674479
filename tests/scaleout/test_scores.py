"""RunningScores: what comes block by block is what it is in memory."""

import numpy as np
import pytest
from scipy.special import log_expit

from varpu.crossfit import pooled_loss
from varpu.exceptions import PUInputError
from varpu.scale import (
    estimate_prior,
    log_mean_exp,
    max_scale,
    quantile_scale,
    read_prior,
)
from varpu.scaleout.scores import RunningScores, _keys, _values


def sample(kind, n=60_000, seed=0):
    """Scores and weights: log Phi of a good model, saturated ones, and log-ratios."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.35
    raw = np.where(truth, 4.0, -2.0) + 1.5 * rng.normal(size=n)
    scores = {
        "phi": log_expit(raw),
        "saturated": log_expit(4 * raw),
        "ratio": log_expit(raw) - log_mean_exp(log_expit(raw)),
    }[kind]
    weight_p = (truth & (rng.random(n) < 0.3)).astype(float)
    return scores, weight_p, np.ones(n)


def counted(scores, weight_p, weight_u, cuts):
    running = RunningScores()
    for rows in np.split(np.arange(len(scores)), cuts):
        running.add(scores[rows], weight_p[rows], weight_u[rows])
    return running


@pytest.mark.parametrize("kind", ["phi", "saturated", "ratio"])
@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
def test_values_are_those_in_memory(kind, scenario):
    scores, weight_p, weight_u = sample(kind)
    if scenario == "case-control":
        weight_u = 1 - weight_p
    p, u = scores[weight_p > 0], scores[weight_u > 0]
    running = counted(scores, weight_p, weight_u, range(777, len(scores), 777))
    assert running.loss() == pytest.approx(pooled_loss(scores, weight_p, weight_u), abs=1e-9)
    assert running.log_mean() == pytest.approx(log_mean_exp(u), abs=1e-9)
    assert running.max_scale() == max_scale(scores)
    assert running.quantile_scale() == pytest.approx(quantile_scale(p), rel=1e-3)
    assert running.prior() == pytest.approx(estimate_prior(p, u), abs=1e-3)
    assert (running.n_p, running.n_u) == (weight_p.sum(), weight_u.sum())


def test_reading_of_the_prior_is_that_in_memory():
    scores, weight_p, weight_u = sample("phi")
    p = weight_p > 0
    wanted = read_prior(
        *(scores[rows] - log_mean_exp(scores) for rows in (p, slice(None))), weight_p[p], weight_u
    )
    found = counted(scores, weight_p, weight_u, [5000]).read_prior()
    assert found.prior == pytest.approx(wanted.prior, abs=1e-3)
    # The bootstrap draws bins rather than rows, so it is another draw.
    assert found.interval == pytest.approx(wanted.interval, abs=0.01)


def test_blocks_and_order_of_merging_do_not_matter():
    scores, weight_p, weight_u = sample("saturated", 10_000)
    weight_u = np.random.default_rng(1).integers(0, 4, len(scores)).astype(float)
    whole = counted(scores, weight_p, weight_u, [])
    cuts = [1, 2, 500, 7000, 7000, 9999]  # one block is empty
    parts = [
        counted(scores[rows], weight_p[rows], weight_u[rows], [])
        for rows in np.split(np.arange(len(scores)), cuts)
    ]
    forth, back = RunningScores(), RunningScores()
    for part in parts:
        forth.merge(part)
    for part in reversed(parts):
        back.merge(RunningScores.from_arrays(part.to_arrays()))
    for other in (forth, back, counted(scores, weight_p, weight_u, cuts)):
        for mine, wanted in zip(other.histogram(), whole.histogram(), strict=True):
            np.testing.assert_array_equal(mine, wanted)
        assert other.loss() == pytest.approx(whole.loss(), abs=1e-12)
        assert other.prior() == whole.prior()
        assert other.max_scale() == whole.max_scale()
        assert other.quantile_scale() == whole.quantile_scale()


def test_the_mean_of_losses_of_blocks_is_another_number():
    """Which is why there is this class: with uneven blocks the naive mean is far off."""
    scores, weight_p, weight_u = sample("phi", 9000)
    order = np.argsort(scores)
    scores, weight_p = scores[order], weight_p[order]
    naive = np.mean(
        [
            pooled_loss(scores[rows], weight_p[rows], weight_u[rows])
            for rows in np.split(np.arange(9000), [5000, 7000])
        ]
    )
    assert abs(naive - counted(scores, weight_p, weight_u, [5000, 7000]).loss()) > 0.1


def test_memory_is_bounded_by_the_range_of_scores():
    """Each doubling of the score has 2^13 bins, however many rows there are."""
    rng = np.random.default_rng(0)
    running, smallest, largest = RunningScores(), np.inf, 0.0
    for _ in range(40):
        scores = log_expit(3 * rng.normal(size=50_000))
        running.add(scores, np.ones(50_000), np.ones(50_000))
        smallest, largest = min(smallest, -scores.max()), max(largest, -scores.min())
    octaves = np.floor(np.log2(largest)) - np.floor(np.log2(smallest)) + 1
    assert len(running.to_arrays()["keys"]) <= octaves * 2**13
    assert running.n_u == 2_000_000


def test_bins_are_ordered_and_narrow():
    rng = np.random.default_rng(0)
    values = np.sort(np.concatenate([rng.normal(size=1000) * 10.0**p for p in range(-8, 5)]))
    keys = _keys(values)
    assert (np.diff(keys.astype(np.int64)) >= 0).all()
    np.testing.assert_allclose(_values(keys), values, rtol=1.3e-4)
    np.testing.assert_array_equal(_keys(_values(keys)), keys)


def test_extreme_scores():
    running = RunningScores()
    running.add(np.array([-np.inf, -1e5, 800.0]), np.array([0.0, 0, 1]), np.array([1.0, 1, 1]))
    running.add(np.array([-np.inf]), np.array([0.0]), np.array([1.0]))
    assert running.loss() == pytest.approx(-np.log(4))
    running.add(np.array([900.0, np.nan]), np.array([1.0, 0]), np.array([1.0, 0]))
    assert running.log_mean() == pytest.approx(900 - np.log(5))


def test_bad_scores():
    running = RunningScores()
    with pytest.raises(PUInputError, match="0 and 0 have been counted"):
        running.loss()
    running.add(np.zeros(3), np.zeros(3), np.ones(3))
    with pytest.raises(PUInputError, match="0 and 3 have been counted"):
        running.prior()
    with pytest.raises(PUInputError, match="NaN or infinite"):
        running.add(np.array([np.nan]), np.ones(1), np.ones(1))
