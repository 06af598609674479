"""Kernel mean embedding of mixtures: KM1 and KM2 (Ramaswamy, Scott and Tewari, 2016)."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from varpu.checks import one_of, whole
from varpu.exceptions import ScaleWarning
from varpu.priors.base import BasePriorEstimator, Interval, Sample
from varpu.priors.coordinates import coordinates
from varpu.priors.km_curve import LAST, Curve, best_kernel

# Of a normal distribution, 90% lie within so many deviations.
_DEVIATIONS = 1.645
# Rows of each sample in a bootstrap draw.
_MOST_DRAWN = 400


class _KernelMean(BasePriorEstimator):
    """What KM1 and KM2 share: everything but the slope at which the curve counts as rising."""

    width_: float
    mmd_: float

    def __init__(
        self,
        *,
        scenario: str = "single-set",
        max_rows: int = 2000,
        n_components: int | None = 50,
        standardize: bool = True,
        n_bootstrap: int = 20,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.scenario = scenario
        self.max_rows = max_rows
        self.n_components = n_components
        self.standardize = standardize
        self.n_bootstrap = n_bootstrap
        self.random_state = random_state

    def _check_params(self) -> None:
        whole("max_rows", self.max_rows, 2)
        whole("n_bootstrap", self.n_bootstrap, 2)
        if self.n_components is not None:
            whole("n_components", self.n_components, 1)
        one_of("standardize", self.standardize, (True, False))

    def _threshold(self, curve: Curve) -> float:
        raise TypeError(f"{type(self).__name__} must define _threshold")

    def _estimate(self, sample: Sample, random: np.random.RandomState) -> tuple[float, Interval]:
        u, p = (
            _at_most(np.flatnonzero(side), self.max_rows, random)
            for side in (sample.marginal, sample.positive)
        )
        rows = sample.rows[np.concatenate([u, p])]
        points = coordinates(
            rows, bool(self.standardize) and not sample.is_image, self.n_components
        )
        kernel, self.width_ = best_kernel(points, len(u))
        n_fewest = min(len(u), len(p))
        curve = Curve(kernel, np.full(len(u), 1 / len(u)), np.full(len(p), 1 / len(p)), n_fewest)
        self.mmd_ = curve.mmd
        # Thousands of small systems: threads would wait for each other, and not for numbers.
        with threadpool_limits(1, user_api="blas"):
            found: list[float] = []
            for _ in range(self.n_bootstrap):
                drawn = curve.drawn(random, _MOST_DRAWN)
                guess = float(np.median(found)) if found else None
                found.append(drawn.lambda_at(self._threshold(drawn), guess))
            lam = curve.lambda_at(self._threshold(curve), float(np.median(found)))
        prior = _to_prior(lam)
        # Errors shrink with the root of the number of rows, and draws may have fewer.
        shrink = np.sqrt(min(1.0, _MOST_DRAWN / n_fewest))
        spread = _DEVIATIONS * float(shrink * np.std(_to_prior(np.array(found)), ddof=1))
        if lam > LAST - 0.04:
            warnings.warn(
                f"{type(self).__name__} ends at {_to_prior(LAST)}, and the prior may be larger: its"
                " kernel does not tell positives from the marginal",
                ScaleWarning,
                stacklevel=3,
            )
        return prior, (prior - spread, prior + spread)


class KM1(_KernelMean):
    """The prior by kernel embedding, with the threshold ``1 / sqrt(min(n_U, n_P))``.

    ``lam U + (1 - lam) P`` stays a distribution up to ``lam* = 1 / (1 - prior)``. Its distance
    ``d(lam)`` from the nearest distribution on the same points, in the metric of a Gaussian kernel,
    is searched for the place where its slope passes a threshold; that of KM1 is what chance alone
    would give. Where it exceeds 0.9 of the distance between the samples, which no slope need reach,
    KM2's threshold stands in, as in the authors' program.

    Consistent where negatives are not themselves a mixture with positives ("irreducible"), and
    positives are labelled at random: under selection bias it finds the share of the positives
    that resemble labelled ones. It tends to read low with few rows. A prior above 0.875 cannot
    come out. For up to 2,000 rows a sample the default takes some seconds and 130 MB.

    Parameters
    ----------
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether all rows are the marginal sample, or the unlabelled rows alone.
    max_rows : int, default=2000
        Of each sample no more rows than these are used, drawn at random. Memory and time grow with
        the square.
    n_components : int or None, default=50
        Rows of more columns are projected on that many principal components; None: never.
    standardize : bool, default=True
        Take the columns of a table in units of their deviation. (The authors' program does not.)
    n_bootstrap : int, default=20
        Draws for the interval, which is the estimate -+ 1.645 deviations of them: 20 draws give a
        deviation to within a sixth of itself. A draw has at most 400 rows of each sample, and its
        deviation is scaled to the rows there are.
    random_state : int, RandomState or None, default=None
        Decides which rows are used, and the draws.

    Attributes
    ----------
    prior_ : float
        At most 0.875, which is said by a warning where it is reached.
    prior_interval_ : pair of float
        90% by the bootstrap: rows are drawn anew, the kernel stays. With a few hundred rows it is
        too narrow, by a third in one measurement.
    width_ : float
        Of the kernel, in units of the standardised columns or of the pixels.
    mmd_ : float
        The distance that the kernel sees between positives and the marginal.

    References
    ----------
    Ramaswamy, Scott and Tewari, "Mixture Proportion Estimation via Kernel Embeddings of
    Distributions", ICML 2016. Kernel, thresholds and bisection are those of the authors' program;
    the standardised columns, the quadratic program's solver and the interval are not.
    """

    def _threshold(self, curve: Curve) -> float:
        chance = curve.n_fewest**-0.5
        return chance if chance <= 0.9 * curve.mmd else _relative_threshold(curve)


class KM2(_KernelMean):
    """The prior by kernel embedding, with a threshold relative to the curve's slopes.

    ``lam U + (1 - lam) P`` stays a distribution up to ``lam* = 1 / (1 - prior)``. Its distance
    ``d(lam)`` from the nearest distribution on the same points, in the metric of a Gaussian kernel,
    is searched for the place where its slope passes ``0.8 (d(1.05) - d(1)) / 0.05 + 0.2 MMD``: a
    fifth of the way from its first slope to its last, the distance between the samples.

    Consistent where negatives are not themselves a mixture with positives ("irreducible"), and
    positives are labelled at random: under selection bias it finds the share of the positives
    that resemble labelled ones. A prior above 0.875 cannot come out. For up to 2,000 rows a sample
    the default takes some seconds and 130 MB.

    Parameters
    ----------
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether all rows are the marginal sample, or the unlabelled rows alone.
    max_rows : int, default=2000
        Of each sample no more rows than these are used, drawn at random. Memory and time grow with
        the square.
    n_components : int or None, default=50
        Rows of more columns are projected on that many principal components; None: never.
    standardize : bool, default=True
        Take the columns of a table in units of their deviation. (The authors' program does not.)
    n_bootstrap : int, default=20
        Draws for the interval, which is the estimate -+ 1.645 deviations of them: 20 draws give a
        deviation to within a sixth of itself. A draw has at most 400 rows of each sample, and its
        deviation is scaled to the rows there are.
    random_state : int, RandomState or None, default=None
        Decides which rows are used, and the draws.

    Attributes
    ----------
    prior_ : float
        At most 0.875, which is said by a warning where it is reached.
    prior_interval_ : pair of float
        90% by the bootstrap: rows are drawn anew, the kernel stays. With a few hundred rows it is
        too narrow, by a third in one measurement.
    width_ : float
        Of the kernel, in units of the standardised columns or of the pixels.
    mmd_ : float
        The distance that the kernel sees between positives and the marginal.

    References
    ----------
    Ramaswamy, Scott and Tewari, "Mixture Proportion Estimation via Kernel Embeddings of
    Distributions", ICML 2016. Kernel, thresholds and bisection are those of the authors' program;
    the standardised columns, the quadratic program's solver and the interval are not.

    Examples
    --------
    >>> import numpy as np
    >>> from varpu.priors import KM2
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(1000) < 0.4
    >>> X = rng.normal(size=(1000, 2)) + np.where(positive, 4, 0)[:, None]
    >>> y = positive & (rng.random(1000) < 0.5)
    >>> bool(abs(KM2(random_state=0).fit(X, y).prior_ - 0.4) < 0.05)
    True
    """

    def _threshold(self, curve: Curve) -> float:
        return _relative_threshold(curve)


def _relative_threshold(curve: Curve) -> float:
    """KM2's threshold; at ``lam = 1`` the distance is 0."""
    return 0.8 * curve.first_slope() + 0.2 * curve.mmd


def _to_prior(lam: Any) -> Any:
    return (lam - 1) / lam


def _at_most(
    rows: NDArray[np.int64], most: int, random: np.random.RandomState
) -> NDArray[np.int64]:
    return rows if len(rows) <= most else random.choice(rows, most, replace=False)
