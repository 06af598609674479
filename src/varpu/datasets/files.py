"""The files of a data set: found, else downloaded, and checked."""

from collections.abc import Iterable
from pathlib import Path

from varpu.datasets.download import download
from varpu.datasets.folders import Folder, data_folders, find, target_folder
from varpu.datasets.registry import Entry, File
from varpu.datasets.verify import verify
from varpu.exceptions import DatasetError


def fetch(
    entry: Entry,
    data_home: Folder = None,
    *,
    allow_download: bool = True,
    only: Iterable[str] | None = None,
) -> dict[str, Path]:
    """Find the files of a data set, download those that are nowhere, and check them all.

    Parameters
    ----------
    entry : Entry
    data_home : path, optional
        The folder to look in first, and to download to.
    allow_download : bool
    only : names of files, optional
        Those that are needed; all unless given.

    Returns
    -------
    dict
        The path of each file by its name.

    Raises
    ------
    DatasetError
        If a file is absent and cannot be downloaded, or is not the published one.
    """
    names = {file.name for file in entry.files} if only is None else set(only)
    files = [file for file in entry.files if file.name in names]
    missing = [file for file in files if find(file, data_home) is None]
    if missing and not allow_download:
        raise _absent(entry, missing, data_home, "downloading was not allowed")
    for url in dict.fromkeys(file.url for file in missing):
        _download(entry, url, missing, data_home)
    paths = {}
    for file in files:
        path = find(file, data_home)
        if path is None:
            raise _absent(entry, [file], data_home, "it vanished while it was looked for")
        verify(path, file)
        paths[file.name] = path
    return paths


def _download(entry: Entry, url: str | None, missing: list[File], data_home: Folder) -> None:
    lacking = [file for file in missing if file.url == url]
    if url is None:
        raise _absent(entry, lacking, data_home, "there is no source to download it from")
    # An archive is large: whatever of it is nowhere yet is kept, needed now or not.
    files = [file for file in entry.files if file.url == url and find(file, data_home) is None]
    try:
        download(url, files, target_folder(data_home))
    except DatasetError as error:
        raise _absent(entry, lacking, data_home, str(error)) from error


def _absent(entry: Entry, missing: list[File], data_home: Folder, why: str) -> DatasetError:
    folders = ", ".join(str(folder) for folder in data_folders(data_home))
    paths = ", ".join(file.path for file in missing)
    return DatasetError(
        f"{entry.name}: {paths} not found in {folders}, and {why}."
        f" Put it in one of these folders, under that path, or set VARPU_DATA to the folder that"
        " holds it"
    )
