"""PU problems made from labelled data."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from varpu.checks import one_of, real, whole
from varpu.datasets.split import PUSplit, Rows
from varpu.exceptions import PUInputError


def make_pu(
    X: Any,
    y: ArrayLike,
    *,
    positive: Any,
    n_labeled: int,
    scenario: str = "single-set",
    bias: Mapping[Any, float] | None = None,
    validation: int = 0,
    rows: ArrayLike | None = None,
    random_state: Any = None,
) -> PUSplit:
    """Choose which positives are labelled, and which rows are held out to validate with.

    The rows are put in random order once, before all else. The first of them are held out; the
    labelled positives are the first of their classes, among the held-out rows and among the others.
    So with the same ``random_state`` and ``rows`` neither ``bias`` nor ``scenario`` changes which
    rows are held out, and a smaller held-out set is part of a larger one.

    Parameters
    ----------
    X : array of shape (n, ...) or None
        Only its length is looked at.
    y : array of shape (n,)
        The class of each row.
    positive : class or collection of classes
        Those that count as positive.
    n_labeled : int
        M, the number of positives that are labelled for training.
    scenario : {"single-set", "case-control"}
        In ``"single-set"`` the marginal samples hold the labelled rows. In ``"case-control"`` they
        do not; of N rows with the share π of positives, N - M are left, of which
        (π N - M) / (N - M) are positive.
    bias : dict of {class: weight}, optional
        Label so many of each positive class, in these proportions: ``{1: 5, 4: 1, 7: 1}`` labels
        five of class 1 for each of classes 4 and 7. Counts are rounded by largest remainder, so
        that they sum to M; a class that is not named is not labelled. Without it all positives are
        equally likely to be labelled.
    validation : int
        M_v, the number of labelled positives that are held out. Of all N rows, round(N M_v / M) are
        held out, at random; the held-out positives are among them.
    rows : array of row numbers or mask of shape (n,), optional
        The rows to choose from, for example the training rows; all unless given.
    random_state : int, Generator, RandomState or None
        Decides the order.

    Returns
    -------
    PUSplit

    Examples
    --------
    >>> from varpu.datasets import make_pu
    >>> y = ["cat", "dog", "cow"] * 100
    >>> split = make_pu(
    ...     None, y, positive={"cat", "dog"}, n_labeled=50, validation=10, random_state=0
    ... )
    >>> split
    PUSplit(50 p, 240 u, 10 held_out_p, 60 held_out_u)
    >>> int(split.labels(300).sum())
    60
    """
    one_of("scenario", scenario, ("single-set", "case-control"))
    n_p, n_held_p = whole("n_labeled", n_labeled, 1), whole("validation", validation, 0)
    classes, code = _codes(X, y)
    names = _positive(positive, classes)  # {class: its code}
    chosen = _rows(rows, len(code))
    n_held = round(len(chosen) * n_held_p / n_p)
    if n_held >= len(chosen):
        raise PUInputError(
            f"validation must be well below n_labeled: {n_held_p} of {n_p} would hold out {n_held}"
            f" of {len(chosen)} rows"
        )
    weights = None if bias is None else _weights(bias, names)
    order = _random(random_state).permutation(chosen)
    held_u, u = order[:n_held], order[n_held:]

    def pick(sample: Rows, n: int, where: str) -> Rows:
        groups = _groups(names, weights, n)
        return np.concatenate([_first(sample, code[sample], *group, where) for group in groups])

    p, held_p = pick(u, n_p, "to train on"), pick(held_u, n_held_p, "held out")
    if scenario == "case-control":
        u, held_u = np.setdiff1d(u, p), np.setdiff1d(held_u, held_p)
    return PUSplit(*map(np.sort, (p, u, held_p, held_u)))


def _codes(X: Any, y: ArrayLike) -> tuple[list[Any], NDArray[np.int64]]:
    """The classes as plain Python values, and the number of each row's class."""
    labels = np.asarray(y)
    if labels.ndim != 1 or len(labels) == 0:
        raise PUInputError(f"y must have one class a row; got shape {labels.shape}")
    if X is not None:
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if n_rows != len(labels):
            raise PUInputError(f"X has {n_rows} rows but y has {len(labels)}")
    try:
        classes, code = np.unique(labels, return_inverse=True)
    except TypeError:
        raise PUInputError("y must hold classes of one kind; got a mixture") from None
    return classes.tolist(), code


