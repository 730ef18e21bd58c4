"""Compiled kernels are kept, and forgotten when anything they are made of changes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from moments import ENDLESS
from palpate.engine import bounds
from palpate.engine.compiling import cache, sources
from palpate.errors import UnsupportedVersion

MAIN = """
import sys
sys.path.insert(0, {folder!r})
from outer import triple
print(triple(3.0), sum(triple.stats.cache_hits.values()))
"""


def forget_sources() -> None:
    for kept in (sources._imports, sources.text_of, sources.digest_of_file, sources.is_ours):
        kept.cache_clear()
    cache.stamp.cache_clear()


def no_bytecode(**variables: str) -> dict[str, str]:
    """An environment without Python's own bytecode, which knows a source by its date and size alone."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **variables}


def run_kernel(folder: Path, cache_folder: Path) -> list[str]:
    environment = no_bytecode(PALPATE_CACHE_DIR=str(cache_folder), NUMBA_CACHE_DIR=str(cache_folder / "old"))
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
    package = tmp_path / "palpate"
    monkeypatch.setattr(sources, "_PACKAGE", package)
    monkeypatch.setattr(sources, "_COMPILER", package / "a.py")
    files = {
        "a.py": "from palpate.b import x\n",
        "b.py": "from palpate.room import c as see, other\nx = 1\n",
        "room/__init__.py": "",
        "room/c.py": "y = 1\n",
        "alone.py": "",
    }
    (package / "room").mkdir(parents=True)

    def stamp(**changed: str) -> str:
        for name, text in {**files, **changed}.items():
            (package / name).write_text(text)
        forget_sources()
        return cache.stamp(package / "a.py")

    first = stamp()
    assert stamp() == first == stamp(**{"alone.py": "z = 1"})
    assert len({first, stamp(**{"a.py": files["a.py"] + "#"}), stamp(**{"b.py": files["b.py"] + "#"})}) == 3
    assert stamp(**{"room/c.py": "y = 2\n"}) != first
    monkeypatch.setattr(cache, "versions", lambda: "another numba")
    assert stamp() != first
    forget_sources()


