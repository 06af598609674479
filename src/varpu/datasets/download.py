"""Downloads from the official sources, written so that a half file never has the right name."""

import io
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence, Set
from pathlib import Path, PurePosixPath
from typing import IO

from varpu.datasets.lzw import uncompress
from varpu.datasets.progress import DownloadBar
from varpu.datasets.registry import File
from varpu.datasets.verify import damage
from varpu.exceptions import DatasetError

_TIMEOUT = 30  # seconds without a byte
_BROKEN = (OSError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError)


def download(url: str, files: Sequence[File], folder: Path) -> None:
    """Get files of one address into a data folder; each is checked before it gets its name.

    Parameters
    ----------
    url : str
        The file itself, or a zip or tar archive.
    files : sequence of File
        Those to keep, all of this address.
    folder : Path
        The data folder; it is made if need be.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # In the same folder, so that a finished file can be renamed in one step.
        with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as scratch:
            got, part = Path(scratch) / "got", Path(scratch) / "part"
            _get(url, got)
            missing = {file.name for file in files}
            for file, stream in _unpack(got, files):
                with part.open("wb") as out:
                    shutil.copyfileobj(stream, out, 2**20)
                _put(part, file, folder, url)
                missing.discard(file.name)
    except _BROKEN as error:
        raise DatasetError(f"{url} could not be downloaded to {folder}: {error}") from error
    if missing:
        raise DatasetError(f"{url} holds no {', '.join(sorted(missing))}")


def _get(url: str, target: Path) -> None:
    try:
        from pooch import HTTPDownloader
    except ModuleNotFoundError:
        raise DatasetError(f"{url} needs pooch to be downloaded: pip install pooch") from None
    with DownloadBar(PurePosixPath(url).name) as bar:
        # A server may send a .gz file as if it were packed for the way, and it would be unpacked.
        get = HTTPDownloader(
            progressbar=bar,
            chunk_size=2**18,
            timeout=_TIMEOUT,
            headers={"Accept-Encoding": "identity"},
        )
        try:
            get(url, str(target), None)
        except OSError as error:
            response = getattr(error, "response", None)
            if response is not None:
                response.close()  # pooch leaves it open
            raise


def _put(part: Path, file: File, folder: Path, url: str) -> None:
    wrong = damage(part, file)
    if wrong is not None:
        raise DatasetError(f"{url} gave another {file.name} than the published one: {wrong}")
    target = folder / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(part, target)


def _unpack(got: Path, files: Sequence[File]) -> Iterator[tuple[File, IO[bytes]]]:
    """Each file that the download holds, in whatever folder of an archive, and its bytes."""
    if files[0].member is None:
        with got.open("rb") as whole:
            yield files[0], whole
        return
    wanted = {name: file for file in files for name in (file.name, file.member) if name}
    for name, stream in _members(got, wanted.keys()):
        packed = name.endswith(".Z")
        yield wanted[name], io.BytesIO(uncompress(stream.read())) if packed else stream


def _members(archive: Path, wanted: Set[str]) -> Iterator[tuple[str, IO[bytes]]]:
    """The wanted files of a zip or tar archive, in one pass: a large tar is slow to go through."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for path in packed.namelist():
                name = PurePosixPath(path).name
                if name in wanted:
                    with packed.open(path) as stream:
                        yield name, stream
        return
    with tarfile.open(archive) as tape:
        for member in tape:
            name = PurePosixPath(member.name).name
            content = tape.extractfile(member) if name in wanted else None
            if content is not None:  # None for a folder, too
                yield name, content
