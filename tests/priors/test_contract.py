"""What every prior estimator keeps: scikit-learn's checks, labels, scenarios, images, bad input."""

import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from varpu.priors import BBE, DEDPUL, KM1, KM2, ElkanNotoPrior, TIcE

LINEAR = LogisticRegression()
QUICK = [
    KM1(n_bootstrap=2),
    KM2(n_bootstrap=2),
    TIcE(),
    BBE(estimator=LINEAR),
    DEDPUL(estimator=LINEAR, n_bootstrap=10),
    ElkanNotoPrior(estimator=LINEAR),
]
each = pytest.mark.parametrize("estimator", QUICK, ids=lambda one: type(one).__name__)
quiet = pytest.mark.filterwarnings("ignore::varpu.exceptions.ScaleWarning")


def ready(estimator, **parameters):
    return clone(estimator).set_params(random_state=0, **parameters)


# The checks' tables are tiny, and some estimators say so.
@quiet
@parametrize_with_checks([KM1(n_bootstrap=2), KM2(n_bootstrap=2), TIcE()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@quiet
@pytest.mark.slow
@parametrize_with_checks([BBE(), DEDPUL(), ElkanNotoPrior(), KM2()])
def test_scikit_learn_checks_of_default_settings(estimator, check):
    check(estimator)
