"""A network fitted under Ray Train: the loss of the whole batch, and the model comes back."""

import numpy as np
import pytest

from varpu.exceptions import PUInputError
from varpu.scaleout.ray_joining import ray_cluster
from varpu.scaleout.ray_train import fit_on_ray

pytest.importorskip("torch")
pytestmark = [pytest.mark.slow]

PARAMS = {"epochs": 3, "random_state": 0, "device": "cpu", "progress": False}


@pytest.fixture(scope="module")
def cluster():
    with ray_cluster(workers=2):
        yield


@pytest.fixture(scope="module")
def rows():
    random = np.random.RandomState(0)
    X = random.normal(size=(600, 4)).astype(np.float32)
    return X, (X[:, 0] > 0.3) & (random.random_sample(600) < 0.5)


def test_two_workers_fit_what_one_process_fits(cluster, rows):
    from varpu import VPUClassifier

    model = VPUClassifier(**PARAMS)
    there = fit_on_ray(model, *rows, workers=2)
    here = VPUClassifier(**PARAMS).fit(*rows)
    assert not hasattr(model, "prior_")
    assert there.get_params() == here.get_params()
    # The same loss; sums of floats come in another order.
    np.testing.assert_allclose(
        there.decision_function(rows[0]), here.decision_function(rows[0]), atol=1e-3
    )


def test_an_error_of_ours_comes_back(cluster, rows):
    from varpu import VPUClassifier

    with pytest.raises(PUInputError, match="epochs"):
        fit_on_ray(VPUClassifier(**{**PARAMS, "epochs": 0}), *rows, workers=2)
