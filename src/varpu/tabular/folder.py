"""A model as a folder of checked files.

``classifier.varpu`` is written by :func:`varpu.save`, ``encoder.safetensors`` holds the encoder's
arrays, ``model.json`` all else, and ``manifest.json`` the SHA-256 of each and of itself.
"""

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from varpu.base import BasePUClassifier
from varpu.exceptions import ModelFileError, PUInputError
from varpu.io import load, save

FORMAT = 1
_CLASSIFIER, _ENCODER, _MODEL = "classifier.varpu", "encoder.safetensors", "model.json"
_FILES = (_CLASSIFIER, _ENCODER, _MODEL)
_MANIFEST = "manifest.json"

Arrays = dict[str, NDArray[Any]]


def check_target(path: Path, force: bool) -> None:
    """Raise :class:`PUInputError` unless a model can be written there."""
    if not path.parent.is_dir():
        raise PUInputError(f"{path.parent} is not a folder to write to")
    if not path.exists():
        return
    is_model = (path / _MANIFEST).is_file()
    if is_model and not force:
        raise PUInputError(f"{path} exists; --force (force=True) replaces it")
    if not is_model and not (path.is_dir() and not any(path.iterdir())):
        raise PUInputError(f"{path} exists and is no model: choose another name")


def write(
    path: Path, classifier: BasePUClassifier, body: dict[str, Any], arrays: Arrays, force: bool
) -> None:
    """Write all files to a folder beside, then put that in place."""
    check_target(path, force)
    try:
        partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise PUInputError(f"{path} cannot be written: {error.strerror}") from None
    try:
        save(classifier, partial / _CLASSIFIER)
        arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
        save_file(arrays, partial / _ENCODER)
        text = json.dumps({"format": FORMAT, **body}, sort_keys=True, indent=1, allow_nan=False)
        (partial / _MODEL).write_text(text, encoding="utf-8")
        sums = {name: _sum((partial / name).read_bytes()) for name in _FILES}
        (partial / _MANIFEST).write_bytes(_manifest(sums))
        partial.chmod(0o777 & ~_umask())
        _put_in_place(partial, path)
    except OSError as error:
        raise PUInputError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def read(path: Path) -> tuple[BasePUClassifier, dict[str, Any], Arrays]:
    """The classifier, the values and the arrays of a model, once its checksums are right."""
    if not path.is_dir():
        what = "is a file" if path.exists() else "does not exist"
        raise ModelFileError(f"{path} {what}; wanted the folder of a model, as varpu fit writes it")
    if not (path / _MANIFEST).is_file():
        raise ModelFileError(f"{path} is not a model: it has no {_MANIFEST}")
    try:
        contents = {name: (path / name).read_bytes() for name in (_MANIFEST, *_FILES)}
    except OSError as error:
        name = Path(error.filename or "").name
        raise ModelFileError(f"{path} is incomplete: {name} cannot be read") from None
    # Made anew and compared byte by byte, so that the manifest vouches for itself too.
    if contents.pop(_MANIFEST) != _manifest({name: _sum(contents[name]) for name in _FILES}):
        raise ModelFileError(f"{path} was altered or damaged: its checksums do not match")
    body = json.loads(contents[_MODEL])
    if body["format"] > FORMAT:
        raise ModelFileError(f"{path} was written by a newer varpu: install that")
    try:
        arrays = load_file(path / _ENCODER)
    except SafetensorError as error:
        raise ModelFileError(f"{path / _ENCODER} cannot be read: {error}") from None
    return load(path / _CLASSIFIER), body, arrays


def _put_in_place(partial: Path, path: Path) -> None:
    if not path.exists():
        os.rename(partial, path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    os.replace(path, old)  # an empty folder gives way
    try:
        os.rename(partial, path)
    except OSError:
        os.replace(old, path)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _manifest(sums: dict[str, str]) -> bytes:
    listed = json.dumps(sums, sort_keys=True)
    whole = {"files": sums, "sha256": _sum(listed.encode())}
    return json.dumps(whole, sort_keys=True, indent=1).encode()


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _umask() -> int:
    # It can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
