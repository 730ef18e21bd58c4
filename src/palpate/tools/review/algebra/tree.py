"""Expressions and matrices as a person wrote them: light trees that keep their form, and the place of each part.

Nothing is simplified here: `a + a` stays a sum of two, so that a slip can be found where it was made.
Every node is an object of its own; sameness of expressions is decided by value (see `points`), never by form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from palpate.equations.spelling import Name
from palpate.errors import BadShape
from palpate.tools.review.algebra.effort import MOST_TERMS, check_terms, spend

Span: TypeAlias = tuple[int, int] | None


@dataclass(eq=False, frozen=True, slots=True)
class Num:
    """A number, exact; `decimals` counts the digits printed after the point, None for an exact number."""

    value: Fraction
    decimals: int | None = None
    span: Span = None


@dataclass(eq=False, frozen=True, slots=True)
class Sym:
    """A symbol."""

    name: Name
    span: Span = None


@dataclass(eq=False, frozen=True, slots=True)
class Trig:
    """sin, cos or tan of an angle; `short` if it was written as c_{12} or s1."""

    function: str
    angle: Node
    short: bool = False
    span: Span = None


@dataclass(eq=False, frozen=True, slots=True)
class Call:
    """Another function of one argument, such as exp."""

    function: str
    argument: Node
    span: Span = None


@dataclass(eq=False, frozen=True, slots=True)
class Sum:
    """Terms added; a subtracted term is a Neg."""

    terms: tuple[Node, ...]
    span: Span = None


@dataclass(eq=False, frozen=True, slots=True)
class Prod:
    """Factors multiplied, in the order written."""

    factors: tuple[Node, ...]
    span: Span = None


@dataclass(eq=False, frozen=True, slots=True)
class Neg:
    """Minus its operand."""

    operand: Node
    span: Span = None


@dataclass(eq=False, frozen=True, slots=True)
class Quot:
    """A fraction."""

    top: Node
    bottom: Node
    span: Span = None


@dataclass(eq=False, frozen=True, slots=True)
class Power:
    """A base to a rational exponent; a square root has ½."""

    base: Node
    exponent: Fraction
    span: Span = None


@dataclass(eq=False, frozen=True, slots=True)
class Ref:
    """A name that stands for an expression defined elsewhere, such as σ₁ of a 'where' list."""

    name: Name
    body: Node
    span: Span = None


@dataclass(eq=False, frozen=True, slots=True)
class Numeric:
    """An entry of a reference that has no expression: a function of a point gives the whole matrix in numbers."""

    matrix: Callable[[Any], Any]
    row: int
    column: int
    span: Span = None


Node: TypeAlias = Num | Sym | Trig | Call | Sum | Prod | Neg | Quot | Power | Ref | Numeric

# What functions are called in programs and in print, by their names in math and mpmath.
_FUNCTIONS = {"ln": "log", "arcsin": "asin", "arccos": "acos", "arctan": "atan", "abs": "fabs", "Abs": "fabs"}
ONE, ZERO = Num(Fraction(1)), Num(Fraction(0))


def number(value: int | Fraction) -> Num:
    """A number without a position in a text."""
    return Num(Fraction(value))


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below, the body of a Ref and the angle of a Trig included."""
    match node:
        case Sum(terms=below) | Prod(factors=below):
            return below
        case Neg(operand=below) | Trig(angle=below) | Call(argument=below) | Power(base=below) | Ref(body=below):
            return (below,)
        case Quot():
            return (node.top, node.bottom)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, from the top."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        spend()
        yield one
        waiting.extend(reversed(children(one)))


def distinct(*nodes: Node) -> Iterator[Node]:
    """Every node below these once, in however many places the body of a definition or a shared sum stands.

    Definitions that use each other make trees of millions of nodes from a few hundred lines.
    """
    waiting, seen = list(nodes), set()
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            spend()
            seen.add(id(one))
            yield one
            waiting.extend(children(one))


