"""Scales and priors against closed forms and known mixtures."""

import warnings

import numpy as np
import pytest

from varpu import scale
from varpu.exceptions import PUInputError, ScaleWarning


def test_log_mean_exp():
    values = np.array([0.1, 0.2, 0.6])
    assert scale.log_mean_exp(np.log(values)) == pytest.approx(np.log(0.3))
    assert scale.log_mean_exp(np.full(5, -1e5)) == pytest.approx(-1e5)


def test_max_and_quantile():
    phi = np.array([0.1, 0.4, 0.8])
    assert scale.max_scale(np.log(phi)) == pytest.approx(0.8)
    many = np.linspace(0.01, 1, 100)
    assert scale.quantile_scale(np.log(many)) == pytest.approx(0.95, abs=0.01)


def test_a_scale_is_a_prior_and_a_prior_is_a_scale():
    phi = np.array([0.05, 0.1, 0.15, 0.1])
    found = scale.prior_scale(scale.log_mean_exp(np.log(phi)), prior=0.4)
    assert found == pytest.approx(0.1 / 0.4)
    assert scale.mean_probability(np.log(phi), found) == pytest.approx(0.4)  # none is clipped


@pytest.mark.parametrize("prior", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_bbe_on_separable_mixtures(prior):
    rng = np.random.default_rng(0)
    n = 20_000
    scores_p = rng.normal(3, 1, 5000)
    scores_u = np.where(rng.random(n) < prior, rng.normal(3, 1, n), rng.normal(-3, 1, n))
    assert scale.estimate_prior(scores_p, scores_u) == pytest.approx(prior, abs=0.03)


def test_bbe_sees_ranks_only():
    rng = np.random.default_rng(1)
    scores_p, scores_u = rng.normal(1, 1, 300), rng.normal(0, 1, 1000)
    plain = scale.estimate_prior(scores_p, scores_u)
    assert scale.estimate_prior(np.exp(scores_p), np.exp(scores_u)) == plain


def test_bbe_against_a_slow_search_over_every_threshold():
    rng = np.random.default_rng(2)
    scores_p, scores_u = rng.normal(2, 1, 80), rng.normal(0, 2, 200)
    noise = np.sqrt(np.log(40) / 160) + np.sqrt(np.log(40) / 400)
    best = (np.inf, None)
    for t in np.concatenate([scores_p, scores_u]):
        q_p, q_u = (scores_p >= t).mean(), (scores_u >= t).mean()
        if q_p > 0:
            best = min(best, (q_u / q_p + 1.01 / q_p * noise, q_u / q_p))
    assert scale.estimate_prior(scores_p, scores_u) == pytest.approx(best[1])


def test_bbe_is_at_most_one_where_nothing_tells_p_from_u():
    tied = np.zeros(100)
    assert scale.estimate_prior(tied, tied) == 1.0


@pytest.mark.parametrize("prior", [0.2, 0.6])
def test_the_interval_holds_the_prior(prior):
    rng = np.random.default_rng(3)
    scores_p = rng.normal(3, 1, 400)
    scores_u = np.where(rng.random(3000) < prior, rng.normal(3, 1, 3000), rng.normal(-3, 1, 3000))
    low, high = scale.prior_interval(scores_p, scores_u)
    assert low <= scale.estimate_prior(scores_p, scores_u) <= high
    assert low - 0.02 <= prior <= high + 0.02
    assert high - low < 0.15


def test_weights_are_copies():
    rng = np.random.default_rng(4)
    scores_p, scores_u = rng.normal(1, 1, 60), rng.normal(0, 1, 200)
    weight_p, weight_u = rng.integers(1, 4, 60), rng.integers(1, 4, 200)
    weighted = scale.estimate_prior(scores_p, scores_u, weight_p * 1.0, weight_u * 1.0)
    copied = scale.estimate_prior(np.repeat(scores_p, weight_p), np.repeat(scores_u, weight_u))
    assert weighted == pytest.approx(copied)


def test_the_interval_of_weights_is_that_of_copies():
    """Whole weights are drawn by row number, others by their shares: in the long run the same."""
    rng = np.random.default_rng(4)
    scores_p, scores_u = rng.normal(2, 1, 60), rng.normal(0, 2, 200)
    weight_p, weight_u = rng.integers(1, 4, 60), rng.integers(1, 4, 200)
    copies = np.repeat(scores_p, weight_p), np.repeat(scores_u, weight_u)
    expected = scale.prior_interval(*copies, n_samples=2000)
    whole = weight_p * 1.0, weight_u * 1.0
    nearly = whole[0] * (1 + 1e-9), whole[1] * (1 + 1e-9)
    for weights in (whole, nearly):
        found = scale.prior_interval(scores_p, scores_u, *weights, n_samples=2000)
        np.testing.assert_allclose(found, expected, atol=0.02)


def test_a_well_supported_reading_has_no_warning():
    rng = np.random.default_rng(5)
    truth = rng.random(4000) < 0.3
    log_ratio = np.where(truth, np.log(1 / 0.3), -6.0) + rng.normal(0, 0.01, 4000)
    labelled = truth & (rng.random(4000) < 0.3)
    weight = np.ones(4000)
    reading = scale.read_prior(log_ratio[labelled], log_ratio, weight[labelled], weight)
    assert reading.prior == pytest.approx(0.3, abs=0.03)
    assert reading.interval[0] <= reading.prior <= reading.interval[1]


def read(log_ratio_p, log_ratio_u):
    return scale.read_prior(
        log_ratio_p, log_ratio_u, np.ones(len(log_ratio_p)), np.ones(len(log_ratio_u))
    )


def bound(log_ratio_p):
    return 1 / np.exp(log_ratio_p).mean()


def test_few_positives_are_warned_about_and_nothing_else_changes():
    rng = np.random.default_rng(0)
    scores_p, scores_u = rng.normal(1, 0.1, 10), rng.normal(0, 1, 500)
    with pytest.warns(ScaleWarning, match="rests on 10 labelled positives") as caught:
        reading = read(scores_p, scores_u)
    assert reading.prior == scale.estimate_prior(scores_p, scores_u)
    assert reading.interval == scale.prior_interval(scores_p, scores_u)
    assert caught[0].filename == __file__  # it points at the user's line, not into the package


def test_tied_scores_give_the_upper_bound():
    """A saturated network: six positives in ten have its largest score, and a third of all."""
    rng = np.random.default_rng(1)
    scores_p = np.where(np.arange(100) < 60, 1.0, rng.normal(-1, 1, 100))
    scores_u = np.where(np.arange(900) < 300, 1.0, rng.normal(-2, 1, 900))
    with pytest.warns(ScaleWarning, match="one and the same score; so it is the upper bound"):
        reading = read(scores_p, scores_u)
    assert reading.prior == pytest.approx(bound(scores_p))
    assert reading.interval[0] <= reading.prior <= reading.interval[1]
    assert reading.prior != pytest.approx(scale.estimate_prior(scores_p, scores_u), abs=0.01)


@pytest.mark.parametrize("edge", ["none", "all"])
def test_an_estimate_at_the_edge_gives_the_upper_bound(edge):
    rng = np.random.default_rng(2)
    scores_p = rng.normal(0.5, 0.1, 200)
    # All positives above all of the marginal, or no positive above any of it.
    scores_u = rng.normal(-9 if edge == "none" else 9, 0.1, 1000)
    with pytest.warns(
        ScaleWarning, match=f"estimation: {edge == 'all':.3f}\\); so it is the upper"
    ):
        reading = read(scores_p, scores_u)
    assert reading.prior == pytest.approx(bound(scores_p))
    assert reading.interval[0] < reading.prior < reading.interval[1]


def test_the_upper_bound_is_itself_between_a_row_and_all_of_them():
    tied = np.full(50, 800.0)
    with pytest.warns(ScaleWarning):
        assert read(tied, np.zeros(200)).prior == 1 / 200
    with pytest.warns(ScaleWarning):
        assert read(-tied, np.zeros(200)).prior == 1.0


def test_an_estimate_above_what_the_scores_allow_is_warned_about():
    rng = np.random.default_rng(3)
    scores_p, scores_u = rng.normal(2, 1, 400), rng.normal(1.5, 1, 4000)
    with pytest.warns(ScaleWarning, match="allow at most 0.0"):
        assert read(scores_p, scores_u).prior == scale.estimate_prior(scores_p, scores_u)


def read_quietly(scores_p, scores_u):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ScaleWarning)
        return read(scores_p, scores_u)


