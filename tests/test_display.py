import numpy as np
import pytest
from sklearn import config_context

from varpu import VPUBoostingClassifier


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.5
    X = rng.normal(size=(400, 2)) + 3 * truth[:, None]
    return VPUBoostingClassifier(max_rounds=20, random_state=0).fit(
        X, truth & (rng.random(400) < 0.5)
    )


def test_a_fitted_classifier_says_what_it_found(model):
    shown = model._repr_html_()
    assert "sk-top-container" in shown  # scikit-learn's diagram
    assert f"<b>{model.prior_:.3f}</b>" in shown
    assert f"{model.prior_interval_[0]:.3f} to {model.prior_interval_[1]:.3f}" in shown
    assert f"<b>{model.held_out_loss_:.4f}</b>" in shown
    assert model._repr_mimebundle_()["text/html"].endswith(shown[-100:])


def test_one_that_is_not_fitted_says_nothing():
    assert ", fitted: " not in VPUBoostingClassifier()._repr_html_()


def test_the_display_can_be_text(model):
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert "text/html" not in model._repr_mimebundle_()