def _positive(positive: Any, classes: list[Any]) -> dict[Any, int]:
    """The code of each positive class."""
    named = positive.tolist() if isinstance(positive, np.ndarray) else positive
    several = isinstance(named, Iterable) and not isinstance(named, str | bytes)
    names = [_plain(name) for name in (named if several else [named])]
    absent = [name for name in names if name not in classes]
    if absent or not names:
        raise PUInputError(
            f"positive must be of the classes in y, {_few(classes)}; got {positive!r}"
        )
    return {name: at for at, name in enumerate(classes) if name in names}


def _weights(bias: Mapping[Any, float], names: Iterable[Any]) -> dict[Any, float]:
    if not isinstance(bias, Mapping):
        raise PUInputError(f"bias must be a dict of a weight for each class; got {bias!r}")
    weights = {_plain(name): real(f"bias[{name!r}]", bias[name], 0) for name in bias}
    others = [name for name in weights if name not in names]
    if others:
        raise PUInputError(f"bias must name positive classes, {_few([*names])}; got {others[0]!r}")
    if not sum(weights.values()):
        raise PUInputError(f"bias must have a weight above 0; got {bias!r}")
    return weights


def _groups(
    names: dict[Any, int], weights: dict[Any, float] | None, n: int
) -> list[tuple[str, list[int], int]]:
    """What is labelled: in words, the codes of its classes, and how many rows."""
    if weights is None:
        return [("a positive class", list(names.values()), n)]
    shares = zip(weights, _shares(list(weights.values()), n), strict=True)
    return [(f"class {name!r}", [names[name]], share) for name, share in shares]


def _first(sample: Rows, codes: Rows, group: str, wanted: list[int], n: int, where: str) -> Rows:
    """The first ``n`` rows of a random sample that are of the wanted classes."""
    found = sample[np.isin(codes, wanted)]
    if len(found) < n:
        raise PUInputError(
            f"wanted {n} labelled rows of {group} among the {len(sample)} rows {where};"
            f" there are {len(found)}"
        )
    return found[:n]


def _shares(weights: list[float], n: int) -> list[int]:
    """Shares of ``n`` in proportion to the weights, rounded by largest remainder."""
    total = sum(map(Fraction, weights))  # fractions, so that equal remainders are equal
    exact = [Fraction(weight) * n / total for weight in weights]
    shares = [int(share) for share in exact]
    by_remainder = sorted(range(len(exact)), key=lambda at: shares[at] - exact[at])
    for at in by_remainder[: n - sum(shares)]:
        shares[at] += 1
    return shares


def _rows(rows: ArrayLike | None, n: int) -> Rows:
    """The rows to choose from, sorted."""
    if rows is None:
        return np.arange(n)
    given = np.asarray(rows)
    if given.dtype == bool and given.shape == (n,):
        given = np.flatnonzero(given)
    if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
        raise PUInputError(
            f"rows must be row numbers or a mask of {n}; got {given.dtype} of shape {given.shape}"
        )
    chosen = np.unique(given).astype(np.int64)
    if len(chosen) < len(given):
        raise PUInputError(f"rows must be different; {len(given) - len(chosen)} are repeated")
    if len(chosen) == 0 or chosen[0] < 0 or chosen[-1] >= n:
        raise PUInputError(f"rows must be from 0 to {n - 1}; got {given!r}")
    return chosen


def _random(state: Any) -> Any:
    if isinstance(state, np.random.Generator | np.random.RandomState):
        return state
    return np.random.default_rng(None if state is None else whole("random_state", state, 0))


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _few(names: list[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown
