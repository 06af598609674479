"""The settings of the paper's experiments."""

from typing import Any

from varpu.exceptions import PUInputError

_MLP = (300,) * 6
_SHARED: dict[str, Any] = {
    "loss": "variational",
    "penalty": "mixup",
    "alpha": 0.3,
    "betas": (0.5, 0.99),
    "epochs": 50,
    "steps_per_epoch": 30,
    "patience": None,
    "lr_milestones": (19, 39),
    "lr_decay": 0.5,
    "cv": None,
    "scale": "max",
    "scenario": "single-set",
    "standardize": False,
}
# validation_fraction is (held-out positives, held-out marginal rows).
_RECIPES: dict[str, dict[str, Any]] = {
    "cifar10": {
        "module": "cifar_cnn",
        "lr": 3e-5,
        "batch_size": 500,
        "lam": 0.03,
        "validation_fraction": (332, 5000),
    },
    "fashion_mnist": {
        "module": "lenet5",
        "lr": 3e-4,
        "batch_size": 500,
        "lam": 0.3,
        "validation_fraction": (270, 5000),
    },
    "stl10": {
        "module": "stl_cnn",
        "lr": 1e-4,
        "batch_size": 500,
        "lam": 0.3,
        "validation_fraction": (250, 10500),
    },
    "page_blocks": {
        "hidden": _MLP,
        "lr": 3e-4,
        "batch_size": 100,
        "lam": 1e-4,
        "validation_fraction": (16, 500),
    },
    "grid_stability": {
        "hidden": _MLP,
        "lr": 3e-4,
        "batch_size": 500,
        "lam": 0.1,
        "validation_fraction": (167, 1000),
    },
    "avila": {
        "hidden": _MLP,
        "lr": 6e-4,
        "batch_size": 500,
        "lam": 0.1,
        "validation_fraction": (192, 1000),
    },
}


def paper_recipe(name: str) -> dict[str, Any]:
    """Parameters of :class:`VPUClassifier` as in one of the paper's experiments.

    ``VPUClassifier(**paper_recipe("avila"))`` is the authors' network, optimiser, schedule, penalty
    weight and held-out set for that data. What depends on the data is the number of labelled
    positives to give it: those trained on and those held out.

    ==============  ====================================  ==============================
    name            positive classes                      labelled (trained + held out)
    ==============  ====================================  ==============================
    cifar10         0, 1, 8, 9                            3,000 + 332
    fashion_mnist   1, 4, 7                               3,000 + 270
    stl10           0, 2, 3, 8, 9                         2,250 + 250
    page_blocks     2 to 5                                100 + 16
    grid_stability  stable                                1,000 + 167
    avila           A                                     2,000 + 192
    ==============  ====================================  ==============================

    Parameters
    ----------
    name : str
        One of the above.

    Returns
    -------
    dict
        A fresh one, to be changed as you like.
    """
    if name not in _RECIPES:
        raise PUInputError(f"there is no recipe {name!r}; there are {', '.join(sorted(_RECIPES))}")
    return {**_SHARED, **_RECIPES[name]}
