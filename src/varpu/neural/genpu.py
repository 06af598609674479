"""Generative PU learning (GenPU)."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.special import expit, log_expit
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from varpu.base import SCENARIOS, BasePUClassifier, arrays_under
from varpu.checks import one_of, whole
from varpu.crossfit import marginal_rows
from varpu.exceptions import PUInputError
from varpu.generative import (
    GAMES,
    GenPUMember,
    Weights,
    check_genpu_params,
    generated_rows,
    generator_factory,
    genpu_preset,
    in_input_units,
    matched_intercept,
    recipe_of,
    spread,
    train_genpu,
)
from varpu.neural.ensemble import logits
from varpu.neural.fitting import device_rows
from varpu.neural.inputs import NETWORKS, factory_of, network_in_state, prepared
from varpu.priors import BasePriorEstimator, check_prior, resolve_prior
from varpu.tables import column_scales
from varpu.tags import PUTags
from varpu.training import pick_device

__all__ = ["GenPUClassifier", "genpu_preset"]

_HISTORY = ("epoch", *GAMES)
_NETWORKS = ("module", "positive_generator", "negative_generator")
_SPREAD_ROWS = 500

State = dict[str, Tensor]


class GenPUClassifier(BasePUClassifier):
    """Generative PU learning (Hou et al., IJCAI 2018): make both classes, then tell them apart.

    Two generators play against three discriminators. G_p makes positives: it fools D_p, which
    compares with the labelled rows, and D_u, which compares with the marginal. G_n makes negatives:
    it fools D_u too, and is pushed *away* from the labelled rows, which D_n tells from it. Together
    they have to look like the marginal, so G_n is left with what is not positive. A classifier is
    then trained on generated rows. The method is rebuilt from its value function; the generators,
    the optimiser and the schedule are ours.

    The four games are weighed by the products of class prior and ``lambda`` in the publication.
    Left at None they follow the prior: ``prior`` for G_p's games and ``1 - prior`` for G_n's. The
    VPU paper chose them freely, on test sets: ``GenPUClassifier(**genpu_preset("avila_1"))``.

    **Mode collapse is its known failure** (the VPU paper shows it in a figure): a generator makes a
    few kinds of rows and forgets the others, and the classifier never sees what is missing. Its
    probabilities do not tell. ``positive_spread_`` and ``negative_spread_`` far below 1 are a sign,
    values near 1 no proof of the contrary. Four things soften it: the push away from P grows slowly
    (``ramp``), generators are running means (``average``), labelled rows take the place of some
    generated positives (``labelled_share``), and the intercept is set such that the mean
    probability over the marginal is the prior (``match_prior``).

    Parameters
    ----------
    prior : float, "auto", prior estimator or None, default="auto"
        The share of positives in the marginal: known, estimated by the default method, or by an
        estimator such as ``varpu.priors.KM2()``. None: the classifier is trained on balanced
        classes, nothing is matched, and ``prior_`` is what it then finds.
    positive_p, positive_u, negative_n, negative_u : float or None, default=None
        Weights of the games G_p - D_p, G_p - D_u, G_n - D_n (away) and G_n - D_u.
    hidden : sequence of int, default=(128, 128, 128)
        Hidden layers of the discriminators and of the classifier for tables. (The paper's are six
        of 300.)
    module : str, function or None, default=None
        Another network for these, as in :class:`varpu.VPUClassifier`.
    generator_hidden : sequence of int, default=(128, 128)
        Hidden layers of the generators for tables; for images they are transposed convolutions.
    n_latent : int, default=32
        Standard normal numbers that a row is made from.
    lr, generator_lr : float, default=3e-4
        Of the discriminators and of the generators.
    betas : pair of float, default=(0.5, 0.99)
        Of Adam.
    batch_size : int or None, default=None
        Rows of P, of U and of each generator in a batch. None: a tenth of the marginal rows, but at
        least 32 and at most 128.
    epochs, steps_per_epoch : int, default=40 and 30
        Of the adversarial training.
    ramp : float, default=0.5
        The share of these steps over which the push away from P grows to its weight.
    average : float, default=0.995
        Memory of the generators' running mean; 0 keeps their last state.
    classifier_epochs : int, default=10
    classifier_lr : float, default=1e-3
    labelled_share : float, default=0.5
        The share of labelled rows among the positives the classifier is trained on; 0: generated
        ones alone, 1: labelled ones alone.
    match_prior : bool, default=True
        Set the intercept so that the mean probability over the marginal is the prior.
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether all rows or only the unlabelled ones are the marginal sample.
    standardize : bool, default=True
        Centre and scale the columns of a table first. (The paper does not.)
    device : str, default="auto"
        "auto" takes a GPU if there is one.
    precision : {"fp32", "tf32", "bf16", "auto"}, default="fp32"
        Arithmetic of the products; "auto" takes bf16 where the device has instructions for it.
    random_state : int, RandomState or None, default=None
        Decides everything: weights, batches, latent draws.
    progress : bool or None, default=None
        Show a progress bar; None: if someone is watching a terminal.

    Attributes
    ----------
    module_, positive_generator_, negative_generator_ : nn.Module
        The classifier and the generators, in evaluation mode, on the CPU.
    weights_ : Weights
        The four weights used.
    intercept_ : float
        What is added to the classifier's logit.
    positive_spread_, negative_spread_ : float
        Deviation of generated rows relative to that of the labelled and of the marginal rows.
    prior_interval_ : pair of float
        Of the prior's estimate; both ends are ``prior_`` where there is none.
    history_ : DataFrame
        The mean values of the four games in each epoch; ``-2 log 2`` where a discriminator cannot
        tell, near 0 where it always can.
    mean_, std_ : arrays
        What the columns of a table were centred and scaled by.
    scale_, prior_, log_mean_phi_, classes_, n_features_in_, feature_names_in_
        As in every classifier here.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from varpu.neural.genpu import GenPUClassifier
    >>> X, truth = make_blobs(400, centers=2, random_state=0)
    >>> labelled = (truth == 1) & (np.arange(400) % 4 == 0)
    >>> model = GenPUClassifier(prior=0.5, epochs=5, random_state=0).fit(X, labelled)
    >>> model.sample_negative(3, random_state=0).shape
    (3, 2)
    """

    pu_tags = PUTags(
        method="GenPU",
        reference="Hou et al., IJCAI 2018",
        needs_prior=True,
        needs_separability=True,
        learner="networks",
        images=True,
        cost="two generators, three discriminators and a classifier",
        reconstruction=True,
    )
    _accepts_images = True

    module_: nn.Module
    positive_generator_: nn.Module
    negative_generator_: nn.Module
    weights_: Weights
    intercept_: float
    positive_spread_: float
    negative_spread_: float
    prior_interval_: tuple[float, float]
    history_: pd.DataFrame
    mean_: NDArray[np.float64]
    std_: NDArray[np.float64]

    def __init__(
        self,
        *,
        prior: float | str | BasePriorEstimator | None = "auto",
        positive_p: float | None = None,
        positive_u: float | None = None,
        negative_n: float | None = None,
        negative_u: float | None = None,
        hidden: Sequence[int] = (128, 128, 128),
        module: str | Callable[[], nn.Module] | None = None,
        generator_hidden: Sequence[int] = (128, 128),
        n_latent: int = 32,
        lr: float = 3e-4,
        generator_lr: float = 3e-4,
        betas: tuple[float, float] = (0.5, 0.99),
        batch_size: int | None = None,
        epochs: int = 40,
        steps_per_epoch: int = 30,
        ramp: float = 0.5,
        average: float = 0.995,
        classifier_epochs: int = 10,
        classifier_lr: float = 1e-3,
        labelled_share: float = 0.5,
        match_prior: bool = True,
        scenario: str = "single-set",
        standardize: bool = True,
        device: str = "auto",
        precision: str = "fp32",
        random_state: int | np.random.RandomState | None = None,
        progress: bool | None = None,
    ) -> None:
        self.prior = prior
        self.positive_p = positive_p
        self.positive_u = positive_u
        self.negative_n = negative_n
        self.negative_u = negative_u
        self.hidden = hidden
        self.module = module
        self.generator_hidden = generator_hidden
        self.n_latent = n_latent
        self.lr = lr
        self.generator_lr = generator_lr
        self.betas = betas
        self.batch_size = batch_size
        self.epochs = epochs
        self.steps_per_epoch = steps_per_epoch
        self.ramp = ramp
        self.average = average
        self.classifier_epochs = classifier_epochs
        self.classifier_lr = classifier_lr
        self.labelled_share = labelled_share
        self.match_prior = match_prior
        self.scenario = scenario
        self.standardize = standardize
        self.device = device
        self.precision = precision
        self.random_state = random_state
        self.progress = progress

    def sample_positive(
        self, n: int, random_state: int | np.random.RandomState | None = None
    ) -> NDArray[Any]:
        """``n`` generated positives, in the units and the shape of what was fitted."""
        return self._sample("positive_generator_", n, random_state)

    def sample_negative(
        self, n: int, random_state: int | np.random.RandomState | None = None
    ) -> NDArray[Any]:
        """``n`` generated negatives, in the units and the shape of what was fitted."""
        return self._sample("negative_generator_", n, random_state)

    def _check_params(self) -> None:
        one_of("scenario", self.scenario, SCENARIOS)
        if self.prior is not None:
            check_prior(self.prior)
        check_genpu_params(self)
        if not (self.module is None or callable(self.module)):
            one_of("module", self.module, tuple(NETWORKS))

    def _fit(self, X: NDArray[Any], positive: NDArray[np.bool_]) -> None:
        factory_of(self)  # complains of a network that does not fit before any work is done
        random = check_random_state(self.random_state)
        seed, prior_seed, spread_seed = (int(random.randint(2**31 - 1)) for _ in range(3))
        marginal = np.flatnonzero(marginal_rows(positive, self.scenario))
        prior, interval = self._resolve_prior(X, positive, prior_seed)
        self.mean_, self.std_ = np.zeros(1), np.ones(1)
        if X.ndim == 2 and self.standardize:
            self.mean_, self.std_ = column_scales(X[marginal])
        self._made_bytes = X.dtype == np.uint8
        self.weights_ = self._weights(0.5 if prior is None else prior)
        self._train(X, np.flatnonzero(positive), marginal, 0.5 if prior is None else prior, seed)

        self.intercept_ = 0.0
        g = self._logits(X[marginal])
        if prior is not None and self.match_prior:
            self.intercept_ = matched_intercept(g, prior)
        found = float(expit(g + self.intercept_).mean())
        self._take_probabilities(log_expit(g + self.intercept_), found if prior is None else prior)
        self.prior_interval_ = interval or (self.prior_, self.prior_)
        makers = (self.positive_generator_, X[positive]), (self.negative_generator_, X[marginal])
        self.positive_spread_, self.negative_spread_ = (
            spread(self._made(maker, _SPREAD_ROWS, spread_seed), real_rows)
            for maker, real_rows in makers
        )

    def _resolve_prior(
        self, X: NDArray[Any], positive: NDArray[np.bool_], seed: int
    ) -> tuple[float | None, tuple[float, float] | None]:
        if self.prior is None:
            return None, None
        prior, interval = resolve_prior(self.prior, X, positive, self.scenario, seed)
        # An estimate may end at 0 or 1, where one of the classes would count for nothing.
        return float(np.clip(prior, 0.5 / len(X), 1 - 0.5 / len(X))), interval

    def _weights(self, prior: float) -> Weights:
        """Those given, and for the others the prior of the generator's class."""
        by_prior = Weights(prior, prior, 1 - prior, 1 - prior)
        given = {name: getattr(self, name) for name in GAMES}
        return replace(by_prior, **{name: v for name, v in given.items() if v is not None})

    def _train(
        self, X: NDArray[Any], p: NDArray[Any], u: NDArray[Any], prior: float, seed: int
    ) -> None:
        rows = device_rows(prepared(X, self.mean_, self.std_), pick_device(self.device))
        low, high = (-1.0, 1.0) if X.dtype == np.uint8 else (float(X.min()), float(X.max()))
        recipe = recipe_of(self, factory_of(self), self._generator(low, high), len(u))
        member = GenPUMember(seed, p, u, self.weights_, prior)
        trained = train_genpu(rows, [member], recipe, progress=self.progress)
        if not trained.is_finite():
            raise PUInputError("training diverged: a network has no finite weights; lower the lr")
        self.history_ = pd.DataFrame(trained.history[:, :, 0], columns=list(GAMES))
        self.history_.insert(0, "epoch", np.arange(self.epochs))
        self._take_networks(
            trained.classifiers[0], trained.positive_generators[0], trained.negative_generators[0]
        )

    def _generator(self, low: float = -1.0, high: float = 1.0) -> Callable[[], nn.Module]:
        shape = getattr(self, "image_shape_", (self.n_features_in_,))
        return generator_factory(self.n_latent, shape, tuple(self.generator_hidden), low, high)

    def _take_networks(self, classifier: State, positive: State, negative: State) -> None:
        self.module_ = network_in_state(factory_of(self), classifier)
        self.positive_generator_ = network_in_state(self._generator(), positive)
        self.negative_generator_ = network_in_state(self._generator(), negative)

    def _logits(self, X: NDArray[Any]) -> NDArray[np.float64]:
        rows = prepared(X, self.mean_, self.std_)
        return logits([self.module_], rows, pick_device(self.device))[0]

    def _log_phi(self, X: NDArray[Any]) -> NDArray[np.float64]:
        log_phi: NDArray[np.float64] = log_expit(self._logits(X) + self.intercept_)
        return log_phi

    def _sample(self, which: str, n: int, random_state: Any) -> NDArray[Any]:
        check_is_fitted(self)
        n_rows = whole("n", n, 1)
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        return self._made(getattr(self, which), n_rows, seed)

    def _made(self, generator: nn.Module, n: int, seed: int) -> NDArray[Any]:
        rows = generated_rows(generator, self.n_latent, n, seed, pick_device(self.device))
        return in_input_units(rows, self.mean_, self.std_, self._made_bytes)

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        fields, arrays = super()._to_state()
        fields |= {
            "weights": asdict(self.weights_),
            "intercept": self.intercept_,
            "spread": [self.positive_spread_, self.negative_spread_],
            "made_bytes": bool(self._made_bytes),
        }
        arrays |= {"mean": self.mean_, "std": self.std_}
        arrays |= {f"history.{name}": self.history_[name].to_numpy() for name in _HISTORY}
        for name in _NETWORKS:
            state = getattr(self, f"{name}_").state_dict()
            arrays |= {f"{name}.{key}": value.numpy() for key, value in state.items()}
        return fields, arrays

    def _from_state(self, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._from_state(fields, arrays)
        self.weights_ = Weights(**fields["weights"])
        self.intercept_ = fields["intercept"]
        self.positive_spread_, self.negative_spread_ = fields["spread"]
        self._made_bytes = fields["made_bytes"]
        self.mean_, self.std_ = arrays["mean"], arrays["std"]
        history = arrays_under("history.", arrays)
        self.history_ = pd.DataFrame({name: history[name] for name in _HISTORY})
        self._take_networks(
            *(
                {key: torch.from_numpy(v) for key, v in arrays_under(f"{name}.", arrays).items()}
                for name in _NETWORKS
            )
        )
