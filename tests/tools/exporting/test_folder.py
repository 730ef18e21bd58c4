"""The exported folder: builds with cc alone, gives the run's bits on every machine, is refused when tampered with."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import palpate as pp
from moments import ENDLESS
from palpate.errors import FileError, InvalidInput, NotApplicable, PalpateError, UnknownName
from palpate.robot.catalogue import names
from palpate.run.simulate import as_run
from palpate.scenario.file.load import load_scenario, scenario_from_data
from palpate.tools.exporting.code.archive import static_library, symbols
from palpate.tools.exporting.code.native import host
from palpate.tools.exporting.draft import draft
from palpate.tools.exporting.library import Library
from palpate.tools.exporting.writing.texts import header
from tools.exporting.conftest import NAME, SCENARIO
from tools.exporting.matrix import compiled_laws, scenario_of


def needs(*tools: str) -> pytest.MarkDecorator:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    return pytest.mark.skipif(bool(missing), reason=f"no {', '.join(missing)}")


def run(*words: str, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=ENDLESS, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def without_python(folder: Path) -> dict[str, str]:
    """An environment whose PATH has a compiler and make, and no Python."""
    tools = folder / "tools"
    tools.mkdir()
    for name in ("cc", "make", "uname", "as", "ld", "rm"):
        found = shutil.which(name)
        if found:
            (tools / name).symlink_to(found)
    return {"PATH": str(tools)}


@needs("cc", "make")
def test_the_folder_builds_with_cc_and_make_alone(copied: Path, tmp_path: Path) -> None:
    env = without_python(tmp_path)
    assert shutil.which("python3", path=env["PATH"]) is None
    said = run(shutil.which("make") or "", "check", cwd=copied, env=env)
    assert f"{NAME}: 400 ticks, 0 differ" in said
    assert "worst" in said


@needs("cc", "cmake")
def test_the_folder_builds_with_cmake(copied: Path) -> None:
    run("cmake", "-B", "build", cwd=copied)
    run("cmake", "--build", "build", cwd=copied)
    run("ctest", "--test-dir", "build", cwd=copied)


@needs("cc", "c++")
def test_headers_of_all_laws_are_c_and_c_plus_plus(tmp_path: Path) -> None:
    """A field of a record may have a name that is a word of C; the admittance remembers `short`."""
    includes = []
    for law in compiled_laws():
        with contextlib.suppress(PalpateError):
            made = draft(scenario_of(law, "panda"), "given")
            (tmp_path / f"{made.name}.h").write_text(header(made))
            includes.append(f'#include "{made.name}.h"')
    assert len(includes) >= 13
    assert "short_" in (tmp_path / "admittance_panda.h").read_text()
    (tmp_path / "all.c").write_text("\n".join(includes) + "\nint main(void) { return 0; }\n")
    strict = ("-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "all.c")
    run("cc", "-std=c99", *strict, cwd=tmp_path)
    run("c++", "-std=c++17", "-x", "c++", *strict, cwd=tmp_path)


def hash_of(said: str) -> str:
    found = re.search(r"0 differ, hash (\w+)", said)
    assert found, said
    return found[1]


@pytest.fixture(scope="session")
def expected(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of all answers in the vectors."""
    head = np.fromfile(folder / "vectors.bin", dtype="<i8", count=4)
    rows = np.fromfile(folder / "vectors.bin", dtype=np.uint8)[32:].reshape(head[0], -1)
    value = 14695981039346656037
    for byte in rows[:, head[1] :].tobytes():
        value = (value ^ byte) * 1099511628211 % 2**64
    return f"{value:016x}"


@pytest.mark.parametrize(
    ("target", "compiler", "emulator"),
    [
        pytest.param("x86-64", "cc", None, marks=needs("cc")),
        pytest.param(
            "aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64", marks=needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
        ),
        pytest.param(
            "riscv64", "riscv64-linux-gnu-gcc", "qemu-riscv64", marks=needs("riscv64-linux-gnu-gcc", "qemu-riscv64")
        ),
    ],
)
def test_a_machine_gives_the_bits_of_the_run(
    copied: Path, expected: str, target: str, compiler: str, emulator: str | None
) -> None:
    if target == "x86-64" and os.uname().machine != "x86_64":
        pytest.skip("not this machine")
    run(compiler, "-O3", "-ffast-math", "-static", "main.c", f"{target}/lib{NAME}.a", "-o", "r", cwd=copied)
    assert hash_of(run(*([emulator] if emulator else []), "./r", cwd=copied)) == expected


@needs("node")
def test_webassembly_gives_the_bits_of_the_run(copied: Path, expected: str) -> None:
    if not (copied / "wasm32").is_dir():
        pytest.skip("no wasm-ld")
    assert hash_of(run("node", "replay.mjs", cwd=copied)) == expected


def test_objects_define_the_header_s_functions_and_miss_nothing(folder: Path) -> None:
    declared = set(re.findall(rf"int32_t ({NAME}_\w+)\(", (folder / f"{NAME}.h").read_text()))
    assert len(declared) == 13
    for target in ("x86-64", "aarch64", "riscv64"):
        defined, undefined = symbols((folder / target / f"{NAME}.o").read_bytes())
        assert undefined == set()
        assert declared <= defined


def section(data: bytes, wanted: str) -> bytes:
    """The bytes of a section of an ELF object."""
    (start,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, start + k * size) for k in range(count)]
    table = headers[names][4]
    for name, _, _, _, at, length in headers:
        if data[table + name : data.index(b"\0", table + name)].decode() == wanted:
            return data[at : at + length]
    raise KeyError(wanted)


