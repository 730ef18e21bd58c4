"""Kept kernels: damage is recognised in every bit, and nothing is used that somebody else could have put there."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from moments import ENDLESS
from palpate.engine.compiling.kernel_files import Callee, Folder, KeptKernel, pack, unpack
from palpate.errors import FileError

SOURCE = "from palpate.engine.kernels import kernel\n@kernel\ndef triple(x: float) -> float:\n    return 3.0 * x\n"
MAIN = "import outer; print(outer.triple(3.0), sum(outer.triple._cache_hits.values()))"
posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes of files are those of POSIX")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "outer.py").write_text(SOURCE)
    return tmp_path


def run(source: Path, cache: Path, code: str = MAIN) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PALPATE_CACHE_DIR": str(cache)}
    paths = [str(source), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    done = subprocess.run(
        [sys.executable, "-B", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=ENDLESS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def a_kernel() -> KeptKernel:
    callees = (Callee("palpate.a", "b.c", "_ZN1"), Callee("palpate.d", "e", "_ZN2"))
    names = "library", "f$1", "_ZNf", "_ZNenv"
    return KeptKernel("key\ntext", *names, True, [["v", "m"]], callees, b"\x7fELF" * 9, b"BC\xc0")  # pyright: ignore[reportArgumentType]


# ------------------------------------------------------------------------------------------------ format


def test_a_kernel_comes_back_from_its_bytes_as_it_was() -> None:
    assert unpack(pack(a_kernel())) == a_kernel()


def test_every_flipped_bit_and_every_cut_is_recognised() -> None:
    data = pack(a_kernel())
    for k in range(len(data)):
        assert unpack(data[:k]) is None
        for bit in range(8):
            assert unpack(data[:k] + bytes([data[k] ^ 1 << bit]) + data[k + 1 :]) is None
    assert unpack(data + b"\0") is None


def test_every_flipped_bit_of_a_kept_kernel_is_recognised(source: Path) -> None:
    run(source, source / "cache")
    for file in (source / "cache").rglob("*.kernel"):
        data = bytearray(file.read_bytes())
        assert unpack(bytes(data)) is not None
        for k in range(len(data)):
            data[k] ^= 1 << k % 8
            assert unpack(bytes(data)) is None
            data[k] ^= 1 << k % 8


def test_a_damaged_kernel_is_compiled_anew_and_kept_again(source: Path) -> None:
    run(source, source / "cache")
    kept = sorted((source / "cache").rglob("outer.triple-*.kernel"))
    whole = kept[0].read_bytes()
    for place in (20, len(whole) // 2):
        kept[0].write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        assert run(source, source / "cache").stdout.split() == ["9.0", "0"]
        assert unpack(kept[0].read_bytes()) is not None
        assert run(source, source / "cache").stdout.split() == ["9.0", "1"]


# ------------------------------------------------------------------------------------------------ planted files


class Planted:
    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.file),)


def test_a_planted_pickle_is_never_run(source: Path) -> None:
    cache, ran = source / "cache", source / "ran"
    run(source, cache)
    (folder,) = (cache / "kernels").iterdir()
    for file in list(folder.iterdir()):
        planted = pickle.dumps("0.68.1") + pickle.dumps(Planted(ran))
        for name in (file.name, f"{file.stem}.nbi", f"{file.stem}.1.nbc"):
            (folder / name).write_bytes(planted)
    assert run(source, cache).stdout.split() == ["9.0", "0"]
    assert not ran.exists()


def test_no_module_of_the_engine_reads_or_writes_pickles() -> None:
    import palpate.engine

    for file in Path(next(iter(palpate.engine.__path__))).glob("*.py"):
        text = file.read_text()
        assert "import pickle" not in text
        assert "numba.core.caching" not in text


@posix
def test_links_and_pipes_in_the_folder_are_not_followed(source: Path) -> None:
    cache = source / "cache"
    run(source, cache)
    for k, file in enumerate(sorted(cache.rglob("*.kernel"))):
        elsewhere = source / f"elsewhere-{k}"
        elsewhere.write_bytes(file.read_bytes())
        file.unlink()
        file.symlink_to(elsewhere) if k else os.mkfifo(file)
    before = {path.name: path.read_bytes() for path in source.glob("elsewhere-*")}
    assert run(source, cache).stdout.split() == ["9.0", "0"]
    assert {path.name: path.read_bytes() for path in source.glob("elsewhere-*")} == before  # replaced, not written into
    assert not any(file.is_symlink() for file in cache.rglob("*.kernel"))


@posix
@pytest.mark.parametrize(("below", "mode"), [(".", 0o777), ("kernels", 0o770), ("kernels/*", 0o757)])
def test_a_folder_that_others_can_write_to_is_not_used_and_that_is_said_once(
    source: Path, below: str, mode: int
) -> None:
    cache = source / "cache"
    run(source, cache)
    (folder,) = cache.glob(below) if below != "." else [cache]
    folder.chmod(mode)
    before = {file: file.stat().st_mtime_ns for file in cache.rglob("*")}
    done = run(source, cache)
    assert done.stdout.split() == ["9.0", "0"]
    assert done.stderr.count("note:") == 1
    assert f"other users can write to {folder} (mode {mode:o})" in done.stderr
    assert "PALPATE_CACHE_DIR" in done.stderr
    assert {file: file.stat().st_mtime_ns for file in cache.rglob("*")} == before
    folder.chmod(0o755)
    assert run(source, cache).stdout.split() == ["9.0", "1"]


@posix
@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("mode", [0o777, 0o700])
def test_root_does_not_use_a_folder_that_belongs_to_nobody(source: Path, mode: int) -> None:
    cache, ran = source / "cache", source / "ran"
    run(source, cache)
    (folder,) = (cache / "kernels").iterdir()
    (folder / "outer.triple.nbi").write_bytes(pickle.dumps(Planted(ran)))
    for path in (cache, *cache.rglob("*")):
        os.chown(path, 65534, 65534)
        path.chmod(mode)
    done = run(source, cache)
    assert done.stdout.split() == ["9.0", "0"]
    assert "another user" in done.stderr
    assert not ran.exists()


@posix
@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_in_a_good_folder_is_not_used(source: Path) -> None:
    cache = source / "cache"
    run(source, cache)
    for file in cache.rglob("*.kernel"):
        os.chown(file, 65534, 65534)
    assert run(source, cache).stdout.split() == ["9.0", "0"]


@posix
def test_folders_are_made_for_the_user_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = Folder.private(tmp_path / "a" / "b", "kernels", "of-versions")
        folder.write("x", b"1")
    finally:
        os.umask(before)
    made = [tmp_path / "a", tmp_path / "a" / "b", folder.path.parent, folder.path]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * 4
    assert (folder.path / "x").stat().st_mode & 0o777 == 0o600


@posix
def test_a_link_in_place_of_a_folder_of_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "root").mkdir(mode=0o700)
    (tmp_path / "root" / "kernels").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileError, match=r"kernels.*link"):
        Folder.private(tmp_path / "root", "kernels", "of-versions")
    assert not any((tmp_path / "elsewhere").iterdir())


@posix
def test_processes_started_from_one_without_a_folder_share_its_temporary_one(source: Path) -> None:
    cache = source / "cache"
    cache.mkdir(mode=0o777)
    cache.chmod(0o777)
    again = f"import subprocess, sys; print(subprocess.check_output([sys.executable, '-c', {MAIN!r}], text=True))"
    done = run(source, cache, f"{MAIN}\n{again}")
    assert done.stdout.split() == ["9.0", "0", "9.0", "1"]
    assert done.stderr.count("note:") == 1


# ------------------------------------------------------------------------------------------------ stale code

LAW = """
import mygains
from mygains import SCALE
from myhelp import helper
from palpate.engine.kernels import kernel
@kernel
def law(x: float) -> float:
    return SCALE * x + helper(x) + mygains.OFFSET
