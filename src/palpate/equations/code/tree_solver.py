"""Linear equations of a tree's mass matrix as machine code: Lᵀ D L, only where joints carry each other, no loop.

solve(M, d, f, x, D)                          x = (M + diag d)⁻¹ f, and the pivots D
slide(M, d, v, p, s, c, b, x, load, D)        b = M v + p; x with (M + diag d) x = b − s where c = 1 and x = 0 where
                                              c = 0; load = b − (M + diag d) x

For W lanes there is `solve` alone, and each number is W doubles side by side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from llvmlite import ir

from palpate.engine.compiling import programs
from palpate.engine.compiling.cache import Origin
from palpate.engine.compiling.programs import call_program
from palpate.engine.kernels import kernel
from palpate.engine.records import Matrix, Record, Vector, sized
from palpate.engine.views import address_of
from palpate.equations.algebra.graph import Graph, Node
from palpate.equations.algebra.linear_systems import solve_in_tree
from palpate.equations.code.llvm_code import Emitter, Input


def solver_of(parents: Sequence[int]) -> tuple[int, int]:
    """Addresses of `solve` and `slide` of a tree; `parents`: each velocity's nearest carrier, −1 for the ground."""
    prefix = _ready(parents, 1)
    return programs.address(f"{prefix}_solve"), programs.address(f"{prefix}_slide")


def lane_solver_of(parents: Sequence[int], lanes: int) -> int:
    """Address of `solve` for a number of states at once."""
    return programs.address(f"{_ready(parents, lanes)}_solve")


def _ready(parents: Sequence[int], lanes: int) -> str:
    digest = hashlib.sha256(" ".join(map(str, parents)).encode()).hexdigest()
    origin = Origin(Path(__file__), lanes, "solver", digest)
    return programs.load(origin, lambda prefix: _emit(prefix, parents, lanes), lanes)


@kernel
def solve_tree(solver: int, M: Matrix, added: Vector, f: Vector, x: Vector, pivots: Vector) -> None:
    """x = (M + diag added)⁻¹ f, and the pivots D, none of which may be zero."""
    arrays = address_of(M), address_of(added), address_of(f), address_of(x), address_of(pivots)
    call_program(solver, arrays)  # pyright: ignore[reportCallIssue]


class Sliding(Record):
    """Inputs of `slide_tree`, then its results, per velocity."""

    added: Vector = sized("N")
    impulse: Vector = sized("N")
    braking: Vector = sized("N")
    free: Vector = sized("N")  # 1, or 0 where a joint stands still
    momentum: Vector = sized("N")
    x: Vector = sized("N")
    load: Vector = sized("N")
    pivots: Vector = sized("N")


@kernel
def slide_tree(slide: int, M: Matrix, v: Vector, s: Sliding) -> None:
    """x of the free joints, the others at rest: (M + diag added) x = M v + impulse − braking.

    Given out too: momentum = M v + impulse, load = momentum − (M + diag added) x, and the pivots.
    """
    arrays = (
        address_of(M), address_of(s.added), address_of(v), address_of(s.impulse), address_of(s.braking),
        address_of(s.free), address_of(s.momentum), address_of(s.x), address_of(s.load), address_of(s.pivots),
    )  # fmt: skip
    call_program(slide, arrays)  # pyright: ignore[reportCallIssue]


def _emit(prefix: str, parents: Sequence[int], lanes: int) -> str:
    module, graph, n = ir.Module(prefix), Graph(), len(parents)
    M = [[graph.symbol(f"M{i}_{j}") for j in range(n)] for i in range(n)]
    names = "added", "f", "v", "impulse", "braking", "free"
    added, f, v, impulse, braking, free = ([graph.symbol(f"{name}{i}") for i in range(n)] for name in names)
    carriers, emitter = [_carriers(parents, i) for i in range(n)], Emitter(module, lanes)
    diagonal = [M[i][i] + added[i] for i in range(n)]
    x, pivots = solve_in_tree(_with_diagonal(M, diagonal), f, carriers)
    matrix = Input([entry for row in M for entry in row])
    emitter.function(f"{prefix}_solve", [matrix, Input(added), Input(f)], [x, pivots])
    if lanes > 1:
        return str(module)
    momentum = [_row_times(M, M[i][i], i, v, carriers) + impulse[i] for i in range(n)]
    held = [graph.one - c for c in free]
    A = [[M[i][j] * (free[i] * free[j]) for j in range(n)] for i in range(n)]
    right = [free[i] * (momentum[i] - braking[i]) for i in range(n)]
    A = _with_diagonal(A, [diagonal[i] * free[i] + held[i] for i in range(n)])
    x, pivots = solve_in_tree(A, right, carriers)
    load = [momentum[i] - _row_times(M, diagonal[i], i, x, carriers) for i in range(n)]
    inputs = [matrix, *map(Input, (added, v, impulse, braking, free))]
    emitter.function(f"{prefix}_slide", inputs, [momentum, x, load, pivots])
    return str(module)


def _with_diagonal(M: list[list[Node]], diagonal: list[Node]) -> list[list[Node]]:
    return [[*row[:i], diagonal[i], *row[i + 1 :]] for i, row in enumerate(M)]


def _row_times(M: list[list[Node]], diagonal: Node, i: int, x: list[Node], carriers: list[list[int]]) -> Node:
    """Row i of a tree's matrix times x; read below its diagonal alone."""
    total = diagonal * x[i]
    for j in range(len(x)):
        if j in carriers[i] or i in carriers[j]:
            total = total + M[max(i, j)][min(i, j)] * x[j]
    return total


def _carriers(parents: Sequence[int], i: int) -> list[int]:
    """Everything that carries a joint, the nearest first."""
    ancestors = []
    while parents[i] >= 0:
        i = parents[i]
        ancestors.append(i)
    return ancestors
