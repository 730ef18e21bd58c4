"""(M + diag d) x = f of a tree as machine code: Lᵀ D L, only where joints carry each other, without a loop."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from llvmlite import ir

from palpate.engine.compiling import programs
from palpate.engine.compiling.cache import Origin
from palpate.engine.compiling.programs import call_program
from palpate.engine.kernels import kernel
from palpate.engine.records import Matrix, Vector
from palpate.engine.views import address_of
from palpate.equations.algebra.graph import Graph, Node
from palpate.equations.code.llvm_code import Emitter, Input


def solver_of(parents: Sequence[int]) -> int:
    """Address of the solver for a tree of velocities; `parents` gives each one's nearest carrier, −1 for the ground."""
    digest = hashlib.sha256(" ".join(map(str, parents)).encode()).hexdigest()
    prefix = programs.load(Origin(Path(__file__), 1, "solver", digest), lambda prefix: _emit(prefix, parents))
    return programs.address(f"{prefix}_solve")


@kernel
def solve_tree(solver: int, M: Matrix, added: Vector, f: Vector, x: Vector, pivots: Vector) -> None:
    """x = (M + diag added)⁻¹ f, and the pivots D, none of which may be zero."""
    arrays = address_of(M), address_of(added), address_of(f), address_of(x), address_of(pivots)
    call_program(solver, arrays)  # pyright: ignore[reportCallIssue]


def _emit(prefix: str, parents: Sequence[int]) -> str:
    module, graph, n = ir.Module(prefix), Graph(), len(parents)
    M = [[graph.symbol(f"M{i}_{j}") for j in range(n)] for i in range(n)]
    added, f = ([graph.symbol(f"{name}{i}") for i in range(n)] for name in ("added", "f"))
    x, pivots = _solved(M, added, f, [_carriers(parents, i) for i in range(n)])
    inputs = [Input([entry for row in M for entry in row]), Input(added), Input(f)]
    Emitter(module).function(f"{prefix}_solve", inputs, [x, pivots])
    return str(module)


def _carriers(parents: Sequence[int], i: int) -> list[int]:
    """Everything that carries a joint, the nearest first."""
    ancestors = []
    while parents[i] >= 0:
        i = parents[i]
        ancestors.append(i)
    return ancestors


def _solved(
    M: list[list[Node]], added: list[Node], f: list[Node], carriers: list[list[int]]
) -> tuple[list[Node], list[Node]]:
    """M + diag = Lᵀ D L from the tips to the base, then x = L⁻¹ D⁻¹ L⁻ᵀ f; D too."""
    n, one = len(f), M[0][0].graph.one
    A = [list(row) for row in M]
    for i in range(n):
        A[i][i] = A[i][i] + added[i]
    inverse: list[Node] = [one] * n
    x = list(f)
    for k in range(n - 1, -1, -1):
        inverse[k] = one / A[k][k]
        share = {i: A[k][i] * inverse[k] for i in carriers[k]}
        for i in carriers[k]:
            for j in [i, *carriers[i]]:
                A[i][j] = A[i][j] - share[i] * A[k][j]
            x[i] = x[i] - share[i] * x[k]
        for i in carriers[k]:
            A[k][i] = share[i]
    for k in range(n):
        x[k] = x[k] * inverse[k]
        for i in reversed(carriers[k]):
            x[k] = x[k] - A[k][i] * x[i]
    return x, [A[k][k] for k in range(n)]