def size(value: Value) -> int:
    """How many symbols, numbers and operations a value has; a name that is defined elsewhere is one."""
    sizes: dict[int, int] = {}
    waiting = [node for row in value.rows for node in row] if isinstance(value, Grid) else [value]
    tops = list(waiting)
    while waiting:
        node = waiting[-1]
        below = () if isinstance(node, Ref) else children(node)
        unknown = [child for child in below if id(child) not in sizes]
        if unknown:
            waiting += unknown
            continue
        waiting.pop()
        if id(node) not in sizes:
            spend()
            sizes[id(node)] = 1 + sum(sizes[id(child)] for child in below)
    return sum(sizes[id(node)] for node in tops)


_BELOW = {Sum: "terms", Prod: "factors", Neg: "operand", Trig: "angle", Call: "argument", Power: "base", Ref: "body"}


def with_children(node: Node, below: tuple[Node, ...]) -> Node:
    """The same kind of node over other children."""
    if isinstance(node, Quot):
        return Quot(below[0], below[1], node.span)
    return replace(node, **{_BELOW[type(node)]: below if isinstance(node, Sum | Prod) else below[0]}) if below else node


def rewrite(node: Node, changes: Mapping[int, Node], after: Mapping[int, Callable[[Node], Node]] | None = None) -> Node:
    """The tree with the nodes of these ids replaced; untouched parts are shared.

    Args:
        node: the top of the tree.
        changes: what stands instead of a node.
        after: what is done to a node once everything below it has been rewritten.
    """
    after = after or {}
    made = changes.get(id(node)) or _rebuilt(node, lambda child: rewrite(child, changes, after))
    return after[id(node)](made) if id(node) in after else made


