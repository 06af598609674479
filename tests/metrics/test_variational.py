"""L_var on finite populations, where every expectation is an exact mean."""

import numpy as np
import pytest

from varpu.exceptions import PUInputError
from varpu.metrics import variational_loss

Y = np.array([1, 1, 0, 0, 0])
PHI = np.array([0.9, 0.4, 0.2, 0.6, 0.1])


class Atoms:
    """Positives and marginal over six atoms, as rows of a case-control sample."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        positives, negatives = rng.integers(1, 9, (2, 6))
        marginal = positives + negatives
        self.f_p, self.f = positives / positives.sum(), marginal / marginal.sum()
        self.posterior = positives / marginal
        self.y = np.repeat([1, 0], [positives.sum(), marginal.sum()])
        self.atom = np.concatenate([np.repeat(np.arange(6), n) for n in (positives, marginal)])
        self.other = rng.random(6)

    def loss(self, phi):
        return variational_loss(self.y, phi[self.atom], scenario="case-control")


@pytest.mark.parametrize("seed", range(5))
def test_least_at_the_posterior_and_worse_by_the_divergence(seed):
    atoms = Atoms(seed)
    kl = (atoms.f_p * np.log(atoms.f_p / atoms.f)).sum()
    assert atoms.loss(atoms.posterior) == pytest.approx(-kl)
    implied = atoms.other * atoms.f / (atoms.other * atoms.f).sum()
    excess = (atoms.f_p * np.log(atoms.f_p / implied)).sum()
    assert atoms.loss(atoms.other) == pytest.approx(excess - kl)
    assert excess > 0


@pytest.mark.parametrize("seed", range(5))
def test_case_control_wants_the_odds_of_an_ordinary_classifier(seed):
    atoms = Atoms(seed)
    n_u, n_p = np.bincount(atoms.y)
    labelled = n_p * atoms.f_p / (n_p * atoms.f_p + n_u * atoms.f)  # P(labelled | x) in this sample
    best = atoms.loss(atoms.posterior)
    assert atoms.loss(labelled / (1 - labelled)) == pytest.approx(best)
    assert atoms.loss(labelled) > best


def test_single_set_takes_the_probability_of_being_labelled(big, draw_labels):
    _, _, truth, posterior = big
    y = draw_labels(truth, 0.2, seed=1)
    assert variational_loss(y, 0.2 * posterior) == pytest.approx(variational_loss(y, posterior))
    for distorted in (posterior**2, np.sqrt(posterior), 1 - posterior, posterior + 0.1):
        assert variational_loss(y, posterior) < variational_loss(y, distorted)


def test_formula_under_both_scenarios():
    mean_p = np.log(PHI[:2]).mean()
    assert variational_loss(Y, PHI) == pytest.approx(np.log(PHI.mean()) - mean_p)
    case_control = variational_loss(Y, PHI, scenario="case-control")
    assert case_control == pytest.approx(np.log(PHI[2:].mean()) - mean_p)


@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
@pytest.mark.parametrize("phi", [PHI, np.array([0.9, 0, 0.2, 0, 1])])
def test_scale_does_not_matter_nor_do_logs(scenario, phi):
    loss = variational_loss(Y, phi, scenario=scenario)
    for factor in (1e-200, 1e-3, 7.0, 1e200):
        assert variational_loss(Y, factor * phi, scenario=scenario) == pytest.approx(loss)
    with np.errstate(divide="ignore"):
        log_phi = np.log(phi)
    for shift in (-1e4, 0.0, 1e4):
        logs = variational_loss(Y, log_phi + shift, log=True, scenario=scenario)
        assert logs == pytest.approx(loss)


@pytest.mark.parametrize("constant", [0.0, 0.3, 5.0])
def test_a_constant_scores_zero(constant):
    assert variational_loss(Y, np.full(5, constant)) == pytest.approx(0)


def test_a_positive_scored_zero_costs_the_floor_and_no_more():
    y, phi = np.repeat([1, 0], 500), np.ones(1000)
    phi[0] = 0
    assert variational_loss(y, phi) == pytest.approx(np.log(1e6) / 500, abs=0.002)
    assert variational_loss(y, phi, floor=1e-3) == pytest.approx(np.log(1e3) / 500, abs=0.002)
    assert np.isfinite(variational_loss(Y, [0, 0, 1, 1, 1]))
    assert np.isfinite(variational_loss(Y, [1, 1, 0, 0, 0], scenario="case-control"))


def test_the_floor_leaves_the_input_alone():
    phi = np.array([0.0, 1, 1, 1, 1])
    variational_loss(Y, phi)
    assert phi[0] == 0


@pytest.mark.parametrize("y", [Y * 2 - 1, Y + 5, Y.astype(bool), np.array(["no", "yes"])[Y]])
def test_the_larger_value_marks_positives(y):
    assert variational_loss(y, PHI) == variational_loss(Y, PHI)


@pytest.mark.parametrize(
    ("y", "phi", "options", "message"),
    [
        (np.ones(5), PHI, {}, "two values"),
        ([0, 1, 2, 1, 0], PHI, {}, "two values.*got 3"),
        ([0.5, 1.5, np.nan, 0.5, 0.5], PHI, {}, "labels must be one column"),
        (None, PHI, {}, "got None"),
        (Y[:4], PHI, {}, "4 labels but 5 scores"),
        ([], [], {}, "two values"),
        (Y, [0.1, np.nan, 0.2, 0.3, np.inf], {}, "2 of 5 are not"),
        (Y, -PHI, {}, "at least 0.0; the least is -0.9"),
        (Y, np.column_stack([1 - PHI, PHI]), {}, r"shape \(5, 2\)"),
        (Y, list("abcde"), {}, "one number a row"),
        (Y, [0, 0, 0, 0, np.inf], {"log": True}, "must be finite"),
        (Y, PHI, {"floor": 0}, "floor must be a finite number above 0"),
        (Y, PHI, {"scenario": "two-set"}, "scenario must be one of"),
    ],
)
def test_bad_input(y, phi, options, message):
    with pytest.raises(PUInputError, match=message):
        variational_loss(y, phi, **options)
