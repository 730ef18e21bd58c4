"""An exported library in this process, with the ticks of its run."""

from __future__ import annotations

import ctypes
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from palpate.tools.exporting.code.native import LawSession, Native, host
from palpate.tools.exporting.code.records import INPUT_HEAD, OUTPUT_HEAD, Code

SECONDS, BLOCK = (ctypes.c_double,), (ctypes.c_void_p, ctypes.c_size_t)


class Library:
    """The exported library in this process, with the ticks of its run."""

    def __init__(self, folder: Path) -> None:
        self.facts = json.loads((folder / "manifest.json").read_text())
        self.name = self.facts["name"]
        self.native = Native((folder / host().name / f"{self.name}.o").read_bytes())
        head = np.fromfile(folder / "vectors.bin", dtype="<i8", count=4)
        rows = np.fromfile(folder / "vectors.bin", dtype="<f8")[4:].reshape(head[0], -1)
        self.inputs, self.answers = np.split(rows, [head[1] // 8], axis=1)
        self.session = self.started()

    def started(self) -> LawSession:
        session = LawSession(self.native, self.name, self.facts["state_bytes"], self.facts["version"])
        assert session.code == Code.OK
        return session

    def call(self, name: str, *values: Any, kinds: tuple[Any, ...] = ()) -> int:
        return self.native.function(f"{self.name}_{name}", *kinds)(self.session.words.ctypes.data, *values)

    def step(self, given: np.ndarray) -> np.ndarray:
        answer = np.full(self.answers.shape[1], 7.0)
        row = np.ascontiguousarray(given)
        code = self.session.step(row.ctypes.data, answer.ctypes.data)
        assert answer[:1].view(np.int64)[0] == code
        return answer

    def block(self, name: str, size: int) -> np.ndarray:
        """Numbers of a struct that is handed out."""
        numbers = np.zeros(size)
        assert self.call(f"get_{name}", numbers.ctypes.data, 8 * size, kinds=BLOCK) == Code.OK
        return numbers

    def put(self, name: str, numbers: np.ndarray) -> int:
        return self.call(f"set_{name}", numbers.ctypes.data, numbers.nbytes, kinds=BLOCK)

    def place(self, name: str, side: str = "input") -> slice:
        at = INPUT_HEAD if side == "input" else OUTPUT_HEAD
        for field in self.facts[side]:
            size = math.prod(field["shape"])
            if field["name"] == name:
                return slice(at, at + size)
            at += size
        raise KeyError(name)


def code_of(answer: np.ndarray) -> Code:
    return Code(int(answer[:1].view(np.int64)[0]))
