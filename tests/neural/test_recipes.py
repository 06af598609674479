"""The paper's settings, against the table they were read from."""

import numpy as np
import pandas as pd
import pytest

from varpu import VPUClassifier, paper_recipe
from varpu.exceptions import PUInputError

# name: (learning rate, batch, lambda, held-out marginal rows, held-out positives)
PUBLISHED = {
    "cifar10": (3e-5, 500, 0.03, 5000, 332),
    "fashion_mnist": (3e-4, 500, 0.3, 5000, 270),
    "stl10": (1e-4, 500, 0.3, 10500, 250),
    "page_blocks": (3e-4, 100, 1e-4, 500, 16),
    "grid_stability": (3e-4, 500, 0.1, 1000, 167),
    "avila": (6e-4, 500, 0.1, 1000, 192),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_settings_are_the_published_ones(name):
    recipe = paper_recipe(name)
    lr, batch, lam, held_out_u, held_out_p = PUBLISHED[name]
    assert (recipe["lr"], recipe["batch_size"], recipe["lam"]) == (lr, batch, lam)
    assert recipe["validation_fraction"] == (held_out_p, held_out_u)
    assert recipe["betas"] == (0.5, 0.99)
    assert (recipe["epochs"], recipe["steps_per_epoch"]) == (50, 30)
    assert (recipe["lr_milestones"], recipe["lr_decay"]) == ((19, 39), 0.5)
    assert (recipe["alpha"], recipe["penalty"], recipe["scale"]) == (0.3, "mixup", "max")
    assert recipe["patience"] is None
    assert recipe["cv"] is None  # one split and one network, as in Algorithm 1
    VPUClassifier(**recipe)._check_params()


def test_a_recipe_is_a_fresh_dict():
    paper_recipe("avila")["lr"] = 1.0
    assert paper_recipe("avila")["lr"] == 6e-4


def test_unknown_recipe_lists_the_known_ones():
    with pytest.raises(PUInputError, match="avila, cifar10"):
        paper_recipe("mnist")


def test_avila_recipe_on_the_real_data(data_dir):
    """A tenth of the training already separates A from the rest far better than the prior does."""
    train, test = (
        pd.read_csv(data_dir / "avila" / f"avila-{part}.txt", header=None) for part in ("tr", "ts")
    )
    truth = (train[10] == "A").to_numpy()
    labelled = np.zeros(len(train), dtype=int)
    labelled[np.random.default_rng(0).choice(np.flatnonzero(truth), 2192, replace=False)] = 1
    recipe = {**paper_recipe("avila"), "epochs": 5, "random_state": 0}
    model = VPUClassifier(**recipe).fit(train.iloc[:, :10].to_numpy(), labelled)
    accuracy = (model.predict(test.iloc[:, :10].to_numpy()) == (test[10] == "A")).mean()
    assert accuracy > 0.70  # the larger class holds 0.589
