"""The exported library: one object for each target, checked for what it defines and what it misses."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from palpate.engine.kernels import Kernel
from palpate.errors import NotApplicable, check_names
from palpate.files import write_file
from palpate.tools.exporting.code import requests, station
from palpate.tools.exporting.code.archive import symbols
from palpate.tools.exporting.code.objects import (
    TARGETS,
    CFunction,
    Glue,
    TargetMachine,
    llvm_texts,
    machine,
    optimised,
    with_plan,
)
from palpate.tools.exporting.code.own_model import CONSTANTS, FRAME, PREFIX, TERMS, fill_terms, program_text
from palpate.tools.exporting.code.records import PlanHead
from palpate.tools.exporting.draft import Draft

_LINKERS = ("wasm-ld", *(f"wasm-ld-{n}" for n in range(22, 11, -1)))


def chosen_targets(names: Sequence[str]) -> list[TargetMachine]:
    """Targets by name; refused where one is unknown or lacks its tool."""
    check_names("target", names, TARGETS)
    if "wasm32" in names:
        wasm_linker()
    return [TARGETS[name] for name in dict.fromkeys(names)]


def wasm_linker() -> str:
    """The program that makes a WebAssembly module of an object."""
    linker = next((path for path in map(shutil.which, _LINKERS) if path), None)
    if linker is None:
        raise NotApplicable(
            "target wasm32 needs LLVM's linker wasm-ld, and there is none on the PATH",
            hint="Debian and Ubuntu: apt install lld; or leave this target out",
        )
    return linker


_ENTRIES = (
    CFunction("init", station.initialise, ("size", "version"), stores=True),
    CFunction("step", station.step, ("pointer", "pointer")),
    CFunction("reset", station.reset, stores=True),
    CFunction("stop", station.stop),
    CFunction("blend", station.blend, ("seconds",)),
    CFunction("ease", requests.ease, ("seconds",)),
    CFunction("hold", requests.hold),
    CFunction("follow", requests.follow, ("seconds",)),
    CFunction("get_setup", requests.get_setup, ("pointer", "size")),
    CFunction("set_setup", requests.set_setup, ("pointer", "size")),
    CFunction("get_gains", requests.get_gains, ("pointer", "size")),
    CFunction("set_gains", requests.set_gains, ("pointer", "size")),
    CFunction("get_memory", requests.get_memory, ("pointer", "size")),
)
_PUBLIC = frozenset({"law", "law_code", *(entry.name for entry in _ENTRIES)})


@lru_cache(maxsize=64)
def _code(law: Kernel, program: tuple[str, int] | None, wide: bool) -> bytes:
    """The optimised module of a law, with a model's functions and its tool's link or without; no arm is in it.

    So the code of a law with a given model is the same for every arm: the arm is the plan, data beside it.
    """
    target = next(target for target in TARGETS.values() if target.wide == wide)
    kernels: list[Any] = [law, *(entry.kernel for entry in _ENTRIES)]
    glue, word_of = Glue(wide), {name: field.offset for name, field in PlanHead.fields.items()}
    glue.law("law", law, word_of["law"])
    if program is not None:
        kernels.append(fill_terms)
        glue.law("model", fill_terms, word_of["model"])
        glue.forwarder(f"{PREFIX}_terms", TERMS, word_of["model_terms"])
        glue.forwarder(f"{PREFIX}_constants", CONSTANTS, word_of["model_constants"])
        if program[1] >= 0:
            glue.forwarder(f"{PREFIX}_frame_{program[1]}", FRAME, word_of["model_frame"])
    for entry in _ENTRIES:
        glue.entry(entry)
    texts = llvm_texts(kernels) + ([] if program is None else [program[0]])
    return optimised(texts, glue, _PUBLIC, target)


@lru_cache(maxsize=64)
def _largest_frame(code: bytes) -> int:
    target = TARGETS["x86-64"]
    assembled = machine(target).emit_assembly(with_plan(code, {}, [0], target))
    return max(map(_frame, re.split(r"\.type\s+\S+,@function", assembled)))


def _frame(assembled: str) -> int:
    """Bytes that a function takes off the stack; code for 128 bytes adds -128."""
    taken = re.findall(r"(?:subq\s+\$|addq\s+\$-)(\d+), %rsp", assembled)
    return 8 * len(re.findall(r"\bpushq\b", assembled)) + max(map(int, taken), default=0)


class Library:
    """Machine code of a draft for any target."""

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.names = {name: f"{draft.name}_{name}" for name in _PUBLIC}
        self.public = frozenset(self.names.values())
        self._program = None if draft.link is None else (program_text(draft.run.robot), draft.link)

    def _bitcode(self, target: TargetMachine) -> bytes:
        return _code(self.draft.kernel, self._program, target.wide)

    def object_for(self, target: TargetMachine) -> bytes:
        """An object file that defines every function of the header and misses nothing."""
        module = with_plan(self._bitcode(target), self.names, self.draft.data, target)
        data = machine(target).emit_object(module)
        if target.wide:
            self._check(data, target)
        return data

    def largest_frame(self) -> int:
        """Bytes of the largest stack frame of a function, of the code for x86-64: kept registers and local numbers."""
        return _largest_frame(self._bitcode(TARGETS["x86-64"]))

    def wasm(self, data: bytes) -> bytes:
        """A WebAssembly module out of an object; the linker refuses missing names, imported and exported."""
        exports = [f"--export={name}" for name in sorted(self.public)]
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder) / "law.o", Path(folder) / "law.wasm"
            write_file(source, data)
            words = [wasm_linker(), "--no-entry", "--export=__heap_base", *exports, str(source), "-o", str(out)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=120)
            if done.returncode:
                raise NotApplicable(f"wasm-ld refused the law's object: {done.stderr.strip()[:300]}")
            return out.read_bytes()

    def _check(self, data: bytes, target: TargetMachine) -> None:
        defined, undefined = symbols(data)
        if undefined:
            raise NotApplicable(
                f"law {self.draft.bound.name!r} calls {', '.join(sorted(undefined))} of a library; exported code"
                f" for {target.name} cannot link one",
                hint="use palpate.engine.maths in place of math, and no arrays of its own",
            )
        if not self.public <= defined:
            raise NotApplicable(f"the object for {target.name} lacks {', '.join(sorted(self.public - defined))}")
