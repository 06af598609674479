"""What every prior estimator keeps: scikit-learn's checks, labels, scenarios, images, bad input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from varpu.exceptions import PUInputError
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


@each
@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (1, 2), ("negative", "positive")])
def test_the_larger_label_marks_positives(gaussians, estimator, labels):
    X, _, y = gaussians(300, distance=4.0)
    plain = ready(estimator).fit(X, y)
    named = ready(estimator).fit(X, np.array(labels)[y])
    assert named.prior_ == plain.prior_
    assert named.classes_.tolist() == list(labels)


@quiet
@each
@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
@pytest.mark.parametrize("prior", [0.02, 0.5, 0.99])
def test_priors_are_shares_and_lie_in_their_interval(gaussians, estimator, scenario, prior):
    X, _, y = gaussians(250, prior=prior, distance=1.0, labelled=0.7)
    found = ready(estimator, scenario=scenario).fit(X, y)
    low, high = found.prior_interval_
    assert 0 <= low <= found.prior_ <= high <= 1


@each
def test_the_seed_decides_everything(gaussians, estimator):
    X, _, y = gaussians(250)
    first, second = (ready(estimator).fit(X, y) for _ in range(2))
    assert first.prior_ == second.prior_
    assert first.prior_interval_ == second.prior_interval_


@each
def test_frames_are_tables_with_names(gaussians, estimator):
    X, _, y = gaussians(400)
    found = ready(estimator).fit(pd.DataFrame(X, columns=["a", "b", "c"]), pd.Series(y))
    assert found.prior_ == pytest.approx(ready(estimator).fit(X, y).prior_, abs=1e-9)
    assert found.feature_names_in_.tolist() == ["a", "b", "c"]


@quiet
@each
def test_images_are_tables_of_pixels(gaussians, estimator):
    X, _, y = gaussians(200, distance=4.0, n_columns=12)
    found = ready(estimator).fit(X.reshape(-1, 1, 3, 4), y)
    assert found.n_features_in_ == 12
    assert 0 < found.prior_ < 1
    with pytest.raises(PUInputError, match="images must be finite"):
        ready(estimator).fit(np.full((10, 1, 2, 2), np.nan), np.arange(10) % 2)
    with pytest.raises(PUInputError, match="must not be empty"):
        ready(estimator).fit(np.zeros((10, 0, 2, 2)), np.arange(10) % 2)


@each
def test_bad_labels(gaussians, estimator):
    X, _, y = gaussians(50)
    with pytest.raises(PUInputError, match="two values"):
        ready(estimator).fit(X, np.ones(50))
    with pytest.raises(PUInputError, match="two values"):
        ready(estimator).fit(X, np.arange(50) % 3)
    with pytest.raises(PUInputError, match="NaN"):
        ready(estimator).fit(X, np.where(y, 1.0, np.nan))
    with pytest.raises(PUInputError, match="50 rows but y has 49"):
        ready(estimator).fit(X, y[1:])
    with pytest.raises(PUInputError, match="requires y"):
        ready(estimator).fit(X, None)


@quiet
@each
def test_one_positive_is_an_error_or_an_estimate(gaussians, estimator):
    """Folds cannot hold out an only positive; a kernel can still compare it with the rest."""
    X, _, _ = gaussians(60)
    y = (np.arange(60) == 0).astype(int)
    if isinstance(estimator, KM1 | KM2):
        assert 0 <= ready(estimator).fit(X, y).prior_ <= 1
    else:
        with pytest.raises(PUInputError, match="at least 2 distinct labelled rows"):
            ready(estimator).fit(X, y)


@each
def test_identical_rows_are_refused(estimator):
    with pytest.raises(PUInputError, match=r"identical|distinct"):
        ready(estimator).fit(np.ones((40, 3)), np.arange(40) % 2)


@quiet
@each
def test_constant_columns_are_harmless(gaussians, estimator):
    X, _, y = gaussians(250, distance=4.0)
    wider = np.column_stack([X, np.full(250, 3.3), np.zeros(250)])
    plain, more = ready(estimator).fit(X, y), ready(estimator).fit(wider, y)
    assert more.prior_ == pytest.approx(plain.prior_, abs=0.03)


@pytest.mark.parametrize("kind", [KM1, KM2])
def test_missing_values_are_refused_by_kernels(gaussians, kind):
    X, _, y = gaussians(50)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        kind().fit(X, y)


@quiet
def test_missing_values_are_taken_by_trees(gaussians):
    X, truth, y = gaussians(1500, distance=6.0)
    X[::7, 1] = np.nan
    assert BBE(random_state=0).fit(X, y).prior_ == pytest.approx(truth.mean(), abs=0.06)
    assert 0 < TIcE(random_state=0).fit(X, y).prior_ < 1
