"""Label disambiguation: a large-margin machine and the labels of unlabelled rows, in turn.

For labels ``y`` of the unlabelled rows, of which ``n_hidden`` are positive, the objective is

    1/2 |w|^2 + C_P mean_P h(f) + C_U mean_U h(y f),    h(m) = max(0, 1 - m)^2,    f = w x + b.

Given ``f``, the best labels make the highest scores positive, as ``h(f) - h(-f)`` falls with ``f``;
given the labels, the best ``f`` is a support vector machine. So each turn lowers the objective,
and as there are finitely many labellings, it ends where they stay.
"""

from dataclasses import dataclass

import numpy as np

from varpu.classic.squared_hinge import Flags, Floats, Machine, fit_machine


@dataclass(frozen=True)
class Disambiguation:
    """What came out.

    Attributes
    ----------
    machine : Machine
        The last one.
    labels : bool array of shape (n,)
        Its highest scores are positive.
    n_fits : int
        Machines fitted.
    settled : bool
        Whether it was fitted to these very labels, in the last stage.
    """

    machine: Machine
    labels: Flags
    n_fits: int
    settled: bool


def disambiguate(
    features: Floats,
    positive: Flags,
    n_hidden: int,
    cost_p: float,
    costs_u: list[float],
    max_iter: int,
) -> Disambiguation:
    """Alternate until the labels stay, for one cost of the unlabelled rows after another.

    The first labels are those of a machine that takes all unlabelled rows for negatives.

    Parameters
    ----------
    features : array of shape (n, m)
    positive : bool array of shape (n,)
        Which rows are labelled.
    n_hidden : int
        How many unlabelled rows are positive.
    cost_p : float
        ``C_P``.
    costs_u : list of float
        ``C_U`` of each stage, small at first: the labels are not to be trusted then.
    max_iter : int
        The most machines to fit.
    """
    machine = fit_machine(features, positive, row_weights(positive, cost_p, costs_u[-1]))
    labels = highest(machine(features), positive, n_hidden)
    n_fits, stage = 1, 0
    while n_fits < max_iter and stage < len(costs_u):
        weight = row_weights(positive, cost_p, costs_u[stage])
        machine = fit_machine(features, labels, weight, start=machine)
        n_fits += 1
        found = highest(machine(features), positive, n_hidden)
        if (found == labels).all():
            stage += 1
        labels = found
    return Disambiguation(machine, labels, n_fits, settled=stage == len(costs_u))


def highest(scores: Floats, positive: Flags, n_hidden: int) -> Flags:
    """Labelled rows and the ``n_hidden`` unlabelled ones of the highest scores."""
    labels = positive.copy()
    unlabelled = np.flatnonzero(~positive)
    order = np.argsort(-scores[unlabelled], kind="stable")
    labels[unlabelled[order[:n_hidden]]] = True
    return labels


def row_weights(positive: Flags, cost_p: float, cost_u: float) -> Floats:
    """The weight of each row that makes a sum over rows ``cost_p mean_P + cost_u mean_U``."""
    return np.where(positive, cost_p / positive.sum(), cost_u / (~positive).sum())
