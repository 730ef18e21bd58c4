from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import pytest

from palpate.errors import FileError, TraceError
from palpate.files import atomic_write


def test_a_written_file_holds_the_bytes_and_leaves_no_neighbour(tmp_path: Path):
    target = atomic_write(tmp_path / "a.bin", lambda file: file.write(b"hello"))
    assert target.read_bytes() == b"hello"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_the_old_file_is_there_until_the_new_one_is_complete(tmp_path: Path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    seen: list[bytes] = []

    def write(file: BinaryIO) -> None:
        file.write(b"new")
        file.flush()
        seen.append(path.read_bytes())

    atomic_write(path, write)
    assert seen == [b"old"]
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), SystemExit(1), TraceError("no"), MemoryError()])
@pytest.mark.parametrize("existed", [True, False])
def test_an_interrupted_write_leaves_the_old_file_and_no_temporary_one(
    tmp_path: Path, failure: BaseException, existed: bool
):
    path = tmp_path / "a.bin"
    if existed:
        path.write_bytes(b"old")

    def write(file: BinaryIO) -> None:
        file.write(b"half of the n")
        raise failure

    with pytest.raises(type(failure)):
        atomic_write(path, write)
    assert os.listdir(tmp_path) == (["a.bin"] if existed else [])
    assert not existed or path.read_bytes() == b"old"


def test_a_full_disk_is_a_file_error_that_names_the_file_and_the_reason(tmp_path: Path):
    def write(file: BinaryIO) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(FileError, match=r"a\.bin: No space left on device\n  hint"):
        atomic_write(tmp_path / "a.bin", write)
    assert os.listdir(tmp_path) == []


def test_a_failing_replacement_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(FileError, match="Permission denied"):
        atomic_write(path, lambda file: file.write(b"new"))
    assert os.listdir(tmp_path) == ["a.bin"]
    assert path.read_bytes() == b"old"


def test_a_missing_folder_a_folder_and_a_device_are_refused(tmp_path: Path):
    with pytest.raises(FileError, match="there is no folder"):
        atomic_write(tmp_path / "absent" / "a.bin", lambda file: file.write(b""))
    with pytest.raises(FileError, match="it is a folder"):
        atomic_write(tmp_path, lambda file: file.write(b""))
    with pytest.raises(FileError, match="no regular file"):
        atomic_write(os.devnull, lambda file: file.write(b""))
    assert not Path(os.devnull).is_file()


def test_a_link_keeps_pointing_at_the_file_that_was_replaced(tmp_path: Path):
    real, link = tmp_path / "real.bin", tmp_path / "link.bin"
    real.write_bytes(b"old")
    link.symlink_to(real)
    assert atomic_write(link, lambda file: file.write(b"new")) == real.resolve()
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_the_new_file_has_the_permissions_of_any_new_file(tmp_path: Path):
    (tmp_path / "plain").write_bytes(b"")
    atomic_write(tmp_path / "a.bin", lambda file: file.write(b""))
    assert (tmp_path / "a.bin").stat().st_mode == (tmp_path / "plain").stat().st_mode
