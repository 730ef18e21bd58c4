"""Kernels that come with a wheel: found by any processor and in any folder, passed over where anything differs."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from moments import ENDLESS
from palpate.engine.compiling.shipped import LIST, write_list

CALL = """
import numpy as np
from palpate.engine.compiling import shipped
{change}
from palpate.engine.kernels import clear
values = np.ones(3)
clear(values)
assert not values.any()
print("loaded" if sum(clear._cache_hits.values()) else "compiled")
"""


def called(folder: Path, change: str = "", **settings: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    environment |= {"PALPATE_CACHE_DIR": str(folder)} | settings
    done = subprocess.run(
        [sys.executable, "-c", CALL.format(change=change)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=ENDLESS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of kernels for any processor."""
    place = tmp_path_factory.mktemp("shipped")
    found = called(tmp_path_factory.mktemp("built"), PALPATE_SHIP_KERNELS=str(place), NUMBA_CPU_NAME="generic")
    assert found == "compiled"
    names = sorted(path.name.partition("-")[0] + path.suffix for path in place.iterdir())
    assert names == ["kernels.clear.door.kernel", "kernels.clear.kernel"]
    write_list(place)
    return place


def test_a_shipped_kernel_is_loaded_and_nothing_is_compiled_or_kept(kernels: Path, tmp_path: Path) -> None:
    there = f"from pathlib import Path; shipped._HERE = Path({str(kernels)!r})"
    assert called(tmp_path, there) == "loaded"
    assert not list(tmp_path.rglob("*.kernel"))


@pytest.mark.parametrize(
    "change",
    [
        "shipped.platform.machine = lambda: 'other'",
        "shipped.packages = lambda: ('numba 0',)",
        "shipped.digest_of_files = lambda files, basis: 'of other sources'",
    ],
)
def test_where_anything_differs_it_is_compiled(kernels: Path, tmp_path: Path, change: str) -> None:
    there = f"from pathlib import Path; shipped._HERE = Path({str(kernels)!r})\n"
    assert called(tmp_path, there + change) == "compiled"


def test_a_damaged_one_and_one_for_other_settings_are_passed_over(kernels: Path, tmp_path: Path) -> None:
    spoilt = tmp_path / "spoilt"
    spoilt.mkdir()
    for path in kernels.iterdir():
        (spoilt / path.name).write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    there = "from pathlib import Path; shipped._HERE = Path({!r})"
    assert called(tmp_path / "a", there.format(str(spoilt))) == "compiled"
    assert called(tmp_path / "b", there.format(str(kernels)), NUMBA_BOUNDSCHECK="1") == "compiled"


def changed_copy(kernels: Path, folder: Path, change: Callable[[bytes], bytes], names: str = "*") -> str:
    """Statements that let a copy of shipped kernels be the shipped ones, with some files changed."""
    folder.mkdir()
    for path in kernels.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    for path in folder.glob(names):
        path.write_bytes(change(path.read_bytes()))
    return f"from pathlib import Path; shipped._HERE = Path({str(folder)!r})"


def flipped(data: bytes) -> bytes:
    place = len(data) // 2
    return data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :]


def test_a_shipped_kernel_with_one_flipped_bit_is_compiled(kernels: Path, tmp_path: Path) -> None:
    assert called(tmp_path / "a", changed_copy(kernels, tmp_path / "copy", flipped, "*.kernel")) == "compiled"


def test_a_shipped_kernel_that_is_not_on_the_list_is_compiled(kernels: Path, tmp_path: Path) -> None:
    assert called(tmp_path / "a", changed_copy(kernels, tmp_path / "copy", lambda text: b"", LIST)) == "compiled"
    other = changed_copy(kernels, tmp_path / "other", lambda text: text.replace(b"  ", b"0  "), LIST)
    assert called(tmp_path / "b", other) == "compiled"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="modes of files are those of POSIX")
def test_shipped_kernels_that_more_people_can_write_to_than_to_the_package_are_not_used(
    kernels: Path, tmp_path: Path
) -> None:
    there = changed_copy(kernels, tmp_path / "copy", lambda data: data)
    assert called(tmp_path / "a", there) == "loaded"
    (tmp_path / "copy").chmod(0o777)
    assert called(tmp_path / "b", there) == "compiled"
    (tmp_path / "copy").chmod(0o755)
    for path in (tmp_path / "copy").glob("*.kernel"):
        path.chmod(0o666)
    assert called(tmp_path / "c", there) == "compiled"


def test_a_wheel_with_kernels_is_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "packaging"))
    import make_wheel as maker  # pyright: ignore[reportMissingImports]

    monkeypatch.setattr(maker, "ROOT", tmp_path)
    plain, kernel = tmp_path / "palpate-0.1.0-py3-none-any.whl", tmp_path / "k.kernel"
    kernel.write_bytes(b"machine code")
    with zipfile.ZipFile(plain, "w") as file:
        file.writestr("palpate/__init__.py", "x = 1\n")
        file.writestr("palpate-0.1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("palpate-0.1.0.dist-info/RECORD", "")
    made = maker.put_together(plain, [kernel])
    assert made.parent.name == "dist"
    assert f"cp{sys.version_info[0]}{sys.version_info[1]}-" in made.name
    with zipfile.ZipFile(made) as file:
        assert file.read("palpate/engine/shipped/k.kernel") == b"machine code"
        marks = file.read("palpate-0.1.0.dist-info/WHEEL").decode()
        record = file.read("palpate-0.1.0.dist-info/RECORD").decode().splitlines()
    assert "Root-Is-Purelib: false" in marks
    assert "none-any" not in marks
    assert len(record) == 4
    assert record[-1] == "palpate-0.1.0.dist-info/RECORD,,"
