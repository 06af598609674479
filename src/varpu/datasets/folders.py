"""The folders where data files are looked for."""

import os
from collections.abc import Iterator
from pathlib import Path

from varpu.datasets.registry import File

# What a caller may name a folder by.
Folder = str | os.PathLike[str] | None


def cache_folder() -> Path:
    """The folder for downloads: ``VARPU_CACHE``, or the system's place for caches."""
    named = os.environ.get("VARPU_CACHE")
    if named:
        return Path(named).expanduser()
    try:
        import pooch
    except ModuleNotFoundError:
        caches = os.environ.get("XDG_CACHE_HOME")
        return (Path(caches) if caches else Path.home() / ".cache") / "varpu"
    return Path(pooch.os_cache("varpu"))


def data_folders(data_home: Folder = None) -> Iterator[Path]:
    """The folders to look in, one after the other."""
    if data_home is not None:
        yield Path(data_home).expanduser()
    named = os.environ.get("VARPU_DATA")
    if named:
        yield Path(named).expanduser()
    yield cache_folder()  # last, as finding it may import pooch


def target_folder(data_home: Folder = None) -> Path:
    """The folder that downloads go to. Not that of ``VARPU_DATA``, which others may share."""
    return cache_folder() if data_home is None else Path(data_home).expanduser()


def find(file: File, data_home: Folder = None) -> Path | None:
    """The first path at which the file exists, or None; it is not checked."""
    paths = (folder / file.path for folder in data_folders(data_home))
    return next((path for path in paths if path.is_file()), None)