def test_where_nothing_can_be_written_kernels_live_as_long_as_the_process(tmp_path: Path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    code = "from palpate.spatial import quat_from_matrix; import numpy as np; print(quat_from_matrix(np.eye(3)))"
    environment = {**os.environ, "PALPATE_CACHE_DIR": str(blocked), "HOME": str(blocked)}
    out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert out.stdout.startswith("[1.")


def test_every_file_a_kernel_imports_is_part_of_its_stamp():
    package = Path(cache.__file__).parents[2]
    reached = {
        path.relative_to(package).as_posix() for path in sources.sources_of(package / "run" / "loop" / "loop.py")
    }
    assert {"run/loop/physics.py", "world/forces/contact.py", "spatial/shapes.py", "engine/records.py"} <= reached
    by_package = {p.name for p in sources.sources_of(package / "robot" / "ik.py")}
    assert "kernels.py" in by_package  # `from palpate.robot import kernels` names a file too


def test_three_processes_that_compile_into_one_empty_cache_agree_and_leave_one_of_each_kernel(tmp_path: Path):
    source, kept = tmp_path / "outer.py", tmp_path / "cache"
    source.write_text(
        "from palpate.engine.kernels import kernel\n@kernel\ndef triple(x: float) -> float:\n    return 3.0 * x\n"
    )
    environment = {**os.environ, "PALPATE_CACHE_DIR": str(kept)}
    code = [sys.executable, "-c", MAIN.format(folder=str(tmp_path))]
    started = [subprocess.Popen(code, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert {process.communicate()[0].split()[0] for process in started} == {"9.0"}
    assert run_kernel(tmp_path, kept) == ["9.0", "1"]
    for kernel in ("outer.triple-", "outer.triple.door-"):  # the kernel, and the way to it from Python
        assert len([*kept.rglob(f"{kernel}*")]) == 1


def test_nothing_is_written_into_the_package_nor_into_numbas_own_folder(tmp_path: Path):
    package, kept, numbas = tmp_path / "lib" / "palpate", tmp_path / "cache", tmp_path / "numba"
    shutil.copytree(Path(cache.__file__).parents[2], package, ignore=shutil.ignore_patterns("__pycache__"))
    for place in [package, *package.rglob("*")]:
        place.chmod(0o555 if place.is_dir() else 0o444)
    code = "from palpate.spatial import quat_from_matrix; import numpy as np; print(quat_from_matrix(np.eye(3)))"
    environment = {
        **os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1",
        "PALPATE_CACHE_DIR": str(kept), "NUMBA_CACHE_DIR": str(numbas),
    }  # fmt: skip
    out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    for place in [package, *package.rglob("*")]:
        place.chmod(0o755 if place.is_dir() else 0o644)
    assert out.stdout.startswith("[1."), out.stderr
    assert not [*package.rglob("*.kernel")]
    assert not numbas.exists()
    assert [*kept.rglob("*.kernel")]


def test_a_source_replaced_after_its_import_does_not_stamp_the_old_code(tmp_path: Path):
    source, kept = tmp_path / "outer.py", tmp_path / "cache"
    text = "from palpate.engine.kernels import kernel\n@kernel\ndef triple(x: float) -> float:\n    return 3.0 * x\n"
    source.write_text(text)
    swap = f"from pathlib import Path; Path({str(source)!r}).write_text({text.replace('3.0', '5.0')!r})\nprint(triple("
    code = MAIN.format(folder=str(tmp_path)).replace("print(triple(", swap)
    environment = no_bytecode(PALPATE_CACHE_DIR=str(kept))
    out = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert out.stdout.split()[0] == "9.0", out.stderr
    assert run_kernel(tmp_path, kept) == ["15.0", "0"]


# ------------------------------------------------------------------------------------------------ versions


def test_the_bounds_checked_at_import_are_those_of_the_project_file():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    for package, least in bounds.LEAST.items():
        assert f'"{package}>={least}"' in text


def test_a_version_that_is_too_old_is_refused_with_the_command_that_mends_it(monkeypatch):
    bounds.check_versions(tuple(bounds.LEAST))
    monkeypatch.setattr(bounds.importlib.metadata, "version", lambda package: "0.64.9")
    with pytest.raises(UnsupportedVersion, match=r"numba from 0.65 on, and 0.64.9 is installed\n.*pip install"):
        bounds.check_versions(("numba",))


def test_only_versions_of_numba_that_were_verified_are_accelerated():
    assert all(map(bounds.is_verified, ("0.66.0", "0.66", "0.68.1", "0.68.9rc1")))
    assert not any(map(bounds.is_verified, ("0.65.1", "0.69.0", "0.69.0rc1", "1.0")))


KEPT = """
import sys
import numpy as np
from palpate.engine.kernels import kernel
from palpate.engine.records import Vector
@kernel(allocates={allocates})
def total(x: Vector) -> float:
    return {value}
print(total(np.array([9.0, 16.0])), sum(total._cache_hits.values()), "numba.np.arraymath" in sys.modules)
"""


@pytest.mark.parametrize(
    ("allocates", "value", "answer"), [(False, "x[0] + x[1]", 25.0), (True, "np.dot(np.sqrt(x), np.sqrt(x))", 25.0)]
)
def test_kept_code_is_loaded_without_numbas_imports_unless_it_allocates(
    tmp_path: Path, allocates: bool, value: str, answer: float
) -> None:
    script = tmp_path / "script.py"
    script.write_text(KEPT.format(allocates=allocates, value=value))
    environment = os.environ | {"PALPATE_CACHE_DIR": str(tmp_path / "cache")}
    runs = [
        subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=ENDLESS)
        for _ in range(2)
    ]
    assert [run.stdout.split() for run in runs] == [
        [str(answer), "0", "True"],
        [str(answer), "1", str(allocates)],
    ], runs[-1].stderr
