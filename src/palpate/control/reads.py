"""Fields of the tick that a kernel reads, found in its source and in that of the kernels which it hands the tick to.

The loop computes only those terms of the model that a law reads (`Reads.needs`); a term that is not declared would
otherwise be zero without a word. What is read of the target says what of a reference a law takes.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType, ModuleType
from typing import Any, Literal, get_args

from palpate.lazy import parsed

# What a law can read of the model besides the pose; the loop computes nothing that is not read.
Need = Literal["M", "bias", "gravity", "J", "drift", "J_rate"]
NEEDS: tuple[Need, ...] = get_args(Need)
TARGET = ("q", "v", "a", "position", "quat_wxyz", "twist", "acceleration", "wrench")
_VALUES = "seen.values"  # of custom sensors
_RECORDS = {
    "": (*NEEDS, "wrench", *(f"target.{name}" for name in TARGET), _VALUES),
    "target": tuple(f"target.{name}" for name in TARGET),
    "seen": (_VALUES,),
}


@dataclass(frozen=True)
class Reads:
    """Fields of the tick that are read.

    Attributes:
        needs: terms of the model.
        target: fields of the target.
        sensors: whether the numbers of custom sensors are read.
        wrench: whether the measured wrench is read.
    """

    needs: tuple[Need, ...] = NEEDS
    target: tuple[str, ...] = TARGET
    sensors: bool = True
    wrench: bool = True


@lru_cache(maxsize=256)
def reads_of(kernel: Any) -> Reads:
    """Fields of its first argument that a law's kernel reads; all of them where its source is not available."""
    paths = _read(kernel, (("", 0),))
    if paths is None:
        return Reads()
    target = {path.partition(".")[2] for path in paths if path.startswith("target.")}
    needs: tuple[Need, ...] = tuple(n for n in NEEDS if n in paths)
    fields = tuple(name for name in TARGET if name in target)
    return Reads(needs, fields, _VALUES in paths, "wrench" in paths)


@lru_cache(maxsize=4096)
def _read(function: Any, handed: tuple[tuple[str, int], ...]) -> frozenset[str] | None:
    """Paths such as "M" and "target.q" that a function reads, given which argument is which part of the tick."""
    inner = getattr(function, "py_func", function)  # a kernel's function, or a plain one
    try:
        tree = parsed(textwrap.dedent(inspect.getsource(inner)))
    except (OSError, TypeError, SyntaxError):
        return None
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef):
        return None
    names = [argument.arg for argument in definition.args.args]
    known = {names[index]: {path} for path, index in handed if index < len(names)}
    return _Body(inner, known).read(definition)


class _Body:
    """One function: which of its names are parts of the tick, and what it reads of them."""

    def __init__(self, function: FunctionType, known: dict[str, set[str]]) -> None:
        self.scope = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
        self.known = known

    def read(self, definition: ast.FunctionDef) -> frozenset[str] | None:
        """All paths, through aliases (`target = x.target`) and calls (`open_task(x, k, m)`)."""
        for _ in range(2):  # an alias may be made in a loop after its use
            for node in ast.walk(definition):
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        self._alias(target, node.value)
        paths: set[str] = set()
        for node in ast.walk(definition):
            if isinstance(node, ast.Attribute):
                paths.update(path for path in self._paths(node) if path not in _RECORDS)
            elif isinstance(node, ast.Call):
                below = self._called(node)
                if below is None:
                    return None
                paths |= below
        return frozenset(paths)

    def _alias(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for part, source in zip(target.elts, value.elts):
                self._alias(part, source)
        elif isinstance(target, ast.Name) and (paths := self._paths(value)):
            self.known.setdefault(target.id, set()).update(paths)

    def _paths(self, node: ast.expr) -> set[str]:
        """The parts of the tick that an expression names; none for anything else."""
        if isinstance(node, ast.Name):
            return self.known.get(node.id, set())
        if isinstance(node, ast.Attribute):
            return {f"{path}.{node.attr}".lstrip(".") for path in self._paths(node.value) if path in _RECORDS}
        return set()

    def _called(self, node: ast.Call) -> frozenset[str] | None:
        """Fields read by a call that is handed the tick or its target."""
        handed = sorted((path, i) for i, value in enumerate(node.args) for path in self._paths(value) & set(_RECORDS))
        if not handed:
            return frozenset()
        function = self._resolved(node.func)
        below = None if function is None else _read(function, tuple(handed))
        return frozenset(name for path, _ in handed for name in _RECORDS[path]) if below is None else below

    def _resolved(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self.scope.get(node.id)
        if isinstance(node, ast.Attribute):
            module = self._resolved(node.value)
            return getattr(module, node.attr, None) if isinstance(module, ModuleType) else None
        return None
