"""Estimators of the share of positives in the marginal, and one way to settle it."""

from varpu.priors.base import BasePriorEstimator
from varpu.priors.bbe import BBE
from varpu.priors.dedpul import DEDPUL
from varpu.priors.elkan_noto import ElkanNotoPrior
from varpu.priors.km import KM1, KM2
from varpu.priors.resolve import check_prior, resolve_prior
from varpu.priors.tice import TIcE

__all__ = [
    "KM1",
    "KM2",
    "BBE",
    "TIcE",
    "DEDPUL",
    "ElkanNotoPrior",
    "BasePriorEstimator",
    "check_prior",
    "resolve_prior",
]
