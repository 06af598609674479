"""A PUClassifier of one network that was trained elsewhere: on rows that came by in a stream."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from varpu.auto.candidates import Candidate, Table
from varpu.auto.classifier import PUClassifier
from varpu.auto.columns import Columns
from varpu.auto.networks import HIDDEN, network
from varpu.neural.ensemble import Ensemble, diverged, log_phi
from varpu.training import pick_device

__all__ = ["HIDDEN", "classifier_of_network"]

Floats = NDArray[np.float64]


def classifier_of_network(
    state: dict[str, Tensor],
    columns: Columns,
    held_out: pd.DataFrame,
    weight_p: Floats,
    weight_u: Floats,
    *,
    prior: float | None,
    scenario: str,
    device: str,
    random_state: int,
) -> PUClassifier:
    """Scale, recalibrate and read the prior on rows that the network was not trained on.

    Parameters
    ----------
    state : dict of Tensor
        Of an ``MLP`` with :data:`HIDDEN` layers on ``columns.standard``.
    columns : Columns
    held_out : DataFrame
        Rows in memory; ``out_of_fold_log_ratio_`` is that of these.
    weight_p, weight_u : arrays of shape (n,)
        How many labelled rows, and how many rows of the marginal sample, each row stands for.
    prior, scenario, device, random_state
        Parameters of the classifier.
    """
    model = PUClassifier(
        families=["networks"],
        prior=prior,
        scenario=scenario,
        device=device,
        random_state=random_state,
    )
    networks = [network(state)]
    scores = log_phi(networks, Table(held_out, columns).view("standard"), pick_device(device))[0]
    if not np.isfinite(scores).all():
        raise diverged()
    log_mean = np.log(np.average(np.exp(scores), weights=weight_u))
    ensemble = Ensemble(networks, np.full((1, 1), log_mean), np.ones(1))
    candidate = Candidate("network, streamed", "networks", "standard", ensemble, scores - log_mean)
    model._take_single(candidate, columns, held_out, weight_p, weight_u)
    return model