def _rebuilt(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node over changed children; itself where nothing below it changes."""
    below = children(node)
    renewed = tuple(map(change, below))
    return node if all(a is b for a, b in zip(below, renewed)) else with_children(node, renewed)


def substitute(node: Node, change: Callable[[Node], Node | None]) -> Node:
    """The tree with every node for which `change` gives another one replaced by it; shared parts stay shared."""
    made: dict[int, Node] = {}

    def changed(one: Node) -> Node:
        if id(one) not in made:
            spend()
            made[id(one)] = change(one) or _rebuilt(one, changed)
        return made[id(one)]

    return changed(node)


def rename(node: Node, names: Mapping[Name, Node]) -> Node:
    """The tree with every symbol of `names` replaced by its expression."""
    return substitute(node, lambda one: names.get(one.name) if isinstance(one, Sym) else None)


def symbols(node: Node) -> set[Name]:
    """Every symbol that occurs, also inside definitions and angles."""
    return {one.name for one in distinct(node) if isinstance(one, Sym)}


def fresh(node: Node) -> Node:
    """A copy in which every node is a new object, bodies of definitions and angles excepted."""
    spend()
    if isinstance(node, Ref | Trig):
        return replace(node)
    below = children(node)
    return with_children(node, tuple(fresh(child) for child in below)) if below else replace(node)


def add(terms: list[Node]) -> Node:
    """A sum, without the zeros and without needless nesting."""
    kept = [term for term in terms if not is_number(term, 0)]
    return kept[0] if len(kept) == 1 else Sum(tuple(kept)) if kept else ZERO


def multiply(factors: list[Node]) -> Node:
    """A product, without the ones; zero if a factor is."""
    if any(is_number(factor, 0) for factor in factors):
        return ZERO
    kept = [factor for factor in factors if not is_number(factor, 1)]
    return kept[0] if len(kept) == 1 else Prod(tuple(kept)) if kept else ONE


def function(word: str, argument: Node, span: Span = None) -> Node:
    """A function of an argument; cotangent, secant and cosecant as quotients."""
    if word in ("sin", "cos", "tan"):
        return Trig(word, argument, False, span)
    if word in ("cot", "sec", "csc"):
        check_terms(2 * size(argument), f"a {word}")
        sine, cosine = Trig("sin", argument), Trig("cos", fresh(argument))
        top, bottom = {"cot": (cosine, sine), "sec": (number(1), cosine), "csc": (number(1), sine)}[word]
        return Quot(top, bottom, span)
    return Call(_FUNCTIONS.get(word, word), argument, span)


def is_number(node: Node, value: int) -> bool:
    """Whether the node is this number, written as one."""
    return isinstance(node, Num) and node.value == value


def tidy_tree(node: Node) -> Node:
    """The tree without the ones and zeros an edit left behind: 1·x, x + 0, x/1, −(−x), sums in sums, x¹."""
    if isinstance(node, Ref | Trig):
        return node
    below = children(node)
    if below:
        node = with_children(node, tuple(tidy_tree(child) for child in below))
    match node:
        case Sum():
            flat = [inner for term in node.terms for inner in (term.terms if isinstance(term, Sum) else (term,))]
            return add(flat)
        case Prod():
            return _tidy_product(node)
        case Neg(operand=Neg(operand=inner)):
            return inner
        case Neg(operand=Num(value=value)) if value == 0:
            return ZERO
        case Quot(top=top, bottom=Num(value=value)) if value == 1:
            return top
        case Power(base=base, exponent=exponent) if exponent == 1:
            return base
    return node


def _tidy_product(node: Prod) -> Node:
    signs = sum(isinstance(factor, Neg) for factor in node.factors)
    bare = [factor.operand if isinstance(factor, Neg) else factor for factor in node.factors] if signs else node.factors
    flat = [inner for factor in bare for inner in (factor.factors if isinstance(factor, Prod) else (factor,))]
    made = multiply(flat)
    return Neg(made) if signs % 2 and not is_number(made, 0) else made


@dataclass(frozen=True, eq=False)
class Grid:
    """A matrix: rows of expressions. A vector has one column (or one row)."""

    rows: tuple[tuple[Node, ...], ...]

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return len(self.rows), len(self.rows[0])

    @property
    def is_numeric(self) -> bool:
        """Whether the entries are numbers without expressions."""
        return isinstance(self.rows[0][0], Numeric)

    def __getitem__(self, index: tuple[int, int]) -> Node:
        return self.rows[index[0]][index[1]]

    def expression(self, index: tuple[int, int]) -> Node | None:
        """An entry; None where there are only numbers."""
        return None if self.is_numeric else self[index]

    def part(self, rows: Sequence[int], columns: Sequence[int]) -> Grid:
        """Some of the rows and columns."""
        return Grid(tuple(tuple(self[i, j] for j in columns) for i in rows))

    def entries(self) -> list[tuple[tuple[int, int], Node]]:
        """Every entry with its row and column, counted from 0."""
        return [((i, j), node) for i, row in enumerate(self.rows) for j, node in enumerate(row)]

    def each(self, change: Callable[[Node], Node]) -> Grid:
        """The matrix with every entry changed."""
        return Grid(tuple(tuple(change(node) for node in row) for row in self.rows))

    def angular(self) -> set[Name]:
        """The symbols that stand in a sine or cosine."""
        nodes = distinct(*(entry for row in self.rows for entry in row))
        return set().union(*(symbols(node.angle) for node in nodes if isinstance(node, Trig)))

    def transposed(self) -> Grid:
        """The transpose."""
        return Grid(tuple(zip(*self.rows)))


Value: TypeAlias = Node | Grid


def grid(rows: Sequence[Sequence[Node]]) -> Grid:
    """A matrix from rows, all of one length."""
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        raise BadShape(f"a matrix whose rows have {', '.join(str(len(row)) for row in rows)} entries")
    return Grid(tuple(map(tuple, rows)))


def assembled(cells: list[list[Value | str]]) -> Grid:
    """A matrix from its cells; blocks are joined, and what is left to symmetry (a text) is filled in."""
    written = [[cell for cell in row if not isinstance(cell, str)] for row in cells]
    if sum(map(len, written)) == sum(map(len, cells)):
        return from_lists(written)
    size = max(len(row) for row in cells)
    padded = [row + [""] * (size - len(row)) for row in cells]
    rows: list[list[Node]] = []
    for i, row in enumerate(padded):
        rows.append([])
        for j, cell in enumerate(row):
            mirror = padded[j][i] if j < len(padded) and i < len(padded[j]) else ""
            entry = mirror if isinstance(cell, str) else cell
            if isinstance(entry, str | Grid):
                raise BadShape(f"entry ({i + 1},{j + 1}) is empty, and so is its mirror image")
            rows[-1].append(fresh(entry) if isinstance(cell, str) else entry)
    return grid(rows)


def from_lists(rows: list[list[Value]]) -> Grid:
    """A matrix from rows of scalars or of blocks; [[a, b], [c, d]] arrives as one row of rows."""
    nested = len(rows) == 1 and all(isinstance(cell, Grid) and cell.shape[0] == 1 for cell in rows[0])
    if nested:
        rows = [[cell] for cell in rows[0]]
    made: list[list[Node]] = []
    for row in rows:
        blocks = [as_grid(cell) for cell in row]
        if len({block.shape[0] for block in blocks}) != 1:
            raise BadShape("blocks of different height stand side by side")
        made += [[node for block in blocks for node in block.rows[i]] for i in range(blocks[0].shape[0])]
    return grid(made)


def as_grid(value: Value) -> Grid:
    """A scalar as a matrix of one entry."""
    return value if isinstance(value, Grid) else Grid(((value,),))


def plus(a: Value, b: Value, minus: bool = False) -> Value:
    """a + b, or a − b."""
    b = negative(b) if minus else b
    if isinstance(a, Grid) and isinstance(b, Grid):
        if a.shape != b.shape:
            raise BadShape(f"matrices of shapes {shape_text(a.shape)} and {shape_text(b.shape)} are added")
        return grid([[total(pair) for pair in zip(*rows)] for rows in zip(a.rows, b.rows)])
    for scalar, matrix in ((a, b), (b, a)):
        if isinstance(matrix, Grid):
            if isinstance(scalar, Num) and scalar.value == 0:  # a zero vector is often written 0
                return matrix
            raise BadShape("a matrix and a scalar are added")
    return total([node for node in (a, b) if not isinstance(node, Grid)])


def total(terms: Sequence[Node]) -> Node:
    """A sum; one without brackets at its beginning goes on."""
    first, *others = terms
    return add([*(first.terms if isinstance(first, Sum) and first.span is None else [first]), *others])


def negative(a: Value) -> Value:
    """−a."""
    return a.each(opposite) if isinstance(a, Grid) else opposite(a)


def opposite(node: Node) -> Node:
    """−node."""
    return node if is_number(node, 0) else Neg(node, node.span)


def times(a: Value, b: Value) -> Value:
    """a · b: of scalars, a scalar and a matrix, or matrices whose shapes fit."""
    if isinstance(a, Grid) and isinstance(b, Grid):
        if a.shape[1] != b.shape[0]:
            if (1, 1) in (a.shape, b.shape):
                scalar, other = (a, b) if a.shape == (1, 1) else (b, a)
                return times(scalar.rows[0][0], other)
            raise BadShape(f"matrices of shapes {shape_text(a.shape)} and {shape_text(b.shape)} are multiplied")
        check_terms(b.shape[1] * size(a) + a.shape[0] * size(b), f"a product of two matrices, {shape_text(a.shape)} and"
                    f" {shape_text(b.shape)},")  # fmt: skip
        columns = b.transposed().rows
        made = grid([[_dot(row, column) for column in columns] for row in a.rows])
        return made.rows[0][0] if made.shape == (1, 1) else made
    for scalar, matrix in ((a, b), (b, a)):
        if isinstance(matrix, Grid) and not isinstance(scalar, Grid):
            check_terms(size(matrix) + math.prod(matrix.shape) * size(scalar), "a matrix times an expression")
    if isinstance(a, Grid):
        assert not isinstance(b, Grid)
        return a.each(lambda node: multiply([node, fresh(b)]))
    if isinstance(b, Grid):
        return b.each(lambda node: multiply([fresh(a), node]))
    return multiply([a, b])


def _dot(row: Sequence[Node], column: Sequence[Node]) -> Node:
    return add([multiply([fresh(x), fresh(y)]) for x, y in zip(row, column)])


def over(a: Value, b: Value) -> Value:
    """a / b, b a scalar."""
    if isinstance(b, Grid):
        raise BadShape("a division by a matrix; write its inverse, J^{-1}")
    if isinstance(a, Grid):
        check_terms(size(a) + math.prod(a.shape) * size(b), "a matrix over an expression")
    return a.each(lambda node: Quot(node, fresh(b))) if isinstance(a, Grid) else Quot(a, b)


def raised(a: Value, exponent: Fraction) -> Value:
    """a^e: of a scalar, or a whole power of a square matrix."""
    if not isinstance(a, Grid):
        return Power(a, exponent)
    if a.shape[0] != a.shape[1] or exponent.denominator != 1:
        raise BadShape(f"a matrix of shape {shape_text(a.shape)} to the power {exponent}")
    _check_power(a, exponent.numerator)
    if exponent < 0:
        a, exponent = inverse(a), -exponent
    made: Value = a
    for _ in range(exponent.numerator - 1):
        made = times(made, a)
    return made


def _check_power(a: Grid, exponent: int) -> None:
    """Refuse a power of a matrix that has too many terms: each factor of an n×n matrix makes them n times as many."""
    count = base = size(a)
    for factors in range(2, abs(exponent) + 1):
        count = a.shape[0] * (count + base)
        if count > MOST_TERMS:
            what = f"a {shape_text(a.shape)} matrix to the power {exponent}, of which {factors} factors"
            check_terms(count, what)


def inverse(a: Grid) -> Grid:
    """The inverse by cofactors; for matrices up to 4 by 4."""
    n = a.shape[0]
    if n > 4:
        raise BadShape(f"the inverse of a {n}×{n} matrix is not written out; at most 4×4")
    determinant = math.factorial(n - 1) * size(a) + 2 * math.factorial(n)  # each entry stands in (n − 1)! products
    minors = n * n * math.factorial(max(n - 2, 0)) * size(a)
    check_terms(n * n * determinant + minors, f"the inverse of a {shape_text(a.shape)} matrix")
    bottom = _determinant(a.rows)
    if n == 1:
        return Grid(((Power(bottom, Fraction(-1)),),))
    cofactor = [[_cofactor(a.rows, j, i) for j in range(n)] for i in range(n)]
    return grid([[Quot(node, fresh(bottom)) for node in row] for row in cofactor])


def _cofactor(rows: Sequence[Sequence[Node]], i: int, j: int) -> Node:
    minor = [[node for c, node in enumerate(row) if c != j] for r, row in enumerate(rows) if r != i]
    determinant = _determinant(minor)
    return determinant if (i + j) % 2 == 0 else opposite(determinant)


def _determinant(rows: Sequence[Sequence[Node]]) -> Node:
    if len(rows) == 1:
        return fresh(rows[0][0])
    parts = [multiply([fresh(node), _cofactor(rows, 0, j)]) for j, node in enumerate(rows[0])]
    return add(parts)


def shape_text(shape: tuple[int, int]) -> str:
    """A shape as text: 3×2."""
    return f"{shape[0]}×{shape[1]}"
