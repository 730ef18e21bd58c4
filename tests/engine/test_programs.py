"""Programs of the package's own as machine code: kept, found again, and compiled anew where a file is damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.engine.compiling import cache, programs, shipped
from palpate.engine.compiling.cache import Origin
from palpate.engine.compiling.kernel_files import Folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "kept"
    place.mkdir(mode=0o700)
    for module in (cache, shipped):
        monkeypatch.setattr(module, "folder_in_use", lambda: cache.FolderInUse(Folder.private(place)))
    return place


def loaded(digest: str) -> list[str]:
    """The prefixes that were written for a program, after it was forgotten and asked for again."""
    written: list[str] = []

    def write(prefix: str) -> str:
        written.append(prefix)
        return f"define void @{prefix}_nothing() {{\n  ret void\n}}"

    prefix = programs.load(Origin(Path(__file__), 1, "test", digest), write)
    assert programs.address(f"{prefix}_nothing")
    programs._loaded.discard(prefix)
    return written


def test_a_kept_program_is_not_written_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(loaded("kept")) == 1
    monkeypatch.setattr(programs, "_engine", _fresh_engine())
    assert loaded("kept") == []


def test_a_damaged_program_is_compiled_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(loaded("damaged")) == 1
    (file,) = folder.glob("test-*.kernel")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    monkeypatch.setattr(programs, "_engine", _fresh_engine())
    assert len(loaded("damaged")) == 1


def _fresh_engine() -> Callable[[], Any]:
    """An engine that knows no program yet, on a machine of its own: an engine owns its machine."""
    from llvmlite import binding

    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), programs._machine.__wrapped__())
    return lambda: engine


def test_robots_of_one_build_share_their_code() -> None:
    small, large = pp.load_robot("ur3e").program, pp.load_robot("ur10e").program
    assert small.code.terms == large.code.terms
    assert not np.array_equal(small.code.p, large.code.p)
