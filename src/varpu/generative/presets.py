"""The weights the paper found for GenPU (its Table 9)."""

from dataclasses import asdict

from varpu.exceptions import PUInputError
from varpu.generative.values import Weights

# A data set and the number of its task in the paper's Tables 2 and 3.
_TABLE_9 = {
    "fashion_mnist_1": Weights(0.01, 1, 100, 1),
    "fashion_mnist_2": Weights(0.01, 1, 1000, 50),
    "cifar10_1": Weights(0.01, 1, 100, 1),
    "cifar10_2": Weights(0.01, 1, 100, 1),
    "page_blocks_1": Weights(0.01, 1, 1000, 1),
    "page_blocks_2": Weights(0.01, 1, 200, 1),
    "grid_stability_1": Weights(0.01, 1, 1000, 500),
    "grid_stability_2": Weights(0.01, 1, 1000, 500),
    "avila_1": Weights(0.01, 1, 100, 1),
    "avila_2": Weights(0.001, 1, 1000, 500),
}


def genpu_preset(name: str) -> dict[str, float]:
    """The four weights of :class:`GenPUClassifier` in one of the paper's experiments.

    They were chosen there by the accuracy on the *test* set, so what they reach on these data is
    not what they would reach on data of your own.

    ================  =====================  =====================
    name              positive in ``_1``     positive in ``_2``
    ================  =====================  =====================
    fashion_mnist     1, 4, 7                the other classes
    cifar10           0, 1, 8, 9             the other classes
    page_blocks       2 to 5                 1 (text)
    grid_stability    stable                 unstable
    avila             A                      A and F
    ================  =====================  =====================

    Parameters
    ----------
    name : str
        One of the above with ``_1`` or ``_2``, such as ``"avila_2"``.

    Returns
    -------
    dict
        ``positive_p``, ``positive_u``, ``negative_n`` and ``negative_u``; a fresh one.
    """
    if name not in _TABLE_9:
        raise PUInputError(f"there is no preset {name!r}; there are {', '.join(sorted(_TABLE_9))}")
    return asdict(_TABLE_9[name])
