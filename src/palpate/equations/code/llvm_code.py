"""Nodes of a graph as LLVM code: straight-line functions of plain arrays of doubles, for one state or W at once.

Each operation is IEEE arithmetic in the graph's order: nothing is contracted or reordered, so that each of W lanes
gives the bits of the function for one state. No function of a mathematics library is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from palpate.equations.algebra.graph import Node

_DOUBLE, _INTEGER, _COUNT = ir.DoubleType(), ir.IntType(64), ir.IntType(32)


@dataclass(frozen=True)
class Input:
    """An array that a function reads: the nodes that its elements are.

    Attributes:
        shared: one number for all lanes, instead of one for each.
    """

    nodes: Sequence[Node]
    shared: bool = False


class Emitter:
    """Writes functions of W lanes into one LLVM module.

    An array of n numbers is n doubles for one state; for W lanes it is n × W doubles, the lanes of a number side by
    side.
    """

    def __init__(self, module: ir.Module, lanes: int = 1) -> None:
        self.module, self.lanes = module, lanes
        self.number: ir.Type = ir.VectorType(_DOUBLE, lanes) if lanes > 1 else _DOUBLE
        self.bits: ir.Type = ir.VectorType(_INTEGER, lanes) if lanes > 1 else _INTEGER
        self._roots: Any = None

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
        for array, pointer in zip(inputs, function.args):
            body.read(array, pointer)
        body.normalise(unit)
        body.compute([node for output in outputs for node in output])
        for output, pointer in zip(outputs, function.args[len(inputs) :]):
            body.write(output, pointer)
        body.builder.ret_void()

    def root(self) -> Any:
        """The processor's own square root."""
        if self._roots is None:
            kind = ir.FunctionType(self.number, [self.number])
            self._roots = ir.Function(self.module, kind, f"llvm.sqrt.{self._suffix}")
        return self._roots

    @property
    def _suffix(self) -> str:
        return f"v{self.lanes}f64" if self.lanes > 1 else "f64"

    def constant(self, value: float) -> Any:
        """A number in every lane."""
        return ir.Constant(self.number, [value] * self.lanes if self.lanes > 1 else value)

    def integer(self, value: int) -> Any:
        """A 64-bit integer in every lane."""
        return ir.Constant(self.bits, [value] * self.lanes if self.lanes > 1 else value)


class _Body:
    """The one block of a function: values of nodes as they are computed."""

    def __init__(self, emitter: Emitter, builder: Any) -> None:
        self.emitter, self.builder = emitter, builder
        self.values: dict[int, Any] = {}
        self._angles: dict[int, tuple[Any, Any]] = {}
        b = builder
        self._binary: Mapping[str, Callable[..., Any]] = {"add": b.fadd, "sub": b.fsub, "mul": b.fmul, "div": b.fdiv}

    def read(self, array: Input, pointer: Any) -> None:
        """Load an array; what is not used is dropped by the compiler."""
        for i, node in enumerate(array.nodes):
            value = self.builder.load(self._at(pointer, i), align=8)
            self.values[node.number] = self._spread(value) if array.shared else value

    def write(self, nodes: Sequence[Node], pointer: Any) -> None:
        """Store an array."""
        for i, node in enumerate(nodes):
            self.builder.store(self.values[node.number], self._at(pointer, i), align=8)

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

    def compute(self, outputs: Sequence[Node]) -> None:
        """Everything the outputs need that is not known yet, arguments first."""
        for node in needed_of(outputs, self.values):
            self.values[node.number] = self._value(node, [self.values[a.number] for a in node.args])

    def _value(self, node: Node, args: list[Any]) -> Any:
        if node.op == "number":
            return self.emitter.constant(float(node.value))
        if node.op in self._binary:
            return self._binary[node.op](*args)
        if node.op == "neg":
            return self.builder.fneg(args[0])
        if node.op == "sqrt":
            return self.builder.call(self.emitter.root(), args)
        angle = node.args[0].number
        if angle not in self._angles:
            self._angles[angle] = sine_and_cosine(self.emitter, self.builder, args[0])
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


