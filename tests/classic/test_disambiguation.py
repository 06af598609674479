"""Label disambiguation: labels and machine are each best for the other, and both settle."""

from itertools import combinations

import numpy as np
import pytest

from varpu.classic.disambiguation import disambiguate, highest, row_weights
from varpu.classic.squared_hinge import Machine, fit_machine, objective


def rows(n=300, prior=0.4, distance=3.0, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < prior
    features = rng.normal(size=(n, 2))
    features[truth, 0] += distance
    return features, truth, truth & (rng.random(n) < 0.4)


def test_highest_by_hand():
    scores = np.array([-9.0, 1.0, 3.0, 2.0, 2.0])
    positive = np.array([True, False, False, False, False])
    np.testing.assert_array_equal(highest(scores, positive, 2), [True, False, True, True, False])
    np.testing.assert_array_equal(highest(scores, positive, 0), positive)
    assert highest(scores, positive, 4).all()
    np.testing.assert_array_equal(positive, [True, False, False, False, False])


def test_weights_make_means():
    positive = np.array([True, True, False, False, False, False])
    values = np.arange(6.0)
    found = row_weights(positive, 3.0, 5.0) @ values
    assert found == pytest.approx(3 * values[positive].mean() + 5 * values[~positive].mean())


@pytest.mark.parametrize("seed", range(5))
def test_the_highest_scores_are_the_best_labels(seed):
    """Of all labellings with three positives none has a smaller objective."""
    rng = np.random.default_rng(seed)
    features, positive = rng.normal(size=(9, 2)), np.arange(9) < 2
    machine, weight = Machine(rng.normal(size=2), 0.3), row_weights(positive, 1.0, 2.0)

    def value(labels):
        return objective(features, labels, weight, machine)

    least = np.inf
    for chosen in combinations(range(2, 9), 3):
        labels = positive.copy()
        labels[list(chosen)] = True
        least = min(least, value(labels))
    assert value(highest(machine(features), positive, 3)) == pytest.approx(least)


def test_each_turn_lowers_the_objective():
    features, _, positive = rows()
    weight = row_weights(positive, 12.0, 30.0)
    labels = highest(-features[:, 1], positive, 60)  # a bad guess to begin with
    values = []
    for _ in range(20):
        machine = fit_machine(features, labels, weight)
        values.append(objective(features, labels, weight, machine))
        found = highest(machine(features), positive, 60)
        values.append(objective(features, found, weight, machine))
        if (found == labels).all():
            break
        labels = found
    assert len(values) > 4
    assert (np.diff(values) <= 1e-9).all()
    assert (found == labels).all()


def test_labels_and_machine_are_best_for_each_other():
    features, truth, positive = rows()
    n_hidden = int((truth & ~positive).sum())
    costs = [2.0, 8.0, 30.0]
    found = disambiguate(features, positive, n_hidden, 12.0, costs, max_iter=100)
    assert found.settled
    assert found.labels[positive].all()
    assert found.labels[~positive].sum() == n_hidden
    again = fit_machine(features, found.labels, row_weights(positive, 12.0, 30.0))
    np.testing.assert_allclose(found.machine(features), again(features), atol=1e-6)
    np.testing.assert_array_equal(
        highest(found.machine(features), positive, n_hidden), found.labels
    )
    # A first guess, a machine for each stage at least, and none more than was said.
    assert 1 + len(costs) <= found.n_fits <= 100
    assert (found.labels == truth).mean() > 0.9


def test_every_stage_is_gone_through_though_labels_stay():
    features, truth, positive = rows(distance=30.0)
    n_hidden = int((truth & ~positive).sum())
    found = disambiguate(features, positive, n_hidden, 1.0, [1.0, 2.0, 4.0, 8.0], max_iter=50)
    np.testing.assert_array_equal(found.labels, truth)
    assert found.settled
    expected = fit_machine(features, found.labels, row_weights(positive, 1.0, 8.0))
    np.testing.assert_allclose(found.machine(features), expected(features), atol=1e-6)


def test_nothing_hidden_is_a_machine_of_positives_against_the_rest():
    features, _, positive = rows()
    found = disambiguate(features, positive, 0, 1.0, [0.5, 1.0], max_iter=50)
    np.testing.assert_array_equal(found.labels, positive)
    assert found.settled


def test_it_stops_when_it_was_told_to():
    features, truth, positive = rows(distance=1.0)
    n_hidden = int((truth & ~positive).sum())
    found = disambiguate(features, positive, n_hidden, 12.0, [1.0, 30.0], max_iter=2)
    assert not found.settled
    assert found.n_fits == 2
    # The number of positives is kept all the same.
    assert found.labels[~positive].sum() == n_hidden
