"""Every method of the tables, really trained, on a small task."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from scipy.special import log_expit, logsumexp

from varpu.datasets import Dataset
from varpu.exceptions import PUInputError
from varpu.paper.methods import method, method_names
from varpu.paper.methods.base import RunOptions
from varpu.paper.methods.vpu import LAMS, Scores, blended, standard_error
from varpu.paper.tasks import Task

QUICK = RunOptions(device="cpu", quick=True)


@dataclass(frozen=True)
class SmallTask(Task):
    """Two clouds of points, a third of them positive."""

    def load(self):
        random = np.random.default_rng(0)
        y = (random.random(900) < 0.35).astype(int)
        X = random.normal(size=(900, 5)).astype(np.float32) + 1.5 * y[:, None].astype(np.float32)
        return Dataset("small", X, y)


SMALL = SmallTask(
    name="grid_stability_1",  # for GenPU's weights
    title="Small",
    dataset="small",
    positive=(1,),
    prior=0.35,
    n_labeled=80,
    n_validation=20,
    n_test=300,
    network="mlp",
    lr=3e-3,
    batch_size=50,
    lam=0.1,
)


@pytest.fixture(autouse=True)
def _small_networks(monkeypatch):
    """One thread, and networks of two small layers: the paper's are slow on a CPU."""
    monkeypatch.setattr("varpu.paper.methods.networks.HIDDEN", (32, 32))
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def results_of(name, seeds=(0, 1), options=QUICK, task=SMALL):
    return [result for group in method(name).run(task, seeds, options) for result in group]


@pytest.mark.parametrize("name", [name for name in method_names() if name not in ("km2", "bbe")])
def test_a_method_learns_and_reports_each_seed_once(name):
    seeds = [0] if name == "default" else [0, 1]  # it takes all the time that it is given
    found = results_of(name, seeds)
    assert [result.seed for result in found] == seeds
    for result in found:
        assert result.metrics["accuracy"] > 80
        assert result.metrics["auc"] > 0.9
        assert result.seconds > 0
        assert result.settings["n_labeled"] in (80, 100)  # those held out are labelled, too


@pytest.mark.parametrize("name", ["km2", "bbe"])
def test_an_estimator_gives_a_prior_near_the_true_one(name):
    (result,) = results_of(name, seeds=(0,))
    assert result.metrics["prior"] == pytest.approx(result.metrics["true_prior"], abs=0.15)


def test_the_same_seed_gives_the_same_result():
    first, again = (results_of("vpu", seeds=(3,))[0] for _ in range(2))
    assert first.metrics == again.metrics
    assert first.extra == again.extra


def test_vpu_keeps_the_lambda_with_the_least_held_out_loss():
    full = RunOptions(device="cpu")
    (result,) = results_of("vpu", seeds=(0,), options=full)
    lines = result.extra["lambdas"]
    assert [line["lam"] for line in lines] == list(LAMS)
    best = min(lines, key=lambda line: line["held_out_loss"])
    assert result.settings["lam"] == best["lam"]
    assert result.metrics["accuracy"] == best["accuracy"]
    assert all(0 < line["held_out_error"] < 0.5 for line in lines)


def test_vpu_keeps_the_blend_of_all_lambdas_too():
    full = RunOptions(device="cpu")
    (result,) = results_of("vpu", seeds=(0,), options=full)
    losses = [line["held_out_loss"] for line in result.extra["lambdas"]]
    blend = result.extra["blend"]
    assert len(blend["weights"]) == len(LAMS)
    assert sum(blend["weights"]) == pytest.approx(1)
    assert min(losses) - 0.1 < blend["held_out_loss"] < np.mean(losses)
    assert blend["accuracy"] > 80


@pytest.fixture
def problem():
    return SMALL.problem(0)


def scores_by_truth(problem, shifts, random):
    """Networks that see the classes through noise, each with a constant of its own."""

    def log_phi(rows):
        one = log_expit(4 * problem.truth[rows] - 2 + 0.5 * random.normal(size=len(rows)))
        return one + np.array(shifts)[:, None]

    split = problem.split
    is_p = np.isin(split.held_out_u, split.held_out_p)
    parts = (problem.test, split.u, split.held_out_p, split.held_out_u)
    return Scores(*map(log_phi, parts), is_p)


def test_networks_that_differ_by_a_constant_blend_to_each_of_them(problem):
    scores = scores_by_truth(problem, [0.0, -1.0, -5.0], np.random.default_rng(0))
    alone = scores_by_truth(problem, [0.0], np.random.default_rng(0))
    together, single = blended(scores, problem), blended(alone, problem)
    assert single["weights"] == pytest.approx(1)
    assert together.keys() == single.keys()
    for name in ("held_out_loss", "accuracy", "auc", "prior"):
        assert together[name] == pytest.approx(single[name], rel=1e-6)


def test_a_row_that_one_network_of_ten_has_far_too_high_does_not_undo_the_blend(problem):
    scores = scores_by_truth(problem, [-5.0] * 10, np.random.default_rng(0))
    usual = blended(scores, problem)
    row = np.flatnonzero(problem.truth[problem.split.u])[0]
    scores.train[3, row] = -3.5  # its Phi is five times that of other positives
    parts = {part: getattr(scores, part)[3:4] for part in ("test", "train", "p", "u")}
    spoilt = blended(replace(scores, **parts), problem)
    assert usual["accuracy"] > 95
    negatives = 100 * (1 - problem.truth[problem.test].mean())
    assert spoilt["accuracy"] == pytest.approx(negatives)  # by itself it finds no positive
    mended = blended(scores, problem)
    assert mended["accuracy"] > 90
    assert spoilt["prior"] < mended["prior"] < usual["prior"]


@pytest.mark.parametrize("are_among", [True, False])
def test_the_standard_error_is_how_much_the_loss_varies_from_sample_to_sample(are_among):
    """2,000 samples of 150 positives and 1,500 rows; the positives are among these, or apart."""
    random = np.random.default_rng(0)
    losses, errors = [], []
    for _ in range(2000):
        y = random.random(1500) < 0.5
        g = 2 * (random.normal(size=1500) + y)
        p = np.sort(random.choice(np.flatnonzero(y), 150, replace=False))
        log_phi_u = log_expit(g)
        log_phi_p = log_phi_u[p] if are_among else log_expit(2 * (random.normal(size=150) + 1))
        is_p = np.isin(np.arange(1500), p) & are_among
        losses.append(logsumexp(log_phi_u) - np.log(1500) - log_phi_p.mean())
        errors.append(standard_error(log_phi_p, log_phi_u, is_p))
    assert np.mean(errors) == pytest.approx(np.std(losses), rel=0.05)


def test_a_prior_on_record_is_taken():
    asked = []

    def look_up(task, name, seed):
        asked.append((task, name, seed))
        return {"prior": 0.123}

    options = RunOptions(device="cpu", quick=True, look_up=look_up)
    (result,) = results_of("nnpu", seeds=(4,), options=options)
    assert result.metrics["prior"] == 0.123
    assert asked == [(SMALL.name, "km2", 4)]


def test_a_true_prior_is_that_of_the_training_rows():
    (result,) = results_of("upu_true", seeds=(0,))
    assert result.metrics["prior"] == SMALL.problem(0).true_prior


def test_an_unknown_method_is_refused():
    with pytest.raises(PUInputError, match="no method 'vqu'"):
        method("vqu")
