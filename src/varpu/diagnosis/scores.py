"""What a quick model tells: the prior, and labelled rows that no unlabelled row is like."""

from collections.abc import Iterator
from typing import NamedTuple

import lightgbm
import numpy as np

from varpu.crossfit import assign_folds
from varpu.diagnosis.chance import FALSE_ALARM, FEWEST, Region, at_most, least_odds
from varpu.diagnosis.codes import make
from varpu.diagnosis.finding import Finding
from varpu.diagnosis.table import Bools, Column, Floats, Ints, Table
from varpu.exceptions import PUInputError
from varpu.scale import estimate_prior, prior_interval

# Below this no score can be judged; PU003 says so.
_FEWEST_LABELLED = 20
_MOST_ROWS = 20_000
_MOST_LEVELS = 30
_N_FOLDS = 3
_N_TREES = 60
_NEAR_0 = 0.005
_NEAR_1 = 0.97
# The AUC that says, at this many deviations, that labelled and unlabelled rows look alike; fewer
# rows of a kind cannot say it, for on small samples held-out scores can even rank backwards.
_ALIKE, _DEVIATIONS, _FEWEST_ALIKE = 0.515, 2.33, 2000
_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)


class _Scored(NamedTuple):
    """Held-out scores of some rows; ``thinning`` is how much rarer unlabelled rows were made."""

    rows: Ints
    p: Floats
    u: Floats
    thinning: float


def model_checks(table: Table, found: list[Finding]) -> Iterator[Finding]:
    """PU004 and PU005, without the columns that give the label away or name rows."""
    barred = {name for f in found if f.code in ("PU001", "PU007") for name in f.columns}
    scored = _score(table, [c for c in table.columns if c.name not in barred])
    if scored is not None:
        unlike = list(_unlike(table, scored))
        yield from unlike
        yield from _prior(scored, bool(unlike))


def _unlike(table: Table, scored: _Scored) -> Iterator[Finding]:
    """PU005: regions of high scores, judged as those of a column are."""
    n_p, n_u = len(scored.p), len(scored.u)
    odds = least_odds(n_p, n_u, table.scenario, scored.thinning)
    p, u = np.sort(scored.p), np.sort(scored.u)
    for share in _SHARES:  # the largest region first
        low = p[round(share * (n_p - 1))]
        n_above = int((p >= low).sum())
        region = Region("", n_above, int((u >= low).sum()), n_above / n_p, 1, len(_SHARES))
        if region.labelled >= FEWEST and region.chance(odds) < FALSE_ALARM:
            break
    else:
        return
    bound = at_most(region.labelled, region.unlabelled, n_p, n_u)
    seen = (
        f"By a model that did not see them, {region.share:.0%} of the labelled rows score higher"
        f" than all but {region.unlabelled:,} of {n_u:,} unlabelled rows. If labels were a random"
        f" subset of the positives, at most {bound:.2%} of the unlabelled rows could be positive."
    )
    rows = scored.rows[np.argsort(-scored.p, kind="stable")]
    yield make("PU005", "error" if region.share >= 0.5 else "warning", seen, rows=rows, value=bound)


def _prior(scored: _Scored, is_explained: bool) -> Iterator[Finding]:
    """PU004, of the share of positives among unlabelled rows."""
    prior = estimate_prior(scored.p, scored.u)
    low, high = prior_interval(scored.p, scored.u, n_samples=100)
    auc, deviation = _auc(scored.p, scored.u)
    interval = f"(90% interval {low:.3f} to {high:.3f})"
    if high < _NEAR_0:
        # Where PU005 was found this follows from it.
        seen = f"About {prior:.2%} of the unlabelled rows seem positive {interval}."
        yield make("PU004", "note" if is_explained else "warning", seen, value=prior)
    elif prior > _NEAR_1 or auc < 0.5 + _DEVIATIONS * deviation:
        n_least = min(len(scored.p), len(scored.u))
        is_sure = n_least >= _FEWEST_ALIKE and auc + _DEVIATIONS * deviation < _ALIKE
        seen = (
            f"About {prior:.0%} of the unlabelled rows seem positive {interval}: a model tells"
            f" labelled from unlabelled rows with an AUC of {auc:.3f} ± {deviation:.3f}, where 0.5"
            " is chance."
        )
        yield make("PU004", "warning" if is_sure else "note", seen, value=prior)


