"""PU004 and PU005: what a quick model tells."""

import numpy as np
import pytest

from varpu.diagnosis import check_pu


def found_in(X, y, code, **options):
    return [f for f in check_pu(X, y, **options) if f.code == code]


def rings(rng, inside):
    """Points of a disc and a ring: no coordinate alone tells them apart."""
    angle = rng.uniform(0, 2 * np.pi, len(inside))
    radius = np.where(inside, rng.uniform(0, 1, len(inside)), rng.uniform(1.3, 2, len(inside)))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def test_labelled_rows_unlike_all_others():
    rng = np.random.default_rng(0)
    y = rng.random(4000) < 0.2
    shift = rng.choice([-1, 1], size=(4000, 1))
    # Labelled rows lie along one diagonal and the others along the other: columns alone are alike.
    X = shift * np.where(y[:, None], [1, 1], [1, -1]) + 0.2 * rng.normal(size=(4000, 2))
    [found] = found_in(X, y, "PU005")
    assert found.severity == "error"
    assert found.value < 0.01
    assert set(found.rows) <= set(np.flatnonzero(y))
    assert not found_in(X, y, "PU001")


def test_a_column_that_leaks_is_left_out_of_the_model(clean):
    X, y = clean
    assert [f.code for f in check_pu(X.assign(leak=y), y)] == ["PU001"]


def test_classes_that_do_not_overlap_are_no_finding():
    rng = np.random.default_rng(0)
    positive = rng.random(3000) < 0.3
    y = positive & (rng.random(3000) < 0.5)
    assert check_pu(rings(rng, positive), y) == []


def test_a_prior_near_0():
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.1
    found = found_in(rings(rng, y), y, "PU004")
    assert found[0].value < 0.005
    assert "0.00" in found[0].seen


@pytest.mark.parametrize(("n", "severity"), [(1000, "note"), (20_000, "warning")])
def test_labels_at_random_read_as_a_prior_near_1(make_clean, n, severity):
    X, y = make_clean(0, n=n, frequency=0.7)
    y = np.random.default_rng(0).permutation(y)
    [found] = found_in(X, y, "PU004")
    assert found.severity == severity
    assert found.value > 0.9


def test_large_tables_are_sampled_without_bias():
    # 30,000 labelled of 40,000 positives: thinning labelled rows must not look like a leak.
    rng = np.random.default_rng(0)
    positive = rng.random(80_000) < 0.5
    y = positive & (rng.random(80_000) < 0.75)
    X = rings(rng, positive)
    assert [f for f in check_pu(X, y) if f.severity != "note"] == []
