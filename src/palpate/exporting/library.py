"""The exported library: one object for each target, checked for what it defines and what it misses."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from palpate.errors import NotApplicable, UnknownName
from palpate.exporting.code import station
from palpate.exporting.code.archive import Symbols, symbols, wasm_symbols
from palpate.exporting.code.objects import TARGETS, Entry, Glue, Target, assembly, emit, llvm_texts, optimised
from palpate.exporting.code.own_model import FRAME, PREFIX, TERMS, fill_terms, program_text
from palpate.exporting.draft import Draft
from palpate.files import write_file

_LINKERS = ("wasm-ld", *(f"wasm-ld-{n}" for n in range(22, 11, -1)))


def chosen_targets(names: Sequence[str]) -> list[Target]:
    """Targets by name; refused where one is unknown or lacks its tool."""
    for name in names:
        if name not in TARGETS:
            raise UnknownName("target", name, TARGETS)
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


class Library:
    """Machine code of a draft: compiled once, then written for any target."""

    def __init__(self, made: Draft) -> None:
        self.made, name = made, made.name
        self.entries = [
            Entry(f"{name}_init", station.initialise, ("size", "version"), self._functions()),
            Entry(f"{name}_step", station.step, ("pointer", "pointer")),
            Entry(f"{name}_reset", station.reset, (), self._functions()),
            Entry(f"{name}_blend", station.blend, ("seconds",)),
            Entry(f"{name}_get_gains", station.get_gains, ("pointer", "size")),
            Entry(f"{name}_set_gains", station.set_gains, ("pointer", "size")),
            Entry(f"{name}_get_memory", station.get_memory, ("pointer", "size")),
        ]
        self.public = frozenset({f"{name}_law", f"{name}_law_code", *(entry.name for entry in self.entries)})
        self.kernels: list[Any] = [made.kernel, *(entry.kernel for entry in self.entries)]
        self.kernels += [] if made.program is None else [fill_terms]
        self._texts: list[str] | None = None
        self._bitcode: dict[bool, bytes] = {}

    def _functions(self) -> tuple[tuple[int, str], ...]:
        """Which functions' addresses a state holds, and where."""
        made, stored = self.made, [(self.made.word("law"), f"{self.made.name}_law")]
        if made.program is not None:
            terms, frame, link = made.program
            stored += [(made.word("model"), "model"), (terms, "model_terms")]
            stored += [(frame, "model_frame")] if link >= 0 else []
        return tuple(stored)

    def _add_model(self, glue: Glue) -> None:
        if self.made.program is None:
            return
        glue.law("model", fill_terms)
        glue.passing("model_terms", f"{PREFIX}_terms", TERMS)
        if self.made.program[2] >= 0:
            glue.passing("model_frame", f"{PREFIX}_frame_{self.made.program[2]}", FRAME)

    def bitcode(self, target: Target) -> bytes:
        """The optimised module, one for each width of pointers."""
        if target.wide not in self._bitcode:
            if self._texts is None:
                self._texts = llvm_texts(self.kernels) + self._model_texts()
            glue = Glue(target.wide)
            glue.words("plan", self.made.data)
            glue.law(f"{self.made.name}_law", self.made.kernel)
            self._add_model(glue)
            for entry in self.entries:
                glue.entry(entry)
            self._bitcode[target.wide] = optimised(self._texts, glue, self.public, target)
        return self._bitcode[target.wide]

    def _model_texts(self) -> list[str]:
        return [] if self.made.program is None else [program_text(self.made.run.robot)]

    def object_for(self, target: Target) -> bytes:
        """An object file that defines every function of the header and misses nothing."""
        data = emit(self.bitcode(target), target)
        if target.wide:
            self._check(symbols(data), target)
        return data

    def wasm(self, data: bytes) -> bytes:
        """A WebAssembly module without imports, out of an object."""
        exports = [f"--export={name}" for name in sorted(self.public)]
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder) / "law.o", Path(folder) / "law.wasm"
            write_file(source, data)
            words = [wasm_linker(), "--no-entry", "--export=__heap_base", *exports, str(source), "-o", str(out)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=120)
            if done.returncode:
                raise NotApplicable(f"wasm-ld refused the law's object: {done.stderr.strip()[:300]}")
            linked = out.read_bytes()
        self._check(wasm_symbols(linked), TARGETS["wasm32"])
        return linked

    def _check(self, names: Symbols, target: Target) -> None:
        if names.undefined:
            raise NotApplicable(
                f"law {self.made.bound.name!r} calls {', '.join(sorted(names.undefined))}, which code for {target.name}"
                " would have to find in a library",
                hint="use palpate.engine.maths in place of math, and no arrays of its own",
            )
        if not self.public <= names.defined:
            raise NotApplicable(f"the object for {target.name} lacks {', '.join(sorted(self.public - names.defined))}")

    def largest_frame(self) -> int:
        """Bytes of the largest stack frame of a function, of the code for x86-64: kept registers and local numbers."""
        target = TARGETS["x86-64"]
        return max(map(_frame, re.split(r"\.type\s+\S+,@function", assembly(self.bitcode(target), target))))


def _frame(assembled: str) -> int:
    """Bytes that a function takes off the stack; code for 128 bytes adds -128."""
    taken = re.findall(r"(?:subq\s+\$|addq\s+\$-)(\d+), %rsp", assembled)
    return 8 * len(re.findall(r"\bpushq\b", assembled)) + max(map(int, taken), default=0)
