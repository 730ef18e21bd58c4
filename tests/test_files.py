from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import pytest

from palpate.errors import FileError, TraceError
from palpate.files import atomic_write, make_folder, open_lock, open_new, write_file


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
    with pytest.raises(FileError, match="no folder"):
        atomic_write(tmp_path / "absent" / "a.bin", lambda file: file.write(b""))
    with pytest.raises(FileError, match="it is a folder"):
        atomic_write(tmp_path, lambda file: file.write(b""))
    with pytest.raises(FileError, match="no regular file"):
        atomic_write(os.devnull, lambda file: file.write(b""))
    assert not Path(os.devnull).is_file()


WRITERS = {
    "atomic_write": lambda path: atomic_write(path, lambda file: file.write(b"new")),
    "write_file": lambda path: write_file(path, "new"),
    "open_new": lambda path: open_new(path).close(),
    "open_lock": lambda path: open_lock(path).close(),
    "make_folder": make_folder,
}


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "dangling"])
@pytest.mark.parametrize("writer", WRITERS)
def test_a_symbolic_link_is_refused_by_name_and_never_followed(tmp_path: Path, writer: str, there: bool):
    real, link = tmp_path / "real.bin", tmp_path / "link.bin"
    if there:
        real.write_bytes(b"old")
    link.symlink_to(real)
    with pytest.raises(FileError, match=r"link\.bin.*symbolic link"):
        WRITERS[writer](link)
    assert link.is_symlink()
    assert not there or real.read_bytes() == b"old"
    assert real.exists() == there


def test_a_link_planted_while_a_file_is_written_is_replaced_and_not_followed(tmp_path: Path):
    real, path = tmp_path / "real.bin", tmp_path / "a.bin"
    real.write_bytes(b"old")

    def write(file: BinaryIO) -> None:
        file.write(b"new")
        path.symlink_to(real)

    atomic_write(path, write)
    assert (path.is_symlink(), path.read_bytes(), real.read_bytes()) == (False, b"new", b"old")


def test_a_folder_that_is_reached_through_a_link_may_be_written_to(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert write_file(tmp_path / "link" / "a.bin", b"new") == (tmp_path / "real" / "a.bin").resolve()


def test_litter_of_a_killed_writer_goes_with_the_next_file_and_that_of_a_living_one_stays(tmp_path: Path):
    dead = tmp_path / ".palpate-0123.part"
    dead.write_bytes(b"half")
    seen: list[set[str]] = []

    def write(_: BinaryIO) -> None:
        write_file(tmp_path / "b.bin", b"")  # looks for litter while a.bin is being written
        seen.append(set(os.listdir(tmp_path)))

    atomic_write(tmp_path / "a.bin", write)
    assert dead.name not in seen[0]
    assert len([name for name in seen[0] if name.endswith(".part")]) == 1
    assert sorted(os.listdir(tmp_path)) == ["a.bin", "b.bin"]


def test_the_new_file_has_the_permissions_of_any_new_file(tmp_path: Path):
    (tmp_path / "plain").write_bytes(b"")
    atomic_write(tmp_path / "a.bin", lambda file: file.write(b""))
    assert (tmp_path / "a.bin").stat().st_mode == (tmp_path / "plain").stat().st_mode
