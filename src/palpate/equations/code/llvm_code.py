"""Nodes of a graph as LLVM code: straight-line functions of plain arrays of doubles, for one state or W at once.

Each operation is IEEE arithmetic in the graph's order: nothing is contracted or reordered, so that each of W lanes
gives the bits of the function for one state. Sine and cosine are `engine.maths`'s; beyond its range (2²⁰ rad) they are
NaN. No function outside is called.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from palpate.engine.lanes import constant, near_sin_cos
from palpate.equations.algebra.evaluation import needed_nodes
from palpate.equations.algebra.graph import Node

_DOUBLE, _INTEGER, _COUNT = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
_TOGETHER = 4  # the doubles of an AVX register


@dataclass(frozen=True)
class Input:
    """An array that a function reads: the nodes that its elements are.

    Attributes:
        shared: one number for all lanes, instead of one for each.
    """

    nodes: Sequence[Node]
    shared: bool = False


Destinations = dict[int, list[tuple[Any, int]]]  # of nodes by their numbers: arrays and indices


def _destinations(outputs: Sequence[Sequence[Node]], pointers: Sequence[Any]) -> Destinations:
    """Where each output node is to be stored."""
    destinations: Destinations = {}
    for output, pointer in zip(outputs, pointers):
        for index, node in enumerate(output):
            destinations.setdefault(node.number, []).append((pointer, index))
    return destinations


class Emitter:
    """Writes functions of W lanes into one LLVM module.

    An array of n numbers is n doubles for one state; for W lanes it is n × W doubles, the lanes of a number side by
    side.
    """

    def __init__(self, module: ir.Module, lanes: int = 1) -> None:
        self.module, self.lanes = module, lanes
        self.number: ir.Type = ir.VectorType(_DOUBLE, lanes) if lanes > 1 else _DOUBLE

    def function(
        self, name: str, inputs: Sequence[Input], outputs: Sequence[Sequence[Node]], unit: Sequence[Node] = ()
    ) -> None:
        """A function void name(double *input …, double *output …); the inputs `unit` are scaled to length 1 first."""
        kinds = [(_DOUBLE if one.shared else self.number).as_pointer() for one in inputs]
        kinds += [self.number.as_pointer()] * len(outputs)
        function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), kinds), name)
        for argument in function.args:
            argument.add_attribute("noalias")
        body = _Body(self, ir.IRBuilder(function.append_basic_block()))
        wanted = [node for output in outputs for node in output]
        known = {node.number for array in inputs for node in array.nodes}
        used = {node.number for node in needed_nodes(wanted, known)} | {node.number for node in unit}
        for array, pointer in zip(inputs, function.args):
            body.read(array, pointer, used)
        body.normalise(unit)
        body.compute(wanted, _destinations(outputs, function.args[len(inputs) :]))
        body.builder.ret_void()

    def root(self) -> Any:
        """The processor's own square root."""
        name = f"llvm.sqrt.v{self.lanes}f64" if self.lanes > 1 else "llvm.sqrt.f64"
        kind = ir.FunctionType(self.number, [self.number])
        return self.module.globals.get(name) or ir.Function(self.module, kind, name)


class _Body:
    """The one block of a function: values of nodes as they are computed."""

    def __init__(self, emitter: Emitter, builder: Any) -> None:
        self.emitter, self.builder = emitter, builder
        self.values: dict[int, Any] = {}
        self._angles: dict[int, tuple[Any, Any]] = {}
        b = builder
        self._binary: Mapping[str, Callable[..., Any]] = {"add": b.fadd, "sub": b.fsub, "mul": b.fmul, "div": b.fdiv}

    def read(self, array: Input, pointer: Any, used: Collection[int]) -> None:
        """Load what is used of an array."""
        for i, node in enumerate(array.nodes):
            if node.number in used:
                value = self.builder.load(self._at(pointer, i), align=8)
                self.values[node.number] = self._spread(value) if array.shared else value

    def normalise(self, nodes: Sequence[Node]) -> None:
        """Divide inputs by their length."""
        if not nodes:
            return
        b, parts = self.builder, [self.values[node.number] for node in nodes]
        square = b.fmul(parts[0], parts[0])
        for part in parts[1:]:
            square = b.fadd(square, b.fmul(part, part))
        length = b.call(self.emitter.root(), [square])
        for node, part in zip(nodes, parts):
            self.values[node.number] = b.fdiv(part, length)

    def compute(self, outputs: Sequence[Node], destinations: Destinations) -> None:
        """Everything the outputs need that is not known yet, arguments first.

        A result is stored as soon as it is known: kept to the end it would take a register from the others.
        """
        if self.emitter.lanes == 1:
            self._turn_together(outputs)
        for node in [*needed_nodes(outputs, self.values), *outputs]:
            if node.number not in self.values:
                self.values[node.number] = self._value(node, [self.values[a.number] for a in node.args])
            for pointer, index in destinations.pop(node.number, ()):
                self.builder.store(self.values[node.number], self._at(pointer, index), align=8)

    def _turn_together(self, outputs: Sequence[Node]) -> None:
        """Sines and cosines of inputs, four at once: the same bits in a third of the instructions."""
        nodes = [node.args[0] for node in needed_nodes(outputs, self.values) if node.op in ("sin", "cos")]
        angles = [number for number in dict.fromkeys(node.number for node in nodes) if number in self.values]
        b, kind = self.builder, ir.VectorType(_DOUBLE, _TOGETHER)
        for start in range(0, len(angles), _TOGETHER):
            group, vector = angles[start : start + _TOGETHER], ir.Constant(kind, [0.0] * _TOGETHER)
            for i, angle in enumerate(group):
                vector = b.insert_element(vector, self.values[angle], _COUNT(i))
            both = near_sin_cos(b, vector)
            for i, angle in enumerate(group):
                sine, cosine = (b.extract_element(part, _COUNT(i)) for part in both)
                self._angles[angle] = sine, cosine

    def _value(self, node: Node, args: list[Any]) -> Any:
        if node.op == "number":
            return constant(self.emitter.number, float(node.value))
        if node.op in self._binary:
            return self._binary[node.op](*args)
        if node.op == "neg":
            return self.builder.fneg(args[0])
        if node.op == "sqrt":
            return self.builder.call(self.emitter.root(), args)
        angle = node.args[0].number
        if angle not in self._angles:
            self._angles[angle] = near_sin_cos(self.builder, args[0])
        return self._angles[angle][node.op == "cos"]

    def _at(self, pointer: Any, index: int) -> Any:
        return self.builder.gep(pointer, [ir.Constant(_INTEGER, index)])

    def _spread(self, value: Any) -> Any:
        lanes = self.emitter.lanes
        if lanes == 1:
            return value
        first = self.builder.insert_element(ir.Constant(self.emitter.number, ir.Undefined), value, _COUNT(0))
        order = ir.Constant(ir.VectorType(_COUNT, lanes), [0] * lanes)
        return self.builder.shuffle_vector(first, ir.Constant(self.emitter.number, ir.Undefined), order)
