"""The errors and warnings of varpu; each message says what was wanted and what came."""

from importlib.util import find_spec

__all__ = [
    "DatasetError",
    "MissingExtraError",
    "ModelFileError",
    "PUInputError",
    "ScaleWarning",
    "VarpuError",
]


class VarpuError(Exception):
    """The root of every error that varpu raises on purpose."""


class PUInputError(VarpuError, ValueError):
    """The data or the parameters are not what was asked for."""


class ModelFileError(VarpuError, ValueError):
    """A file does not hold a model that can be read."""


class DatasetError(VarpuError):
    """A data set is absent, cannot be downloaded or is not the published one."""


class MissingExtraError(VarpuError, ImportError):
    """An optional dependency is not installed."""


class ScaleWarning(UserWarning):
    """The scale or the prior cannot be trusted."""


def missing_extra(extra: str) -> MissingExtraError:
    """Make the error for an extra that is not installed, e.g. ``"torch"``."""
    return MissingExtraError(
        f'This part of varpu needs {extra}, which comes with: pip install "varpu[{extra}]"',
        name=extra,
    )


def require_extra(extra: str) -> None:
    """Raise `MissingExtraError` unless the package ``extra`` can be imported; it is not loaded."""
    if find_spec(extra) is None:
        raise missing_extra(extra)