def nearly_all_positive(n_labelled, n=2000, prior=0.9, seed=0):
    """True log-ratios: most rows are positive, and few of these are labelled."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < prior
    x = rng.normal(size=n) + 3.0 * truth
    odds = np.exp(3.0 * x - 4.5)
    log_ratio = np.log(odds / (prior * odds + 1 - prior))
    return log_ratio[np.flatnonzero(truth)[:n_labelled]], log_ratio


def true_bound(scores_p, scores_u):
    return scale._calibrated_bound(
        scores_p, scores_u, np.ones(len(scores_p)), np.ones(len(scores_u))
    )


def test_shrunken_scores_do_not_raise_the_bound_that_it_is_drawn_to():
    scores_p, scores_u = nearly_all_positive(4000, n=20_000)
    assert bound(0.3 * scores_p) > bound(scores_p) + 0.02
    for factor in (0.3, 1.0, 2.0):
        found = true_bound(factor * scores_p, factor * scores_u)
        assert found == pytest.approx(bound(scores_p), abs=0.005)


def test_where_nearly_all_is_positive_it_is_drawn_to_the_bound():
    """The best bin flatters itself; its interval is wide, and the bound is hardly noisy."""
    for seed in range(4):
        scores_p, scores_u = nearly_all_positive(40, seed=seed)
        plain, high = scale.estimate_prior(scores_p, scores_u), true_bound(scores_p, scores_u)
        reading = read_quietly(scores_p, scores_u)
        assert plain < reading.prior <= high + 1e-12
        assert abs(reading.prior - 0.9) < abs(plain - 0.9)
        assert reading.interval[0] <= reading.prior <= reading.interval[1]


def test_a_narrow_interval_or_a_low_bound_leaves_it_as_it_is():
    scores_p, scores_u = nearly_all_positive(4000, n=20_000)
    low, high = scale.prior_interval(scores_p, scores_u)
    assert high - low < 0.05
    assert bound(scores_p) > 0.9
    assert read(scores_p, scores_u).prior == scale.estimate_prior(scores_p, scores_u)
    scores_p, scores_u = nearly_all_positive(60, prior=0.4)
    low, high = scale.prior_interval(scores_p, scores_u)
    assert high - low > 0.1
    assert bound(scores_p) < 0.5
    assert read(scores_p, scores_u).prior == scale.estimate_prior(scores_p, scores_u)


def test_half_an_interval_and_half_a_bound_draw_it_half_as_far():
    assert scale._trust_in_bound(0.9, 0.15) == pytest.approx(1)
    assert scale._trust_in_bound(0.9, 0.1) == pytest.approx(0.5)
    assert scale._trust_in_bound(0.8, 0.15) == pytest.approx(0.5)
    assert scale._trust_in_bound(1.0, 0.05) == scale._trust_in_bound(0.75, 1.0) == 0


def test_nothing_to_read_from():
    some = np.zeros(3)
    for scores_p, scores_u in ((np.empty(0), some), (some, np.empty(0))):
        with pytest.raises(PUInputError, match="give prior=, or hold rows out"):
            read(scores_p, scores_u)
