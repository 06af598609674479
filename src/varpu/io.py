"""Save and load models without pickle.

A model is one safetensors file: its arrays as tensors, and everything else as JSON in the header.
Nothing in it is executed when it is read. The header carries the format's version and checksums of
the JSON and of every array, so a file that was cut short or altered is found out.
"""

import hashlib
import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from sklearn.utils.validation import check_is_fitted

from varpu import __version__
from varpu.base import BasePUClassifier
from varpu.exceptions import ModelFileError, PUInputError

FORMAT = 1

# The classes a file may name. Reading a file never imports anything else.
_CLASSES = {
    "PUClassifier": "varpu.auto",
    "VPUClassifier": "varpu.neural",
    "VPUBoostingClassifier": "varpu.boosting",
    "VPUXGBoostClassifier": "varpu.boosting",
    "UPUClassifier": "varpu.neural",
    "NNPUClassifier": "varpu.neural",
    "GenPUClassifier": "varpu.neural",
    "NetworkClassifier": "varpu.neural",
    "PULDClassifier": "varpu.classic",
    "RocchioSVMClassifier": "varpu.classic",
}


def save(model: BasePUClassifier, path: str | Path) -> None:
    """Write a fitted model to one file; it is written whole or not at all.

    Parameters
    ----------
    model : fitted classifier of this package
    path : path
        By custom it ends in ``.varpu``; an existing file is replaced.
    """
    kind = type(model).__name__
    if kind not in _CLASSES:
        raise PUInputError(
            f"save takes {', '.join(_CLASSES)}; got {kind}. A model that wraps another estimator"
            " cannot be stored without pickle, which runs whatever a file says"
        )
    check_is_fitted(model)
    fields, arrays = model._to_state()
    # safetensors writes the memory as it lies, whatever the strides say.
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    body = {"class": kind, "varpu": __version__, "params": _params(model), "fitted": fields}
    text = json.dumps(body, sort_keys=True)
    header = {
        "format": str(FORMAT),
        "model": text,
        "checksums": json.dumps(_checksums(text, arrays), sort_keys=True),
    }
    path = Path(path)
    partial = path.with_name(path.name + ".partial")
    try:
        save_file(arrays, partial, metadata=header)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def load(path: str | Path, **params: Any) -> BasePUClassifier:
    """Read a model that :func:`save` wrote.

    Parameters
    ----------
    path : path
    **params
        Parameters to set anew, such as ``device="cpu"``. A model with a network of your own needs
        ``module=``, the function that makes it: code is not stored.

    Raises
    ------
    ModelFileError
        If the file is not a model, is incomplete, was altered, or comes from a later version.
    """
    path = Path(path)
    header, arrays = _read(path)
    if "model" not in header or not header.get("format", "").isdecimal():
        raise ModelFileError(f"{path} is a safetensors file, but not a varpu model")
    if int(header["format"]) > FORMAT:
        raise ModelFileError(
            f"{path} has format {header['format']}, this varpu {__version__} reads up to {FORMAT}:"
            " install a newer varpu"
        )
    if json.loads(header.get("checksums", "{}")) != _checksums(header["model"], arrays):
        raise ModelFileError(f"{path} was altered or damaged: its checksums do not match")
    body = json.loads(header["model"])
    if body["class"] not in _CLASSES:
        raise ModelFileError(f"{path} holds a {body['class']}, which this varpu does not know")
    return _build(path, body, arrays, params)


def _build(
    path: Path, body: dict[str, Any], arrays: dict[str, NDArray[Any]], params: dict[str, Any]
) -> BasePUClassifier:
    missing = [name for name in body["params"]["code"] if name not in params]
    if missing:
        needed = ", ".join(f"{name}=" for name in missing)
        raise ModelFileError(
            f"{path} was fitted with your own {' and '.join(missing)}, and code is not stored:"
            f" give load the same again, as {needed}"
        )
    kind = getattr(import_module(_CLASSES[body["class"]]), body["class"])
    values = {name: _from_json(value) for name, value in body["params"]["values"].items()}
    model: BasePUClassifier = kind(**{**values, **params})
    try:
        model._from_state(body["fitted"], arrays)
    except (KeyError, RuntimeError) as error:
        raise ModelFileError(f"{path} does not fit its network: {error}") from None
    return model


def _read(path: Path) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    if not path.is_file():
        raise ModelFileError(f"{path} is not a file")
    try:
        with safe_open(path, framework="np") as file:
            names = list(file.keys())
            return file.metadata() or {}, {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(f"{path} is not a varpu model, or is cut short: {error}") from None


def _checksums(text: str, arrays: dict[str, NDArray[Any]]) -> dict[str, str]:
    sums = {"": hashlib.sha256(text.encode()).hexdigest()}
    for name, array in arrays.items():
        about = f"{array.dtype} {array.shape} ".encode()
        sums[name] = hashlib.sha256(about + np.ascontiguousarray(array).tobytes()).hexdigest()
    return sums


def _params(model: BasePUClassifier) -> dict[str, Any]:
    """Parameters as JSON, and the names of those that are code and cannot be stored."""
    values: dict[str, Any] = {}
    code = []
    for name, value in model._storable_params().items():
        if callable(value):
            code.append(name)
        elif isinstance(value, np.random.RandomState):
            values[name] = None  # where the generator stood is of no use to a fitted model
        else:
            values[name] = _to_json(value)
    return {"values": values, "code": code}


def _to_json(value: Any) -> Any:
    if isinstance(value, tuple | list | np.ndarray):
        return [_to_json(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return str(value) if isinstance(value, Path) else value


def _from_json(value: Any) -> Any:
    """Sequences come back as tuples: some parameters tell a pair from a number by that."""
    return tuple(_from_json(item) for item in value) if isinstance(value, list) else value
