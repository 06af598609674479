"""Rows to train on and rows held out, under either scenario."""

import numpy as np
from numpy.typing import NDArray

from varpu.crossfit import Split
from varpu.exceptions import PUInputError


def split_rows(
    positive: NDArray[np.bool_],
    held_out: float | tuple[int, int],
    scenario: str,
    random: np.random.RandomState,
) -> Split:
    """Hold out a share (or a number) of the labelled and of the marginal rows, at random.

    In the single-set scenario labelled rows belong to the marginal sample, so each is in ``u`` as
    well as in ``p``, or in ``held_out_u`` as well as in ``held_out_p``, and never across.
    """
    labelled = random.permutation(np.flatnonzero(positive))
    unlabelled = random.permutation(np.flatnonzero(~positive))
    single_set = scenario == "single-set"
    if isinstance(held_out, tuple):
        n_p = held_out[0]
        n_unlabelled = held_out[1] - n_p if single_set else held_out[1]
    elif held_out == 0:
        n_p = n_unlabelled = 0
    else:
        n_p = max(1, round(held_out * len(labelled)))
        n_unlabelled = max(1, round(held_out * len(unlabelled)))
    _check_size("labelled positives", len(labelled), n_p)
    _check_size("unlabelled rows", len(unlabelled), n_unlabelled)
    held_out_p, p = labelled[:n_p], labelled[n_p:]
    held_out_u, u = unlabelled[:n_unlabelled], unlabelled[n_unlabelled:]
    if single_set:
        u, held_out_u = np.concatenate([p, u]), np.concatenate([held_out_p, held_out_u])
    return Split(p, u, held_out_p, held_out_u)


def _check_size(what: str, there_are: int, held_out: int) -> None:
    if there_are <= held_out:
        raise PUInputError(
            f"the validation split needs {held_out} {what} and at least one more to train on;"
            f" there are {there_are}: lower validation_fraction or label more"
        )