def _auc(p: Floats, u: Floats) -> tuple[float, float]:
    """How often a labelled row scores above an unlabelled one, with its standard deviation."""
    ordered_p, ordered_u = np.sort(p), np.sort(u)
    wins = np.searchsorted(ordered_u, p, "left") + np.searchsorted(ordered_u, p, "right")
    losses = np.searchsorted(ordered_p, u, "left") + np.searchsorted(ordered_p, u, "right")
    of_p, of_u = wins / (2 * len(u)), losses / (2 * len(p))
    return float(of_p.mean()), float(np.sqrt(of_p.var() / len(p) + of_u.var() / len(u)))


def _score(table: Table, columns: list[Column]) -> _Scored | None:
    """Out-of-fold scores by boosted trees, or None where nothing can be learned."""
    random = np.random.RandomState(table.seed)
    kept = [np.flatnonzero(kind) for kind in (table.positive, ~table.positive)]
    n_before = [len(rows) for rows in kept]
    # Half of the room for labelled rows, unless the others leave more.
    room_p = max(_MOST_ROWS // 2, _MOST_ROWS - n_before[1])
    room_u = _MOST_ROWS - min(n_before[0], room_p)
    kept = [
        np.sort(random.permutation(rows)[:room])
        for rows, room in zip(kept, (room_p, room_u), strict=True)
    ]
    thinning = (len(kept[1]) / n_before[1]) / (len(kept[0]) / n_before[0])
    rows = np.sort(np.concatenate(kept))
    positive = table.positive[rows]
    encoded = [made for column in columns if (made := _encode(column, rows)) is not None]
    if positive.sum() < _FEWEST_LABELLED or not encoded:
        return None
    X = np.column_stack([values for values, _ in encoded])
    categories = [i for i, (_, is_category) in enumerate(encoded) if is_category]
    try:
        fold = assign_folds(X, positive, _N_FOLDS, random)
    except PUInputError:
        return None
    scores = np.empty(len(rows))
    for k in range(fold.max() + 1):
        scores[fold == k] = _fit(X[fold != k], positive[fold != k], categories, table.seed).predict(
            X[fold == k]
        )
    return _Scored(rows[positive], scores[positive], scores[~positive], thinning)


def _fit(X: Floats, positive: Bools, categories: list[int], seed: int) -> lightgbm.Booster:
    settings = {
        "objective": "binary",
        "learning_rate": 0.1,
        "num_leaves": 15,
        "min_data_in_leaf": int(np.clip(len(X) // 100, 5, 50)),
        "lambda_l2": 5.0,
        "cat_smooth": 20.0,
        # A tree of one column cannot see how two go together.
        "feature_fraction": 0.7 if X.shape[1] > 5 else 1.0,
        "max_bin": 127,
        "seed": seed % 2**31,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }
    data = lightgbm.Dataset(X, positive.astype(np.float64), categorical_feature=categories)
    return lightgbm.train(settings, data, _N_TREES)


def _encode(column: Column, rows: Ints) -> tuple[Floats, bool] | None:
    """Numbers as they are, the commonest categories by number; None where there is one value."""
    if column.numbers is not None:
        values = column.numbers[rows]
        return np.where(np.isfinite(values), values, np.nan), False
    codes = column.codes[rows]
    counts = np.bincount(codes[codes >= 0], minlength=column.n_values)
    if counts.max(initial=0) < 2:
        return None  # free text and names: nothing that a tree could use
    rank = np.empty(len(counts))
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    values = np.where(codes >= 0, np.append(np.minimum(rank, _MOST_LEVELS), np.nan)[codes], np.nan)
    return values, True