def needed_of(outputs: Sequence[Node], known: Mapping[int, Any]) -> list[Node]:
    """Every node that outputs need beyond those that are known, arguments first."""
    seen: dict[int, Node] = {}
    waiting = list(outputs)
    while waiting:
        node = waiting.pop()
        if node.number not in seen and node.number not in known:
            seen[node.number] = node
            waiting += node.args
    return [seen[number] for number in sorted(seen)]


# ---------------------------------------------------------------------- sine and cosine

_PER_QUARTER = 6.36619772367581382433e-01  # 2/π
_QUARTER = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)  # π/2 in 33 bits each
_TO_WHOLE = 6755399441055744.0  # 1.5 · 2⁵²: adding it leaves the nearest whole number in the last bits
_SIN = (-1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
        2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10)  # fmt: skip
_COS = (4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
        -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11)  # fmt: skip


def sine_and_cosine(emitter: Emitter, b: Any, x: Any) -> tuple[Any, Any]:
    """sin x and cos x without branches: x less whole quarter turns, then two polynomials and a choice."""
    c = emitter.constant
    shifted = b.fadd(b.fmul(x, c(_PER_QUARTER)), c(_TO_WHOLE))
    turns = b.fsub(shifted, c(_TO_WHOLE))
    first, second = b.fsub(x, b.fmul(turns, c(_QUARTER[0]))), b.fmul(turns, c(_QUARTER[1]))
    r = b.fsub(first, second)
    small = b.fsub(b.fmul(turns, c(_QUARTER[2])), b.fsub(b.fsub(first, r), second))
    y = b.fsub(r, small)
    tail = b.fsub(b.fsub(r, y), small)
    sine, cosine = _near_zero(emitter, b, y, tail)
    quarter = b.bitcast(shifted, emitter.bits)
    odd = b.icmp_unsigned("!=", b.and_(quarter, emitter.integer(1)), emitter.integer(0))
    s, k = b.select(odd, cosine, sine), b.select(odd, sine, cosine)
    sign = b.shl(b.and_(quarter, emitter.integer(2)), emitter.integer(62))
    other = b.shl(b.and_(b.add(quarter, emitter.integer(1)), emitter.integer(2)), emitter.integer(62))
    return _flipped(emitter, b, s, sign), _flipped(emitter, b, k, other)


def _flipped(emitter: Emitter, b: Any, value: Any, sign: Any) -> Any:
    return b.bitcast(b.xor(b.bitcast(value, emitter.bits), sign), emitter.number)


def _polynomial(emitter: Emitter, b: Any, z: Any, coefficients: Sequence[float]) -> Any:
    value = emitter.constant(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = b.fadd(emitter.constant(coefficient), b.fmul(z, value))
    return value


def _near_zero(emitter: Emitter, b: Any, y: Any, tail: Any) -> tuple[Any, Any]:
    """sin and cos of y + tail, |y| ≤ π/4."""
    c = emitter.constant
    z = b.fmul(y, y)
    v = b.fmul(z, y)
    inner = b.fsub(b.fmul(z, b.fsub(b.fmul(c(0.5), tail), b.fmul(v, _polynomial(emitter, b, z, _SIN[1:])))), tail)
    sine = b.fsub(y, b.fsub(inner, b.fmul(v, c(_SIN[0]))))
    half = b.fmul(c(0.5), z)
    w = b.fsub(c(1.0), half)
    rest = b.fsub(b.fmul(b.fmul(z, z), _polynomial(emitter, b, z, _COS)), b.fmul(y, tail))
    cosine = b.fadd(w, b.fadd(b.fsub(b.fsub(c(1.0), w), half), rest))
    return sine, cosine