"""
HELP = """
from deeper import POWER
from palpate.engine.kernels import kernel
@kernel
def helper(x: float) -> float:
    return 10.0 * x**POWER
"""
CALL = "import mylaw; print(mylaw.law(5.0), sum(mylaw.law._cache_hits.values()))"


def test_code_of_a_users_law_is_made_anew_when_any_file_it_comes_from_changes(tmp_path: Path) -> None:
    texts = {
        "mylaw": LAW,
        "myhelp": HELP,
        "mygains": "SCALE = 1.0\nOFFSET = 0.0\n",
        "deeper": "POWER = 1\n",
        "unused": "X = 1\n",
    }

    def answer(**changed: tuple[str, str]) -> list[float]:
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(text.replace(*changed.get(name, ("\n", "\n"))))
        return [float(word) for word in run(tmp_path, tmp_path / "cache", CALL).stdout.split()]

    assert answer() == [55.0, 0.0]
    assert answer() == [55.0, 1.0]
    assert answer(unused=("1", "2")) == [55.0, 1.0]
    assert answer(mygains=("SCALE = 1", "SCALE = 2")) == [60.0, 0.0]
    assert answer(mygains=("OFFSET = 0", "OFFSET = 7")) == [62.0, 0.0]
    assert answer(myhelp=("10.0", "30.0")) == [155.0, 0.0]
    assert answer(deeper=("1", "2")) == [255.0, 0.0]
    assert answer(mylaw=("SCALE * x", "SCALE * x * 3.0")) == [65.0, 0.0]
    assert answer() == [55.0, 1.0]


def test_a_constant_that_comes_from_no_source_text_counts_too(tmp_path: Path) -> None:
    (tmp_path / "mylaw.py").write_text(
        "import json\nfrom pathlib import Path\nimport numpy as np\nfrom palpate.engine.kernels import kernel\n"
        "ROW = np.array(json.loads(Path(__file__).with_name('gains.json').read_text()))\n"
        "@kernel\ndef law(x: float) -> float:\n    return ROW[0] * x + ROW[1]\n"
    )
    for row, answer in (("[1.0, 2.0]", ["7.0", "0"]), ("[1.0, 2.0]", ["7.0", "1"]), ("[3.0, 2.0]", ["17.0", "0"])):
        (tmp_path / "gains.json").write_text(row)
        assert run(tmp_path, tmp_path / "cache", CALL).stdout.split() == answer


def test_a_kernel_made_inside_of_a_function_is_told_apart_by_what_it_encloses(tmp_path: Path) -> None:
    (tmp_path / "mylaw.py").write_text(
        "import sys\nfrom palpate.engine.kernels import kernel\n"
        "def made(gain):\n    @kernel\n    def law(x: float) -> float:\n        return gain * x\n    return law\n"
        "law = made(float(sys.argv[1])) if len(sys.argv) > 1 else made(2.0)\n"
    )
    assert run(tmp_path, tmp_path / "cache", CALL).stdout.split() == ["10.0", "0"]
    assert run(tmp_path, tmp_path / "cache", CALL).stdout.split() == ["10.0", "1"]
    other = f"import sys; sys.argv.append('4'); {CALL}"
    assert run(tmp_path, tmp_path / "cache", other).stdout.split() == ["20.0", "0"]


def test_what_a_users_package_computes_from_other_files_counts(tmp_path: Path) -> None:
    package = tmp_path / "site-packages" / "mypackage"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "gains.py").write_text("from . import more\nSCALE = 2.0 * more.X\n")
    (package / "mylaw.py").write_text(
        "from .gains import SCALE\nfrom .more import Mode\nfrom palpate.engine.kernels import kernel\n"
        "@kernel\ndef law(x: float) -> float:\n    return SCALE * x + Mode.FAST.value\n"
    )
    for x, mode, answer in ((1, 0, ["10.0", "0"]), (1, 0, ["10.0", "1"]), (2, 0, ["20.0", "0"]), (2, 3, ["23.0", "0"])):
        (package / "more.py").write_text(f"import enum\nX = {x}.0\nclass Mode(enum.IntEnum):\n    FAST = {mode}\n")
        call = CALL.replace("import mylaw", "from mypackage import mylaw")
        assert run(package.parent, tmp_path / "cache", call).stdout.split() == answer
