"""uPU: the unbiased risk."""

from varpu.neural.risk import RiskClassifier
from varpu.tags import PUTags
from varpu.training import Risk


class UPUClassifier(RiskClassifier):
    """uPU (du Plessis et al., 2014): a network on the unbiased risk, for a given class prior.

    Minimises ``pi E_P[l(g)] + E_U[l(-g)] - pi E_P[l(-g)]``, whose expectation is the supervised
    risk. On a sample its last two terms, which no risk can, may go below zero, and a flexible
    network takes them there by learning the labelled rows by heart: see :class:`NNPUClassifier`.
    ``predict`` is the sign of the network's output; with the logistic loss its sigmoid is an
    estimate of the probability, with the sigmoid loss it only says how sure the network is.

    Parameters
    ----------
    prior : float, prior estimator or "auto", default="auto"
        The share of positives in the marginal: a number, an estimator such as
        :class:`varpu.priors.KM2`, or the default of :mod:`varpu.priors`. The risk is only right for
        the right one.
    loss : {"sigmoid", "logistic"}, default="sigmoid"
        The surrogate of a wrong decision.
    mixup : bool, default=False
        Augment the unlabelled rows of a batch by as many mixtures of them (the paper's
        "+ MixUp").
    alpha : float, default=0.3
        Of the Beta distribution that mixing weights come from.
    hidden : sequence of int, default=(128, 128, 128)
        Hidden layers of the network for tables.
    module : str, function or None, default=None
        Another network, as in :class:`VPUClassifier`.
    lr : float or sequence of float, default=1e-3
        All of a grid are trained together and the one with the least held-out risk is kept.
    betas : pair of float, default=(0.9, 0.999)
        Of Adam.
    weight_decay : float, default=5e-3
        Weight of an L2 penalty on the network's weights.
    batch_size : int or None, default=None
        Rows of P and rows of U in a batch. None: a tenth of the marginal rows, from 32 to 500.
    epochs, steps_per_epoch : int, default=50 and 30
    lr_milestones : sequence of int, default=()
        Epochs, from 0, at which the learning rate is multiplied by ``lr_decay`` and Adam restarts.
    lr_decay : float, default=0.5
    validation_fraction : float or pair of int, default=0.1
        Share of P and of U held out to choose the epoch by the held-out risk, or (positives,
        marginal rows) as counts. With 0 the last epoch is kept, as published.
    patience : int or None, default=None
        Stop after that many epochs without a better held-out risk.
    standardize : bool, default=True
        Centre and scale the columns of a table first.
    device : str, default="auto"
        "auto" takes a GPU if there is one.
    precision : {"fp32", "tf32", "bf16", "auto"}, default="fp32"
        Arithmetic of the products; "auto" takes bf16 where the device has instructions for it.
    scenario : {"single-set", "case-control"}, default="single-set"
        Whether labelled rows were drawn from the sample itself, so that all rows are the marginal
        sample, or separately, so that only the unlabelled rows are.
    random_state : int, RandomState or None, default=None
        Decides everything.
    progress : bool or None, default=None
        Show a progress bar; None: if someone is watching a terminal.

    Attributes
    ----------
    module_ : nn.Module
        The network, in evaluation mode, on the CPU.
    lr_, best_epoch_, held_out_loss_ : float, int and float
        Of that network; the loss is NaN where nothing was held out.
    prior_interval_ : pair of float
        Of the prior's estimate; both ends are ``prior`` where that was given.
    history_ : DataFrame
        One line an epoch and learning rate: ``lr``, ``epoch``, ``loss``, ``held_out_loss``.
    scale_, prior_, log_mean_phi_, classes_, n_features_in_, feature_names_in_
        As in every classifier here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from varpu import UPUClassifier
    >>> X, truth = make_blobs(400, centers=2, random_state=0)
    >>> labelled = (truth == 1) & (np.arange(400) % 4 == 0)
    >>> model = UPUClassifier(prior=0.5, epochs=5, random_state=0).fit(X, labelled)
    >>> bool((model.predict(X) == truth).mean() > 0.9)
    True
    """

    pu_tags = PUTags(
        method="uPU",
        reference="du Plessis et al., NeurIPS 2014",
        needs_prior=True,
        needs_separability=False,
        learner="a network",
        images=True,
        cost="one network, and a prior",
    )

    def _risk(self) -> Risk:
        return Risk("upu", self.loss, mixup=self.mixup)
