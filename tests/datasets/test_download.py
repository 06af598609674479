"""Downloads from a server of our own."""

import http.server

import pytest

from varpu.datasets.download import download
from varpu.datasets.files import fetch
from varpu.datasets.progress import DownloadBar
from varpu.datasets.registry import DATASETS, Entry, File
from varpu.exceptions import DatasetError

CONTENTS = {"some/one.bin": b"one" * 200_000, "some/two.bin": b"second"}
MEMBERS = {f"folder/{path.split('/')[-1]}": content for path, content in CONTENTS.items()}


def files_below(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_archive(server, cache, made, kind):
    folder, url = server
    getattr(made, kind)(folder / "made", {"folder/notes": b"n", **MEMBERS})
    entry = made.entry(CONTENTS, url + "made")
    paths = fetch(entry)
    assert files_below(cache) == CONTENTS  # nothing else is left
    (folder / "made").unlink()
    assert fetch(entry) == paths


def test_all_that_an_archive_has_is_kept(server, cache, tmp_path, made):
    folder, url = server
    made.tar(folder / "made", MEMBERS)
    fetch(made.entry(CONTENTS, url + "made"), tmp_path / "home", only=["two.bin"])
    assert files_below(tmp_path / "home") == CONTENTS
    assert not cache.exists()


def test_only_what_is_missing_is_written(server, cache, tmp_path, monkeypatch, made):
    folder, url = server
    made.zip(folder / "made", MEMBERS)
    made.files(tmp_path / "shared", {"some/one.bin": CONTENTS["some/one.bin"]})
    monkeypatch.setenv("VARPU_DATA", str(tmp_path / "shared"))
    fetch(made.entry(CONTENTS, url + "made"))
    assert files_below(cache) == {"some/two.bin": b"second"}


def test_single_files(server, cache, made):
    folder, url = server
    made.files(folder, {"a.gz": b"\x1f\x8bpacked", "b.gz": b"other"})
    files = [
        *made.entry({"raw/a.gz": b"\x1f\x8bpacked"}, url + "a.gz", packed=False).files,
        *made.entry({"raw/b.gz": b"other"}, url + "b.gz", packed=False).files,
    ]
    fetch(Entry("made", 1, tuple(files)))
    assert files_below(cache) == {"raw/a.gz": b"\x1f\x8bpacked", "raw/b.gz": b"other"}


def test_compressed_member(server, cache, made):
    folder, url = server
    # b"1" as a code of nine bits, the lowest first.
    made.zip(folder / "made", {"data.Z": b"\x1f\x9d\x90\x31\x00"})
    (wanted,) = made.entry({"some/data": b"1"}).files
    file = File(wanted.path, wanted.size, wanted.checksum, url + "made", "data.Z")
    download(file.url, [file], cache)
    assert files_below(cache) == {"some/data": b"1"}


@pytest.mark.parametrize(
    ("members", "why"),
    [
        (
            {**MEMBERS, "folder/two.bin": b"secone"},
            r"gave another two\.bin .* wanted sha256 \w+, f",
        ),
        ({"folder/one.bin": CONTENTS["some/one.bin"]}, r"holds no two\.bin"),
    ],
)
def test_another_archive(server, cache, made, members, why):
    folder, url = server
    made.tar(folder / "made", members)
    with pytest.raises(DatasetError, match=why):
        fetch(made.entry(CONTENTS, url + "made"))
    assert "some/two.bin" not in files_below(cache)
    assert not list(cache.glob(".download-*"))


@pytest.mark.parametrize("content", [None, b"no archive", b"\x1f\x8b\x08\x00broken"])
def test_no_archive(server, cache, made, content):
    folder, url = server
    if content is not None:
        made.files(folder, {"made": content})
    with pytest.raises(DatasetError, match="could not be downloaded") as caught:
        fetch(made.entry(CONTENTS, url + "made"))
    assert content is not None or "404" in str(caught.value)
    assert files_below(cache) == {}


def test_a_transfer_that_breaks_off(server, cache, made, monkeypatch):
    folder, url = server
    made.zip(folder / "made", MEMBERS)

    def half(self, source, out):
        out.write(source.read(1000))

    monkeypatch.setattr(http.server.SimpleHTTPRequestHandler, "copyfile", half)
    with pytest.raises(DatasetError, match="could not be downloaded"):
        fetch(made.entry(CONTENTS, url + "made"))
    assert files_below(cache) == {}


def test_a_folder_that_cannot_be_made(server, cache, tmp_path, made):
    folder, url = server
    made.zip(folder / "made", MEMBERS)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DatasetError, match="could not be downloaded"):
        fetch(made.entry(CONTENTS, url + "made"), tmp_path / "file" / "home")


@pytest.mark.parametrize("name", ["grid_stability", "avila"])
def test_the_real_files_from_our_server(server, cache, data_dir, made, name, monkeypatch):
    folder, url = server
    entry = DATASETS[name]
    made.zip(folder / "made", {f.member: (data_dir / f.path).read_bytes() for f in entry.files})
    files = tuple(File(f.path, f.size, f.checksum, url + "made", f.member) for f in entry.files)
    fetch(Entry(name, entry.rows, files))
    assert files_below(cache).keys() == {f.path for f in files}


def test_bar(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with DownloadBar("made.zip") as bar:
        assert bar.total is None
        bar.total = 2000
        assert bar.total == 2000
        bar.update(1500)
        bar.reset()
        bar.update(2000)
        bar.close()
    assert "made.zip" in capsys.readouterr().err
    monkeypatch.delenv("FORCE_COLOR")
    with DownloadBar("made.zip") as bar:
        bar.total = 0
        assert bar.total is None
        bar.update(10)
    assert "made.zip" not in capsys.readouterr().err
