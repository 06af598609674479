"""Held-out rows: shares, counts, scenarios."""

import numpy as np
import pytest

from varpu.exceptions import PUInputError
from varpu.neural.split import split_rows

POSITIVE = np.arange(1000) % 4 == 0  # 250 labelled, 750 not


def split(held_out, scenario="single-set", seed=0):
    return split_rows(POSITIVE, held_out, scenario, np.random.RandomState(seed))


def test_single_set_marginal_holds_the_labelled_rows_and_nothing_crosses():
    parts = split(0.2)
    assert set(parts.p) <= set(parts.u)
    assert set(parts.held_out_p) <= set(parts.held_out_u)
    assert not set(parts.u) & set(parts.held_out_u)
    assert sorted([*parts.u, *parts.held_out_u]) == list(range(1000))
    assert POSITIVE[parts.p].all()
    assert POSITIVE[parts.held_out_p].all()
    assert (len(parts.held_out_p), len(parts.held_out_u)) == (50, 200)


def test_case_control_marginal_is_the_unlabelled_rows_alone():
    parts = split(0.2, "case-control")
    assert not POSITIVE[parts.u].any()
    assert not POSITIVE[parts.held_out_u].any()
    assert (len(parts.held_out_p), len(parts.held_out_u)) == (50, 150)


@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
def test_counts_are_taken_as_they_are(scenario):
    parts = split((30, 100), scenario)
    assert (len(parts.held_out_p), len(parts.held_out_u)) == (30, 100)


def test_nothing_held_out():
    parts = split(0)
    assert len(parts.held_out_p) == len(parts.held_out_u) == 0
    assert len(parts.u) == 1000


def test_the_seed_decides():
    np.testing.assert_array_equal(split(0.1, seed=3).held_out_u, split(0.1, seed=3).held_out_u)
    assert set(split(0.1, seed=3).held_out_u) != set(split(0.1, seed=4).held_out_u)


def test_too_few_of_either_kind():
    with pytest.raises(PUInputError, match="250 labelled positives and at least one more"):
        split((250, 500))
    with pytest.raises(PUInputError, match="750 unlabelled rows and at least one more"):
        split((10, 760))
