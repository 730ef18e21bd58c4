"""Compiled kernels are kept, and forgotten when anything they are made of changes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from palpate.engine import cache

MAIN = """
import sys
sys.path.insert(0, {folder!r})
from outer import triple
print(triple(3.0), sum(triple.stats.cache_hits.values()))
"""


def run_kernel(folder: Path, cache_folder: Path) -> list[str]:
    environment = {**os.environ, "PALPATE_CACHE_DIR": str(cache_folder), "NUMBA_CACHE_DIR": str(cache_folder / "old")}
    code = MAIN.format(folder=str(folder))
    out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    return out.stdout.split()


def test_a_kept_kernel_is_used_again_and_dropped_when_its_source_changes(tmp_path: Path):
    source, kept = tmp_path / "outer.py", tmp_path / "cache"
    source.write_text(
        "from palpate.engine.kernels import kernel\n@kernel\ndef triple(x: float) -> float:\n    return 3.0 * x\n"
    )
    assert run_kernel(tmp_path, kept) == ["9.0", "0"]
    assert run_kernel(tmp_path, kept) == ["9.0", "1"]
    dates = source.stat()
    source.write_text(source.read_text().replace("3.0 * x", "5.0 * x"))
    os.utime(source, ns=(dates.st_atime_ns, dates.st_mtime_ns))  # dates say nothing
    assert run_kernel(tmp_path, kept) == ["15.0", "0"]


def test_the_stamp_changes_with_every_file_in_reach_and_with_no_other(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(cache, "_PACKAGE", tmp_path)
    files = {
        "a.py": "from palpate.b import x\n",
        "b.py": "from palpate.room import c as see, other\nx = 1\n",
        "room/__init__.py": "",
        "room/c.py": "y = 1\n",
        "alone.py": "",
    }
    (tmp_path / "room").mkdir()

    def stamp(**changed: str) -> str:
        for name, text in {**files, **changed}.items():
            (tmp_path / name).write_text(text)
        for kept in (cache._imports, cache._text, cache.stamp):
            kept.cache_clear()
        return cache.stamp(tmp_path / "a.py")

    first = stamp()
    assert stamp() == first == stamp(**{"alone.py": "z = 1"})
    assert len({first, stamp(**{"a.py": files["a.py"] + "#"}), stamp(**{"b.py": files["b.py"] + "#"})}) == 3
    assert stamp(**{"room/c.py": "y = 2\n"}) != first
    monkeypatch.setattr(cache, "versions", lambda: "another numba")
    assert stamp() != first
    for kept in (cache._imports, cache._text, cache.stamp):
        kept.cache_clear()


def test_where_nothing_can_be_written_kernels_live_as_long_as_the_process(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    code = "from palpate.spatial import quat_from_matrix; import numpy as np; print(quat_from_matrix(np.eye(3)))"
    environment = {**os.environ, "PALPATE_CACHE_DIR": str(blocked), "HOME": str(blocked)}
    out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert out.stdout.startswith("[1.")


def test_every_file_a_kernel_imports_is_part_of_its_stamp():
    package = Path(cache.__file__).parents[1]
    reached = {path.relative_to(package).as_posix() for path in cache.sources_of(package / "run" / "loop.py")}
    assert {"run/physics.py", "world/contact.py", "spatial/shapes.py", "engine/records.py"} <= reached
    by_package = {p.name for p in cache.sources_of(package / "robot" / "ik.py")}
    assert "kernels.py" in by_package  # `from palpate.robot import kernels` names a file too
