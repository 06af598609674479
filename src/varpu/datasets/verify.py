"""Whether a file is the one that was published."""

import hashlib
from functools import cache
from pathlib import Path

from varpu.datasets.registry import File
from varpu.exceptions import DatasetError


def damage(path: Path, file: File) -> str | None:
    """What is wrong with the file at ``path``: what was wanted and what was found; None if nothing.

    A file that did not change since it was last checked by this process is not read again.
    """
    algorithm, _, wanted = file.checksum.partition(":")
    try:
        status = path.stat()
        if status.st_size != file.size:
            return f"wanted {file.size} bytes, found {status.st_size}"
        found = _digest(path.resolve(), status.st_size, status.st_mtime_ns, algorithm)
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    return None if found == wanted else f"wanted {algorithm} {wanted}, found {found}"


def verify(path: Path, file: File) -> None:
    """Raise `DatasetError` unless the file at ``path`` is the published one."""
    wrong = damage(path, file)
    if wrong is not None:
        raise DatasetError(
            f"{path} is damaged or not the published file: {wrong}."
            " Remove it, and it is looked for elsewhere or downloaded again"
        )


@cache
def _digest(path: Path, size: int, mtime_ns: int, algorithm: str) -> str:
    # Size and time are here to make a file that changed a different call.
    with path.open("rb") as stream:
        # The sums guard against damage, not against an enemy: md5 is fine where it must be used.
        return hashlib.file_digest(
            stream, lambda: hashlib.new(algorithm, usedforsecurity=False)
        ).hexdigest()
