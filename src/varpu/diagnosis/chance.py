"""What a random subset of positives allows: tests of regions that hold labelled rows only.

Positives among the unlabelled rows are distributed as the labelled ones. So a region that holds
the share ``q_P`` of labelled rows and ``q_U`` of unlabelled ones has ``q_U >= pi_U q_P``, where
``pi_U`` is the share of positives among unlabelled rows: the odds "unlabelled : labelled" in it
are at least ``pi_U n_U / n_P``. In a single set these odds are ``(1 - c) / c``, with ``c`` the
share of positives that are labelled. Negatives can only add to the unlabelled rows of a region.
So however well a column tells the classes apart, odds far below this show that labels are no
random subset, or that hardly any positive is unlabelled.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

# Labels that cover more of the positives than this are not taken for a random subset.
_MOST_LABELLED = 0.9
# Nor are those that cover more than this and leave hardly a positive among unlabelled rows.
_MANY_LABELLED = 0.7
_HARDLY_ANY = 0.01
# Labelled rows that were drawn apart say nothing about the share of positives that they cover.
_HARDLY_ANY_APART = 0.02
FALSE_ALARM = 1e-3
FEWEST = 10


class Region(NamedTuple):
    """A region of the rows, said in words, with its labelled and unlabelled rows.

    ``share`` is that of the labelled rows that were looked at. ``ends`` of them are labelled by
    choice, for the region was made to end there, and are no evidence. ``tries`` is the number of
    regions of which this is the most suspicious.
    """

    words: str
    labelled: int
    unlabelled: int
    share: float
    ends: int = 0
    tries: int = 1

    def chance(self, odds: float) -> float:
        """How likely so few unlabelled rows are where they have at least these odds."""
        n_rows = self.labelled - self.ends + self.unlabelled
        p = float(stats.binom.cdf(self.unlabelled, n_rows, odds / (1 + odds)))
        return min(1.0, p * self.tries)


def least_odds(n_labelled: int, n_unlabelled: int, scenario: str, thinning: float = 1.0) -> float:
    """The least odds "unlabelled : labelled" that honest labels could have in a region.

    Parameters
    ----------
    n_labelled, n_unlabelled : int
    scenario : {"single-set", "case-control"}
    thinning : float
        The share of unlabelled rows that was kept over that of labelled rows.
    """
    per_share = n_unlabelled / n_labelled
    if scenario == "case-control":
        return _HARDLY_ANY_APART * per_share
    most, many = (thinning * (1 - c) / c for c in (_MOST_LABELLED, _MANY_LABELLED))
    return float(max(most, min(many, _HARDLY_ANY * per_share)))


def at_most(labelled: int, unlabelled: int, n_labelled: int, n_unlabelled: int) -> float:
    """An upper bound, at 99%, of the share of positives among unlabelled rows.

    It is Clopper and Pearson's bound of the share of unlabelled rows in the region, as odds.
    """
    share = float(stats.beta.ppf(0.99, unlabelled + 1, max(labelled, 1)))
    return float(np.clip(share / max(1 - share, 1e-12) * n_labelled / n_unlabelled, 0.0, 1.0))
