"""Where files are looked for, how they are checked, and what is said when they are absent."""

import builtins
import sys
from pathlib import Path

import pooch
import pytest

from varpu.datasets import page_blocks, verify
from varpu.datasets.files import fetch
from varpu.datasets.folders import cache_folder, data_folders
from varpu.exceptions import DatasetError, VarpuError

CONTENTS = {"some/one.bin": b"one", "some/two.bin": b"second"}


def test_folders_in_order(cache, tmp_path, monkeypatch, made):
    entry = made.entry(CONTENTS)
    home, shared = tmp_path / "home", tmp_path / "shared"
    monkeypatch.setenv("VARPU_DATA", str(shared))
    assert list(data_folders(home)) == [home, shared, cache]
    made.files(cache, CONTENTS)
    assert fetch(entry, home)["two.bin"] == cache / "some" / "two.bin"
    made.files(shared, {"some/two.bin": CONTENTS["some/two.bin"]})
    assert fetch(entry, home) == {
        "one.bin": cache / "some" / "one.bin",
        "two.bin": shared / "some" / "two.bin",
    }
    made.files(home, CONTENTS)
    assert fetch(entry, str(home), only=["one.bin"]) == {"one.bin": home / "some" / "one.bin"}


def test_cache_without_pooch(monkeypatch, tmp_path):
    monkeypatch.delenv("VARPU_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path(pooch.os_cache("varpu"))
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert cache_folder() == Path.home() / ".cache" / "varpu"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "varpu"


def test_local_files_need_no_pooch(cache, monkeypatch, made):
    monkeypatch.setitem(sys.modules, "pooch", None)
    made.files(cache, CONTENTS)
    entry = made.entry(CONTENTS, "http://127.0.0.1:9/made.zip")
    assert len(fetch(entry)) == 2
    (cache / "some" / "one.bin").unlink()
    with pytest.raises(DatasetError, match="pip install pooch"):
        fetch(entry)


@pytest.mark.parametrize("algorithm", ["sha256", "md5"])
def test_damage_is_found(cache, made, algorithm):
    entry = made.entry(CONTENTS, algorithm=algorithm)
    made.files(cache, {**CONTENTS, "some/two.bin": b"secone"})
    wanted = entry.files[1].checksum.split(":")[1]
    found = made.entry({"two.bin": b"secone"}, algorithm=algorithm).files[0].checksum.split(":")[1]
    with pytest.raises(DatasetError) as caught:
        fetch(entry)
    message = str(caught.value)
    assert str(cache / "some" / "two.bin") in message
    assert f"wanted {algorithm} {wanted}, found {found}" in message


def test_wrong_size_is_found(cache, made):
    made.files(cache, {**CONTENTS, "some/two.bin": b"second and more"})
    with pytest.raises(DatasetError, match=r"two\.bin .* wanted 6 bytes, found 15"):
        fetch(made.entry(CONTENTS))


def test_a_file_that_cannot_be_read(cache, made):
    file = made.entry(CONTENTS).files[0]
    assert "cannot be read" in verify.damage(cache / file.path, file)


def test_a_checked_file_is_not_read_again(cache, made, monkeypatch):
    made.files(cache, CONTENTS)
    entry = made.entry(CONTENTS)
    paths = fetch(entry)

    def no_open(*args, **options):
        raise AssertionError("read again")

    monkeypatch.setattr(Path, "open", no_open)
    monkeypatch.setattr(builtins, "open", no_open)
    assert fetch(entry) == paths
    monkeypatch.undo()


def test_a_changed_file_is_read_again(tmp_path, made):
    entry = made.entry(CONTENTS)
    made.files(tmp_path, CONTENTS)
    fetch(entry, tmp_path)
    made.files(tmp_path, {"some/one.bin": b"eno"})
    with pytest.raises(DatasetError, match="damaged"):
        fetch(entry, tmp_path)


@pytest.mark.parametrize("allowed", [True, False])
def test_absent(cache, tmp_path, monkeypatch, made, allowed):
    monkeypatch.setenv("VARPU_DATA", str(tmp_path / "shared"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    url = "http://127.0.0.1:9/made.zip"  # nothing listens there
    made.files(tmp_path / "shared", {"some/one.bin": b"one"})
    with pytest.raises(DatasetError) as caught:
        fetch(made.entry(CONTENTS, url), tmp_path / "home", allow_download=allowed)
    message = str(caught.value)
    assert isinstance(caught.value, VarpuError)
    assert "made: some/two.bin not found in" in message
    assert "one.bin" not in message
    for folder in (tmp_path / "home", tmp_path / "shared", cache):
        assert str(folder) in message
    assert "set VARPU_DATA to the folder" in message
    reason = f"{url} could not be downloaded" if allowed else "downloading was not allowed"
    assert reason in message


def test_the_authors_copy_cannot_be_downloaded(cache):
    with pytest.raises(DatasetError, match=r"authors-pageblocks\.txt .* no source to download"):
        page_blocks(copy="authors")
