"""The classifier to use first."""

import time
from collections.abc import Collection
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from joblib import effective_n_jobs
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from sklearn.utils.validation import check_is_fitted

from varpu.auto.candidates import (
    FAMILIES,
    Candidate,
    Limits,
    Problem,
    Table,
    families_for,
    fits,
    is_quick,
    model_from_arrays,
)
from varpu.auto.columns import Columns
from varpu.auto.sharing import fit_together
from varpu.base import SCENARIOS, BasePUClassifier, arrays_under
from varpu.boosting.rows import take_rows
from varpu.calibration import recalibration
from varpu.checks import one_of, real, share, whole
from varpu.crossfit import blend, blend_weights, fold_splits, marginal_rows, pooled_loss
from varpu.exceptions import PUInputError, require_extra
from varpu.seeding import random_of
from varpu.tables import check_table
from varpu.tags import PUTags
from varpu.world import current_world

# A candidate of less weight changes no probability that anyone would look at.
_LEAST_WEIGHT = 1e-3
# Of the table of candidates.
_COLUMNS = ["candidate", "family", "held_out_loss", "weight", "seconds", "note"]
_NUMBERS = {"held_out_loss": float, "weight": float, "seconds": float}

Floats = NDArray[np.float64]


class PUClassifier(BasePUClassifier):
    """Positive-unlabelled learning without settings: fit, predict, and see what was compared.

    Cross-fits boosted trees, models of distances such as kernel machines and, where torch is
    installed, networks, all on the same folds. Blends them by the variational loss ``L_var`` of
    their out-of-fold scores, which needs no negatives; recalibrates the blend on the pool of these
    scores, and reads the prior off it. Takes arrays, pandas frames with missing values and
    categories, and sparse matrices (for which there are trees alone).

    Parameters
    ----------
    prior : float or None, default=None
        The share of positives in the marginal, if known.
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether labelled rows were drawn from the sample itself, so that all rows are the marginal
        sample, or separately, so that only the unlabelled rows are.
    families : sequence of str or None, default=None
        Which of ``"trees"``, ``"kernels"`` (all that go by distances: kernel machines, densities,
        graphs of neighbours, mixtures) and ``"networks"`` to compare. None: all that can be.
    n_folds : int, default=5
        Fewer are made where there are not that many distinct labelled rows.
    time_budget : float or None, default=None
        Seconds after which no further candidate is begun, and networks stop. The first candidate
        is always fitted. With a budget the result depends on how fast the machine is.
    n_jobs : int or None, default=None
        Folds of trees grown side by side; None: one a core.
    device : str, default="auto"
        Of the networks; "auto" takes a GPU if there is one.
    random_state : int, RandomState or None, default=None
        Decides everything.
    progress : bool or None, default=None
        Show what is being fitted; None: if someone is watching a terminal.

    Attributes
    ----------
    candidates_ : DataFrame
        What was compared: ``candidate``, ``family``, ``held_out_loss`` (its pooled out-of-fold
        ``L_var``; lower is better), ``weight`` in the blend, ``seconds``, and a ``note`` where
        something was left out. The seconds of networks are shared by those trained together.
    held_out_loss_ : float
        ``L_var`` of the blend over the pool of out-of-fold scores.
    out_of_fold_log_ratio_ : array of shape (n,)
        The blend's score of each training row by models that did not see it, before
        recalibration.
    prior_interval_ : pair of float
        A 90% bootstrap interval of ``prior_``; both ends are ``prior`` where that was given.
    scale_, prior_, recalibration_, classes_, n_features_in_, feature_names_in_
        As in every classifier here.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from varpu import PUClassifier
    >>> X, truth = load_breast_cancer(return_X_y=True)
    >>> labelled = (truth == 1) & (np.arange(len(truth)) % 3 == 0)
    >>> model = PUClassifier(families=["trees", "kernels"], random_state=0).fit(X, labelled)
    >>> bool((model.predict(X) == truth).mean() > 0.9)
    True
    """

    pu_tags = PUTags(
        method="VPU, blended",
        reference="the loss of Chen et al., NeurIPS 2020",
        needs_prior=False,
        needs_separability=False,
        learner="trees, models of distances, networks",
        images=False,
        cost="seven settings of trees, ten models of distances and six networks, on five folds",
    )

    candidates_: pd.DataFrame
    held_out_loss_: float
    out_of_fold_log_ratio_: Floats
    prior_interval_: tuple[float, float]

    def __init__(
        self,
        *,
        prior: float | None = None,
        scenario: str = "single-set",
        families: Any = None,
        n_folds: int = 5,
        time_budget: float | None = None,
        n_jobs: int | None = None,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        progress: bool | None = None,
    ) -> None:
        self.prior = prior
        self.scenario = scenario
        self.families = families
        self.n_folds = n_folds
        self.time_budget = time_budget
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def _check_params(self) -> None:
        one_of("scenario", self.scenario, SCENARIOS)
        whole("n_folds", self.n_folds, 2)
        if self.prior is not None:
            share("prior", self.prior, one_allowed=True)
        if self.time_budget is not None:
            real("time_budget", self.time_budget, 0, open_low=True)
        if self.device not in ("auto", "cpu") and find_spec("torch") is not None:
            from varpu.training import pick_device

            pick_device(self.device)
        if self.families is None:
            return
        is_list = isinstance(self.families, Collection) and not isinstance(self.families, str)
        if not is_list or not len(self.families):
            raise PUInputError(f"families must be a list of {FAMILIES}, got {self.families!r}")
        for family in self.families:
            one_of("families", family, FAMILIES)
        if "networks" in self.families:
            require_extra("torch")

    def _check_rows(self, X: Any, fitting: bool) -> Any:
        table = check_table(self, X, fitting)
        if not fitting and self._columns is not None:
            self._columns.check(table)
        return table

    def _fit(self, X: Any, positive: NDArray[np.bool_]) -> None:
        random = random_of(self.random_state)
        splits = fold_splits(X, positive, self.n_folds, self.scenario, random)
        marginal = marginal_rows(positive, self.scenario)
        weight_p, weight_u = positive.astype(np.float64), marginal.astype(np.float64)
        self._columns = None
        if not scipy.sparse.issparse(X):
            self._columns = Columns.learn(take_rows(X, np.flatnonzero(marginal)))
        problem = Problem(
            table=Table(X, self._columns),
            positive=positive,
            splits=splits,
            scenario=self.scenario,
            seed=int(random.randint(2**31 - 1)),
            n_threads=effective_n_jobs(-1 if self.n_jobs is None else self.n_jobs),
            device=self.device,
        )
        found, self.candidates_ = self._compare(problem, weight_p, weight_u)
        log_ratios = np.array([candidate.log_ratio for candidate in found])
        weights = blend_weights(log_ratios, weight_p, weight_u)
        weights[weights < _LEAST_WEIGHT] = 0
        weights /= weights.sum()
        self.candidates_.loc[self.candidates_["note"] == "", "weight"] = weights
        self._keep(found, weights)
        self._fix_scale(blend(log_ratios, weights), weight_p, weight_u)

    def _compare(
        self, problem: Problem, weight_p: Floats, weight_u: Floats
    ) -> tuple[list[Candidate], pd.DataFrame]:
        """Fit one candidate after another while it is worth it; the candidates and a table."""
        deadline = None if self.time_budget is None else time.monotonic() + self.time_budget
        found: list[Candidate] = []
        lines: list[dict[str, Any]] = []
        losses: dict[str, list[float]] = {}  # of each family
        with _Watch(self.progress if current_world().is_first else False) as watch:
            for family, name, fit in fits(problem, self._families(problem, lines)):
                goal = _goal([loss for own in losses.values() for loss in own])
                note = ""
                if found and deadline is not None and _is_past(deadline):
                    note = "not fitted: out of time"
                elif not is_quick(family, problem) and min(losses.get(family, [goal])) > goal:
                    note = "not fitted: its family is out of reach of the best"
                if note:
                    lines.append({"candidate": name, "family": family, "note": note})
                    continue
                watch.show(name)
                began = time.monotonic()
                fitted = fit_together(family, fit, Limits(deadline, goal))
                seconds = (time.monotonic() - began) / len(fitted)
                found += fitted
                for one in fitted:
                    loss = pooled_loss(one.log_ratio, weight_p, weight_u)
                    losses.setdefault(family, []).append(loss)
                    line = {"candidate": one.name, "family": family, "held_out_loss": loss}
                    lines.append({**line, "seconds": seconds, "note": ""})
        return found, pd.DataFrame(lines, columns=_COLUMNS).astype(_NUMBERS)

    def _families(self, problem: Problem, lines: list[dict[str, Any]]) -> tuple[str, ...]:
        wanted = FAMILIES if self.families is None else tuple(self.families)
        usable = families_for(problem.table.rows, wanted)
        if "networks" in usable and find_spec("torch") is None:
            usable = tuple(family for family in usable if family != "networks")
            note = "torch is not installed: pip install 'varpu[torch]'"
            lines.append({"candidate": "networks", "family": "networks", "note": note})
        return usable

    def _take_single(
        self,
        candidate: Candidate,
        columns: Columns,
        held_out: pd.DataFrame,
        weight_p: Floats,
        weight_u: Floats,
    ) -> None:
        """Be the classifier of one candidate, with what was held out as the pool of scores."""
        self.classes_ = np.array([False, True])
        self.n_features_in_ = held_out.shape[1]
        self.feature_names_in_ = np.array(held_out.columns, dtype=object)
        self._columns = columns
        self._keep([candidate], np.ones(1))
        self._fix_scale(candidate.log_ratio, weight_p, weight_u)
        line = {"candidate": candidate.name, "family": candidate.family, "weight": 1.0, "note": ""}
        lines = [{**line, "held_out_loss": self.held_out_loss_}]
        self.candidates_ = pd.DataFrame(lines, columns=_COLUMNS).astype(_NUMBERS)

    def _keep(self, found: list[Candidate], weights: Floats) -> None:
        used = np.flatnonzero(weights > 0)
        self._used = [found[i] for i in used]
        self._weights = weights[used]

    def _fix_scale(self, log_ratio: Floats, weight_p: Floats, weight_u: Floats) -> None:
        self.held_out_loss_ = pooled_loss(log_ratio, weight_p, weight_u)
        self.out_of_fold_log_ratio_ = log_ratio
        self.recalibration_ = recalibration(log_ratio, weight_p, weight_u)
        self._settle_prior(self.prior, log_ratio, weight_p, weight_u)
        # Scores are density ratios, so P(y=1|x) = prior * f_P/f.
        self.log_mean_phi_, self.scale_ = 0.0, 1.0 / self.prior_

    def member_log_ratios(self, X: Any) -> pd.DataFrame:
        """``log f_P/f`` by each candidate that has weight in the blend.

        Parameters
        ----------
        X : array, frame or sparse matrix of shape (n, n_features)

        Returns
        -------
        DataFrame of shape (n, number of such candidates)
            A column a candidate, by its name in ``candidates_``.
        """
        check_is_fitted(self)
        scores = self._scores(self._check_rows(X, fitting=False))
        return pd.DataFrame(scores.T, columns=[candidate.name for candidate in self._used])

    def _log_phi(self, X: Any) -> Floats:
        return blend(self._scores(X), self._weights)

    def _scores(self, X: Any) -> Floats:
        table = Table(X, self._columns)
        return np.array([candidate.predict(table, self.device) for candidate in self._used])

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        fields, arrays = super()._to_state()
        fields |= {
            "held_out_loss": self.held_out_loss_,
            "candidates": self.candidates_.replace({np.nan: None}).to_dict("list"),
            "used": [[one.name, one.family, one.view] for one in self._used],
            "columns": None,
        }
        arrays |= {"weights": self._weights, "out_of_fold_log_ratio": self.out_of_fold_log_ratio_}
        if self._columns is not None:
            fields["columns"], own = self._columns.to_state()
            arrays |= {f"columns.{name}": value for name, value in own.items()}
        for i, one in enumerate(self._used):
            arrays |= {f"candidate.{i}.{name}": value for name, value in one.to_arrays().items()}
        return fields, arrays

    def _from_state(self, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._from_state(fields, arrays)
        self.held_out_loss_ = fields["held_out_loss"]
        self.candidates_ = pd.DataFrame(fields["candidates"], columns=_COLUMNS).astype(_NUMBERS)
        self.out_of_fold_log_ratio_, self._weights = (
            arrays["out_of_fold_log_ratio"],
            arrays["weights"],
        )
        self._columns = None
        if fields["columns"] is not None:
            self._columns = Columns.from_state(fields["columns"], arrays_under("columns.", arrays))
        self._used = [
            Candidate(
                name,
                family,
                view,
                model_from_arrays(family, arrays_under(f"candidate.{i}.", arrays)),
                np.zeros(0),
            )
            for i, (name, family, view) in enumerate(fields["used"])
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _is_past(deadline: float) -> bool:
    """By the clock of the first process, where several fit together: all must do the same."""
    return bool(current_world().from_first(time.monotonic() > deadline))


def _goal(losses: list[float]) -> float:
    """What a family must come near to be worth its time, from the losses so far.

    The loss is minus the divergence that was found, and what finds less than three quarters of it
    hardly gets weight in a blend. Near zero all is noise, and nothing is ruled out.
    """
    best = min((loss for loss in losses if np.isfinite(loss)), default=0.0)
    return 0.75 * best if best < -0.1 else np.inf


class _Watch:
    """One line on a terminal that says what is being fitted."""

    def __init__(self, show: bool | None) -> None:
        console = Console(stderr=True)
        wanted = console.is_terminal if show is None else show
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("fitting {task.description}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not wanted,
        )
        self._task = self._bar.add_task("")

    def __enter__(self) -> "_Watch":
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def show(self, name: str) -> None:
        self._bar.update(self._task, description=name)
