"""Cross-fitting: folds, the loss of the pool, and blends of models that were pooled.

Every row is scored by a model that did not see it, so one loss over all rows, the pool, judges
without flattery. It needs no negatives, and it does not mind the scale of the scores, so models of
any kind can be compared and blended by it.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from varpu.exceptions import PUInputError
from varpu.model_selection.rows import deal, rows_together

_TOLERANCE = 1e-6
_MAX_ITERATIONS = 2000
# How much a better loss counts beforehand: the fewer positives, the more of it is luck.
_SHARPNESS, _SHARPNESS_A_POSITIVE = 50.0, 0.2
_TINY = np.finfo(np.float64).tiny

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """Row numbers. ``u`` and ``held_out_u`` are samples of the marginal."""

    p: NDArray[np.int64]
    u: NDArray[np.int64]
    held_out_p: NDArray[np.int64]
    held_out_u: NDArray[np.int64]

    @property
    def labelled(self) -> NDArray[np.int64]:
        """All labelled rows."""
        return np.concatenate([self.p, self.held_out_p])

    @property
    def marginal(self) -> NDArray[np.int64]:
        """The whole sample of the marginal."""
        return np.concatenate([self.u, self.held_out_u])


def marginal_rows(positive: NDArray[np.bool_], scenario: str) -> NDArray[np.bool_]:
    """Which rows are the sample of the marginal: all, or where P was drawn apart the others."""
    return np.ones_like(positive) if scenario == "single-set" else ~positive


def assign_folds(
    X: Any, positive: NDArray[np.bool_], n_folds: int, random: np.random.RandomState
) -> NDArray[np.int64]:
    """The fold of each row, so that each fold has its share of labelled and of unlabelled rows.

    Copies are in one fold: a model that was trained on a labelled row knows its unlabelled copy,
    and the score of that copy would be none of a row that was not seen. Rows that are alike by
    chance, as in a table of few kinds of rows, are no copies.

    Parameters
    ----------
    X : array, frame, sparse matrix or images, n rows
    positive : bool array of shape (n,)
        Which rows are labelled.
    n_folds : int
        How many are wanted. There will be fewer where there are not that many distinct labelled
        rows, or distinct unlabelled ones.
    random : RandomState

    Returns
    -------
    int array of shape (n,)
        Folds are numbered from 0, and each has both labelled and unlabelled rows.

    Raises
    ------
    PUInputError
        If there are not even two folds.
    """
    ids = rows_together(X, positive)
    n_labelled, n_unlabelled = (len(np.unique(ids[which])) for which in (positive, ~positive))
    for n in range(min(n_folds, n_labelled, n_unlabelled), 1, -1):
        fold = deal(positive, ids, np.ones((n, 2)), random)
        # Many copies of one row can fill a fold before it has got rows of both kinds.
        if all(len(np.unique(fold[which])) == n for which in (positive, ~positive)):
            return fold
    raise PUInputError(
        "cross-fitting needs at least 2 distinct labelled rows and 2 distinct unlabelled ones that"
        f" copies do not bind into one fold; there are {n_labelled} and {n_unlabelled}"
        " (1 sample, or one class, leaves nothing to hold out)"
    )


def fold_splits(
    X: Any,
    positive: NDArray[np.bool_],
    n_folds: int,
    scenario: str,
    random: np.random.RandomState,
) -> list[Split]:
    """One split a fold: the fold is held out, the rest is trained on."""
    fold = assign_folds(X, positive, n_folds, random)
    marginal = marginal_rows(positive, scenario)
    return [
        Split(
            *(np.flatnonzero(side & (fold != k)) for side in (positive, marginal)),
            *(np.flatnonzero(side & (fold == k)) for side in (positive, marginal)),
        )
        for k in range(fold.max() + 1)
    ]


def pooled_loss(log_ratio: Floats, weight_p: Floats, weight_u: Floats) -> float:
    """``L_var = log E_U[r] - E_P[log r]`` of weighted rows; lower is better.

    It is the same for ``r`` and ``c r``, and least, ``-KL(f_P||f)``, where ``r`` is proportional
    to ``f_P/f``.

    Parameters
    ----------
    log_ratio : array of shape (n,)
        Out-of-fold ``log r`` of each row, up to one constant for all.
    weight_p, weight_u : arrays of shape (n,)
        How many labelled rows, and how many rows of the marginal sample, each row stands for.
    """
    is_p = weight_p > 0  # a row of no weight may have any score, -inf too
    with np.errstate(invalid="ignore"):  # scores that are no numbers have a loss that is none
        mean_p = weight_p[is_p] @ log_ratio[is_p] / weight_p.sum()
        return float(_log_mean(log_ratio, weight_u) - mean_p)


def blend_weights(
    log_ratios: Floats, weight_p: Floats, weight_u: Floats, shrinkage: float = 10.0
) -> Floats:
    """Weights of the mean ``sum_k w_k r_k`` with the least pooled ``L_var``.

    With ratios in one unit, ``E_U[r_k] = 1``, every such mean has ``E_U = 1`` too, so only
    ``E_P[log sum_k w_k r_k]`` is left to be made large. That is concave in ``w``, and
    expectation-maximisation, ``w_k <- E_P[w_k r_k / sum_j w_j r_j]``, climbs to its one maximum
    without a step size: the members are a mixture of which the positives are a sample.

    Few positives would let luck decide. So ``shrinkage`` further ones are dealt out beforehand in
    shares of ``exp(-s (L_k - L_min))``, which favour good members but not one of many that are
    nearly as good; ``s`` is a fifth of the number of positives, and at most 50. By Jensen's
    inequality the pooled loss of any such mean is at most the mean of its members' losses; without
    shrinkage it is not above that of the best.

    Parameters
    ----------
    log_ratios : array of shape (K, n)
        Out-of-fold ``log r`` of each member. One without a finite pooled loss gets the weight 0.
    weight_p, weight_u : arrays of shape (n,)
        How many labelled rows, and how many rows of the marginal sample, each row stands for.
    shrinkage : float
        Counted in labelled rows.

    Returns
    -------
    array of shape (K,)
        For the ratios as they came, whatever their units: not negative, and 1 in sum.
    """
    losses = np.array([pooled_loss(member, weight_p, weight_u) for member in log_ratios])
    usable = np.flatnonzero(np.isfinite(losses))
    if len(usable) == 0:
        raise PUInputError("a blend needs a member with finite scores; there is none")
    weights = np.zeros(len(log_ratios))
    log_means = np.array([_log_mean(log_ratios[k], weight_u) for k in usable])
    is_p = weight_p > 0
    sharpness = min(_SHARPNESS, _SHARPNESS_A_POSITIVE * weight_p.sum())
    dealt = np.exp(sharpness * (losses[usable].min() - losses[usable]))
    dealt *= shrinkage / dealt.sum()
    found = mixture_weights(
        (log_ratios[usable] - log_means[:, None])[:, is_p], weight_p[is_p], dealt
    )
    # From the unit E_U = 1 back to the unit they came in; a common factor does not matter.
    found = found * np.exp(log_means.min() - log_means)
    weights[usable] = found / found.sum()
    best = int(usable[losses[usable].argmin()])
    # Where one member is all that is wanted, the climb comes near that corner but never arrives.
    if (
        not shrinkage
        and pooled_loss(blend(log_ratios, weights), weight_p, weight_u) >= losses[best]
    ):
        weights = np.eye(len(log_ratios))[best]
    return weights


def blend(log_ratios: Floats, weights: Floats) -> Floats:
    """``log sum_k w_k r_k``, the log of the weighted arithmetic mean of density ratios.

    A mean of densities is a density, and a mean of ratios to one marginal is a ratio to it; a mean
    of their logarithms is not.

    Parameters
    ----------
    log_ratios : array of shape (K, n)
    weights : array of shape (K,)
        Members of weight 0 are not looked at.
    """
    used = weights > 0
    terms = log_ratios[used] + np.log(weights[used])[:, None]
    top = np.maximum(terms.max(axis=0), np.finfo(np.float64).min)  # -inf - -inf is no number
    with np.errstate(divide="ignore"):  # log 0 where every member says 0
        return np.asarray(top + np.log(np.exp(terms - top).sum(axis=0)))


def mixture_weights(log_ratios: Floats, weight: Floats, dealt: Floats) -> Floats:
    """Maximise ``sum_P log sum_k w_k r_k + sum_k d_k log w_k`` over the simplex.

    The weights of the members of a mixture of which the positives are a sample.

    Parameters
    ----------
    log_ratios : array of shape (K, n)
        Members on positives alone, each a density ratio to the marginal.
    weight : array of shape (n,)
        How many labelled rows each row stands for.
    dealt : array of shape (K,)
        Further ones that fall to each member beforehand.
    """
    # A factor common to the members of a row cancels: the largest is 1, so nothing overflows.
    ratios = np.exp(log_ratios - log_ratios.max(axis=0))
    total = weight.sum() + dealt.sum()
    w = np.full(len(ratios), 1 / len(ratios))
    for _ in range(_MAX_ITERATIONS):
        # Positives and dealt ones that fall to each member, over its weight: (K,), 1 at the top.
        gain = (ratios @ (weight / (w @ ratios)) + dealt / np.maximum(w, _TINY)) / total
        w = w * gain
        # By Jensen the maximum is at most log max_k gain_k away.
        if gain.max() <= 1 + _TOLERANCE:
            break
    return w / w.sum()


def _log_mean(log_ratio: Floats, weight: Floats) -> float:
    """``log`` of the weighted mean of ``exp(log_ratio)``."""
    counted = weight > 0
    values, weight = log_ratio[counted], weight[counted]
    top = values.max()
    return float(top + np.log(weight @ np.exp(values - top) / weight.sum()))
