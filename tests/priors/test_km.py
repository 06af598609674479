"""KM1 and KM2: known mixtures, which is which, invariances, and selection bias."""

import gzip

import numpy as np
import pytest

from varpu.exceptions import PUInputError, ScaleWarning
from varpu.priors import KM1, KM2
from varpu.priors.km_curve import Curve

QUICK = {"n_bootstrap": 2, "random_state": 0}


@pytest.mark.parametrize("prior", [0.1, 0.4, 0.75])
@pytest.mark.parametrize(("distance", "tolerance"), [(4.0, 0.05), (2.5, 0.08)])
def test_known_mixtures(samples, prior, distance, tolerance):
    X, y = samples(800, 500, prior, distance)
    found = KM2(scenario="case-control", **QUICK).fit(X, y)
    assert found.prior_ == pytest.approx(prior, abs=tolerance)


def test_single_set_counts_the_labelled_rows(gaussians):
    X, truth, y = gaussians(1500, prior=0.5, distance=4.0, labelled=0.6)
    one = KM2(**QUICK).fit(X, y)
    two = KM2(scenario="case-control", **QUICK).fit(X, y)
    assert one.prior_ == pytest.approx(truth.mean(), abs=0.05)
    assert two.prior_ == pytest.approx(truth[y == 0].mean(), abs=0.05)
    assert one.prior_ > two.prior_ + 0.1


class Line:
    """A curve of which only the numbers are known that thresholds are made of."""

    def __init__(self, mmd, first_slope, n_fewest):
        self.mmd, self.n_fewest = mmd, n_fewest
        self.first_slope = lambda: first_slope


def test_km1_and_km2_are_not_swapped():
    line = Line(mmd=0.5, first_slope=0.1, n_fewest=400)
    assert KM1()._threshold(line) == pytest.approx(1 / 20)
    assert KM2()._threshold(line) == pytest.approx(0.8 * 0.1 + 0.2 * 0.5)
    # More rows lower the threshold of KM1, and KM2's does not know of them.
    more = Line(mmd=0.5, first_slope=0.1, n_fewest=1600)
    assert KM1()._threshold(more) == pytest.approx(1 / 40)
    assert KM2()._threshold(more) == KM2()._threshold(line)


def test_km1_with_too_few_rows_takes_the_threshold_of_km2():
    line = Line(mmd=0.1, first_slope=0.02, n_fewest=25)  # 1/5 is above 0.9 * 0.1
    assert KM1()._threshold(line) == KM2()._threshold(line)


def test_thresholds_are_those_of_the_curve_that_is_fitted(samples):
    """The slope at the estimate is the threshold, of the one method and of the other."""
    X, y = samples(500, 500, 0.4, 3.0)
    found = {}
    for kind in (KM1, KM2):
        seen = []

        class Spy(kind):
            def _threshold(self, curve, seen=seen):
                seen.append((curve, super()._threshold(curve)))
                return seen[-1][1]

        lam = 1 / (1 - Spy(scenario="case-control", **QUICK).fit(X, y).prior_)
        curve, threshold = seen[-1]
        assert isinstance(curve, Curve)
        assert not curve.rises_faster(threshold, lam - 0.04)
        assert curve.rises_faster(threshold, lam + 0.04)
        found[kind] = threshold
    assert found[KM1] == pytest.approx(500**-0.5)
    assert found[KM2] != pytest.approx(500**-0.5, rel=0.1)


def test_order_of_rows_and_scale_of_columns_do_not_matter(samples):
    X, y = samples(250, 200, 0.4, 3.0, n_columns=4)
    plain = KM2(**QUICK).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    assert KM2(**QUICK).fit(X[order], y[order]).prior_ == pytest.approx(plain.prior_, abs=0.011)
    scaled = KM2(**QUICK).fit(X * [1e-6, 1, 300, 1e9] + [5, 0, -2, 1], y)
    assert scaled.prior_ == pytest.approx(plain.prior_, abs=0.011)
    constant = KM2(**QUICK).fit(np.column_stack([X, np.full(len(y), 7.7)]), y)
    assert constant.prior_ == pytest.approx(plain.prior_, abs=0.011)


def test_columns_may_keep_their_units(samples):
    """One that is a thousand times as large as the others, and says nothing, drowns them."""
    X, y = samples(600, 400, 0.4, 4.0)
    loud = np.column_stack([X, 1000 * np.random.default_rng(0).normal(size=len(y))])
    plain, raw = (KM2(standardize=s, **QUICK).fit(loud, y) for s in (True, False))
    assert plain.mmd_ > 3 * raw.mmd_
    same = KM2(standardize=False, **QUICK).fit(X / X.std(axis=0), y)
    assert same.prior_ == pytest.approx(KM2(**QUICK).fit(X, y).prior_, abs=0.011)


