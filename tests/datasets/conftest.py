import hashlib
import io
import tarfile
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from varpu.datasets.registry import Entry, File


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The only folder that is looked in, unless a test adds others; it is empty."""
    monkeypatch.delenv("VARPU_DATA", raising=False)
    monkeypatch.setenv("VARPU_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A folder, and the address at which it is served."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "served"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as http:
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        yield folder, f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()
        thread.join()


def make_entry(contents, url=None, *, packed=True, algorithm="sha256"):
    """The entry of files with these contents, {path: bytes}."""

    def make_file(path, content):
        checksum = f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"
        return File(path, len(content), checksum, url, path.split("/")[-1] if packed else None)

    return Entry("made", 1, tuple(make_file(*item) for item in contents.items()))


def write(folder, contents):
    for path, content in contents.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def write_zip(path, contents):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def write_tar(path, contents):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


@pytest.fixture(scope="session")
def made():
    """Helpers that make entries, files and archives."""
    return SimpleNamespace(entry=make_entry, files=write, zip=write_zip, tar=write_tar)
