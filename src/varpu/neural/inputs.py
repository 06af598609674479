"""What a network sees: pixels as numbers, and which network belongs to which input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from varpu.exceptions import PUInputError
from varpu.nets import MLP, CifarCNN, LeNet5, StlCNN

Factory = Callable[[], nn.Module]

NETWORKS: dict[str, type[LeNet5] | type[CifarCNN] | type[StlCNN]] = {
    "lenet5": LeNet5,
    "cifar_cnn": CifarCNN,
    "stl_cnn": StlCNN,
}


def pixels_to_unit(rows: Tensor) -> Tensor:
    """Bytes to [-1, 1]; numbers stay as they are."""
    if rows.dtype != torch.uint8:
        return rows
    return (rows.float() - 127.5) / 127.5


def network_factory(
    module: str | Callable[[], nn.Module] | None, hidden: tuple[int, ...], shape: tuple[int, ...]
) -> Factory:
    """A function that makes a network for inputs of ``shape`` (without the row dimension)."""
    if callable(module):
        return module
    if module is None and len(shape) == 1:
        return lambda: MLP(shape[0], hidden)
    if module is None:
        found = [kind for kind in NETWORKS.values() if kind.input_shape == shape]
        if not found:
            known = ", ".join(str(kind.input_shape) for kind in NETWORKS.values())
            raise PUInputError(
                f"there is no network for images of shape {shape}: there are ones for {known};"
                " for others give module=, a function that makes an nn.Module"
            )
        return found[0]
    network = NETWORKS[module]
    if network.input_shape != shape:
        raise PUInputError(
            f"module={module!r} takes images of shape {network.input_shape}, got {shape}"
        )
    return network


def network_in_state(factory: Factory, state: dict[str, Tensor]) -> nn.Module:
    """A network with the weights of ``state``, on the CPU, in evaluation mode."""
    with torch.random.fork_rng(devices=[]):  # its first weights are thrown away at once
        network = factory()
    network.load_state_dict(state)
    return network.cpu().eval()


def prepared(X: NDArray[Any], mean: NDArray[np.float64], std: NDArray[np.float64]) -> NDArray[Any]:
    """The rows as networks take them: images as they are, columns centred and scaled."""
    return X if X.ndim > 2 else (X - mean) / std


def factory_of(model: Any) -> Factory:
    """What makes the network of a model whose input is known."""
    shape = getattr(model, "image_shape_", (model.n_features_in_,))
    return network_factory(model.module, tuple(model.hidden), shape)
