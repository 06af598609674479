"""How far the scores can be believed, told from positives and unlabelled rows alone."""

from typing import Any

import numpy as np

from varpu.crossfit import pooled_loss
from varpu.metrics import pu_calibration_error, pu_roc_auc
from varpu.report.scoring import Bools, Floats, Scored, pool_weights, scenario_of, take

_BINS = 10
_MOST_COMPARED = 2_000
# An edge at 0.5, so that each bar is marked or not.
_EDGES = np.linspace(0, 1, 26 + 1)


def score_histogram(positive: Bools, scored: Scored) -> dict[str, Any]:
    """Counts of labelled and of unlabelled rows by probability."""
    labelled, unlabelled = (_counts(scored.probability[side]) for side in (positive, ~positive))
    return {
        "out_of_fold": scored.out_of_fold,
        "edges": [round(float(edge), 4) for edge in _EDGES],
        "labelled": labelled,
        "unlabelled": unlabelled,
    }


def _counts(probability: Floats) -> list[int]:
    return [int(number) for number in np.histogram(probability, bins=_EDGES)[0]]


def diagnostics(model: Any, positive: Bools, scored: Scored) -> dict[str, Any]:
    """Loss, ranking and calibration, each as it can be told without negatives."""
    scenario, prior = scenario_of(model), float(model.prior_)
    weight_p, weight_u = pool_weights(positive, scenario)
    if scored.out_of_fold:
        loss = float(model.held_out_loss_)
    else:
        loss = pooled_loss(scored.log_ratio, weight_p, weight_u)
    found: dict[str, Any] = {
        "out_of_fold": scored.out_of_fold,
        "loss": loss if np.isfinite(loss) else None,
        "recall": float(scored.marked[positive].mean()),
        "auc": None,
        "calibration_error": None,
        # What true probabilities would show on a sample of this size, at worst.
        "calibration_noise": 0.8 * prior * float(np.sqrt(_BINS / positive.sum())),
        "calibration": _calibration(prior, weight_p, weight_u, scored),
    }
    if 0 < prior < 1:
        auc = pu_roc_auc(positive, scored.log_ratio, prior, scenario=scenario)
        found["auc"] = float(np.clip(auc, 0, 1))
    if 0 < prior <= 1:
        found["calibration_error"] = pu_calibration_error(
            positive, scored.probability, prior, n_bins=_BINS, scenario=scenario
        )
    return found


def _calibration(
    prior: float, weight_p: Any, weight_u: Any, scored: Scored
) -> list[dict[str, Any]]:
    """By bin: the mean probability, and ``prior P_P(bin) / P_M(bin)``, the share by Bayes' rule."""
    bins = np.minimum((scored.probability * _BINS).astype(int), _BINS - 1)
    in_p, in_m = (np.bincount(bins, weight, _BINS) for weight in (weight_p, weight_u))
    total = np.bincount(bins, weight_u * scored.probability, _BINS)
    lines = []
    for k in np.flatnonzero(in_m > 0):
        found = prior * (in_p[k] / weight_p.sum()) / (in_m[k] / weight_u.sum())
        lines.append(
            {
                "low": k / _BINS,
                "high": (k + 1) / _BINS,
                "rows": int(in_m[k]),
                "labelled": int(in_p[k]),
                "said": float(total[k] / in_m[k]),
                "found": float(min(found, 1.0)),
            }
        )
    return lines


def agreement(model: Any, X: Any, random_state: int) -> dict[str, Any] | None:
    """Rank correlations between the scores of a blend's members, where it gives them.

    A blend gives them by a method ``member_log_ratios(X)``: a frame with a column a member. Some
    rows do: every member scores them anew.
    """
    members = getattr(model, "member_log_ratios", None)
    if members is None or X is None:
        return None
    n_rows = int(np.shape(X)[0])
    if n_rows > _MOST_COMPARED:
        random = np.random.default_rng(random_state)
        X = take(X, random.choice(n_rows, _MOST_COMPARED, replace=False))
    scores = members(X)
    if scores.shape[1] < 2:
        return None
    matrix = scores.rank().corr().fillna(0.0)
    return {
        "names": [str(name) for name in scores.columns],
        "matrix": [[round(float(value), 4) for value in line] for line in matrix.to_numpy()],
    }