def test_the_code_of_a_law_is_the_same_for_every_arm(folder: Path) -> None:
    """What differs is data: so one arm's proof of the code is every arm's."""
    objects = [(folder / host().name / f"{NAME}.o").read_bytes()]
    for scenario in (load_scenario(SCENARIO), scenario_of("gravity-compensation", "planar2")):
        objects.append(Library(draft(scenario, "given")).object_for(host()))
    texts = {section(data, ".text") for data in objects}
    assert len(texts) == 1
    assert len(texts.pop()) > 1000
    assert objects[1] != objects[2]


def test_the_table_of_the_pages_has_every_law_and_every_arm() -> None:
    text = (Path(__file__).parents[3] / "docs" / "export-matrix.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    head, _, *laws = rows
    assert head[2:] == names()
    assert [row[0] for row in laws] == compiled_laws()
    assert all(all(row) for row in laws)


def test_guards_with_a_given_model_take_the_terms_they_need() -> None:
    made = draft(load_scenario("panda-wall", ["guards.contact_force=40"]), "given")
    given = {each.name for each in made.inputs}
    assert {"M", "bias", "gravity", "J", "drift", "position", "rotation"} <= given
    assert "J_rate" not in given


def test_a_law_that_reads_what_the_model_inside_lacks_is_refused() -> None:
    data = load_scenario(SCENARIO).as_data()
    scenario = scenario_from_data({**data, "control": {"law": "tools.exporting.every_function:ReadsJacobianRate"}})
    assert "J_rate" in {each.name for each in draft(scenario, "given").inputs}
    with pytest.raises(NotApplicable, match=r"J_rate.*inside.*not compute"):
        draft(scenario, "own")


def test_a_missing_symbol_is_seen() -> None:
    from palpate.engine.kernels import kernel

    @kernel
    def sine(x: float) -> float:
        return np.sin(x)

    assert "sin" in symbols(sine.object_code)[1]


@needs("ar")
def test_a_static_library_is_one_that_ar_reads(tmp_path: Path) -> None:
    (tmp_path / "lib.a").write_bytes(static_library(b"odd", frozenset({"b", "a"})))
    assert run("ar", "t", "lib.a", cwd=tmp_path).split() == ["law.o"]
    assert run("ar", "p", "lib.a", "law.o", cwd=tmp_path) == "odd"


def test_the_exported_law_in_the_loop_gives_the_same_trace(folder: Path) -> None:
    given = as_run(SCENARIO)
    ours, theirs = pp.simulate(given), pp.simulate(replace(given, law=pp.load_exported(folder)))
    assert ours.outcome == theirs.outcome
    assert all(ours[name].tobytes() == theirs[name].tobytes() for name in ours.channels)


def test_the_exported_law_has_the_settings_it_was_exported_with(folder: Path) -> None:
    law, mine = pp.load_exported(folder), pp.load_scenario(SCENARIO).control
    assert law.model_dump() == mine.model_dump()
    assert law.name == mine.name


@pytest.mark.parametrize("file", [f"x86-64/{NAME}.o", f"{NAME}.h", "vectors.bin"])
def test_a_changed_file_is_refused_by_its_hash(copied: Path, file: str) -> None:
    data = bytearray((copied / file).read_bytes())
    data[len(data) // 2] ^= 1
    (copied / file).write_bytes(data)
    with pytest.raises(FileError, match=re.escape(file)):
        pp.load_exported(copied)


def test_a_changed_manifest_is_refused(copied: Path) -> None:
    content = json.loads((copied / "manifest.json").read_text())
    content["clock"]["rate"] = 500.0
    (copied / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(FileError, match="was changed"):
        pp.load_exported(copied)


def test_a_folder_without_code_for_this_machine_is_refused(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("palpate.tools.exporting.load.host", lambda: type("Host", (), {"name": "sparc"}))
    with pytest.raises(NotApplicable, match="not for sparc"):
        pp.load_exported(copied)


def test_another_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match="not an export of palpate"):
        pp.export(SCENARIO, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(FileError, match="not an export"):
        pp.load_exported(tmp_path)


@pytest.mark.parametrize(
    ("scenario", "options", "error", "text"),
    [
        ("planar2-slide", {}, NotApplicable, "exact contact"),
        ("panda-stop", {"model": "given"}, NotApplicable, "friction_compensation.*inside"),
        (SCENARIO, {"targets": ["sparc"]}, UnknownName, "sparc"),
        (SCENARIO, {"model": "borrowed"}, InvalidInput, "own, given"),
        (SCENARIO, {"ticks": 0}, InvalidInput, "ticks"),
    ],
)
def test_what_cannot_be_exported_says_why(
    tmp_path: Path, scenario: str, options: dict, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        pp.export(scenario, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_target_without_its_tool_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotApplicable, match="wasm-ld"):
        pp.export(SCENARIO, tmp_path / "out", targets=["wasm32"])


def test_the_manifest_states_every_convention(folder: Path) -> None:
    content = json.loads((folder / "manifest.json").read_text())
    assert content["law"]["name"] == "gravity-compensation"
    assert content["clock"]["rate"] == pytest.approx(1000.0)
    assert content["conventions"]["quaternion"] == "w x y z"
    assert {"first", "missed", "not finite", "safe command"} <= content["ticks"].keys()
    assert content["replay"]["ticks"] == 400
    assert content["replay"]["difference"] == 0.0
    assert content["replay"]["largest_stack_frame"] > 0