def test_wide_tables_are_projected(samples):
    X, y = samples(300, 200, 0.4, 4.0, n_columns=3)
    wide = X @ np.random.default_rng(0).normal(size=(3, 80))  # still three dimensions
    free = KM2(n_components=None, **QUICK).fit(wide, y)
    assert KM2(n_components=3, **QUICK).fit(wide, y).prior_ == free.prior_


def test_no_more_rows_are_used_than_asked(samples):
    X, y = samples(600, 400, 0.4, 4.0)
    found = [KM2(max_rows=150, n_bootstrap=2, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    assert found[0].prior_interval_ == found[1].prior_interval_
    assert found[0].mmd_ != found[2].mmd_
    assert all(0.3 < one.prior_ < 0.75 for one in found)


def test_interval_is_as_wide_as_other_samples_make_it(samples):
    """A 90% interval is 3.29 deviations wide; 8 samples tell the deviation to a quarter."""
    found = [
        KM2(scenario="case-control", n_bootstrap=12, random_state=0).fit(
            *samples(800, 800, 0.4, 3.0, seed=seed)
        )
        for seed in range(8)
    ]
    across_samples = np.std([one.prior_ for one in found], ddof=1)
    within = np.mean([np.diff(one.prior_interval_)[0] for one in found]) / 3.29
    assert 0.5 < within / across_samples < 2
    assert all(one.prior_interval_[0] <= one.prior_ <= one.prior_interval_[1] for one in found)


def test_where_nothing_tells_p_from_u_the_end_is_said():
    X = np.random.default_rng(0).normal(size=(100, 2))
    with pytest.warns(ScaleWarning, match=r"ends at 0\.875"):
        found = KM2(scenario="case-control", **QUICK).fit(np.vstack([X, X]), np.repeat([0, 1], 100))
    assert found.prior_ == pytest.approx(0.875, abs=0.01)


def three_modes(bias, n=900, prior=0.4, seed=0):
    """Labelled positives are of three modes, the first ``bias`` times as often as the second."""
    rng = np.random.default_rng(seed)
    centres = 6 * np.eye(3)
    shares = np.array([bias, 1, (bias + 1) / 2])
    truth = rng.random(n) < prior
    X = rng.normal(size=(n, 3))
    X[truth] += centres[rng.integers(3, size=truth.sum())]
    P = rng.normal(size=(n // 2, 3)) + centres[rng.choice(3, n // 2, p=shares / shares.sum())]
    return np.vstack([X, P]), np.repeat([0, 1], [n, n // 2])


def test_falls_as_selection_bias_grows():
    priors = [
        KM2(scenario="case-control", **QUICK).fit(*three_modes(bias)).prior_ for bias in (1, 4, 12)
    ]
    assert priors[0] == pytest.approx(0.4, abs=0.06)
    assert priors[0] > priors[1] + 0.03
    assert priors[1] > priors[2] + 0.03


def fashion_mnist(data_dir):
    raw = data_dir / "FashionMNIST" / "raw"
    with gzip.open(raw / "train-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 1, 28, 28)
    with gzip.open(raw / "train-labels-idx1-ubyte.gz") as file:
        return images, np.frombuffer(file.read(), np.uint8, offset=8)


@pytest.mark.slow
def test_paper_table_11(data_dir):
    """At random near 0.3, and ever lower as class 1 is labelled more often than 4 and 7."""
    images, kind = fashion_mnist(data_dir)
    priors = []
    for ratio in (1, 5, 10):
        rng = np.random.default_rng(0)
        n_4 = round(3000 / (2 + ratio))
        y = np.zeros(len(kind), dtype=int)
        for label, n in ((1, 3000 - 2 * n_4), (4, n_4), (7, n_4)):
            y[rng.choice(np.flatnonzero(kind == label), n, replace=False)] = 1
        priors.append(KM2(**QUICK).fit(images, y).prior_)
    assert priors[0] == pytest.approx(0.3, abs=0.04)
    assert priors[0] > priors[1] + 0.05
    assert priors[1] > priors[2] + 0.01


def test_images_are_bytes_or_numbers(samples):
    X, y = samples(300, 200, 0.4, 4.0, n_columns=12)
    images = np.clip(40 * X + 60, 0, 255).astype(np.uint8).reshape(-1, 1, 3, 4)
    found = KM2(scenario="case-control", **QUICK).fit(images, y)
    assert found.n_features_in_ == 12
    assert found.prior_ == pytest.approx(0.4, abs=0.1)
    again = KM2(scenario="case-control", **QUICK).fit(images / 255, y)
    assert again.prior_ == pytest.approx(found.prior_, abs=0.011)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_rows": 1}, "max_rows must be"),
        ({"n_components": 0}, "n_components must be"),
        ({"n_bootstrap": 1}, "n_bootstrap must be"),
        ({"standardize": "yes"}, "standardize must be one of"),
        ({"scenario": "both"}, "scenario must be one of"),
    ],
)
def test_bad_parameters(samples, settings, message):
    with pytest.raises(PUInputError, match=message):
        KM2(**settings).fit(*samples(20, 10, 0.4, 3.0))
