"""Terms of a robot with joints that follow others, in compiled code: evaluated in all joints, reduced by G."""

from __future__ import annotations

from palpate.engine.kernels import kernel
from palpate.engine.records import Matrix, Record, Vector, sized
from palpate.robot.mechanics.kernels import ModelTerms
from palpate.robot.robot import Robot


class CoupledModel(Record):
    """All joints behind the independent coordinates: q_all = P q + c, v_all = G v, and their terms (`Coordinates`)."""

    on: bool
    map: Matrix = sized("all_v", "nv")  # G
    position_map: Matrix = sized("all_q", "nq")  # P
    position_offset: Vector = sized("all_q")  # c
    q: Vector = sized("all_q")
    v: Vector = sized("all_v")
    terms: ModelTerms  # of all joints


def coupled_model(robot: Robot) -> CoupledModel:
    """The record of a robot's coordinates; an empty one where every joint is free."""
    c = robot.coordinates
    if not c.coupled:
        sizes = {"nv": robot.nv, "nq": robot.nq, "all_v": 0, "all_q": 0}
        return CoupledModel(sizes, on=False, terms=ModelTerms({"nv": 0}))
    sizes = {"nv": robot.nv, "nq": robot.nq, "all_v": robot.model.nv, "all_q": robot.model.nq}
    maps = {"map": c.map.copy(), "position_map": c.position_map.copy(), "position_offset": c.position_offset.copy()}
    return CoupledModel(sizes, on=True, terms=ModelTerms({"nv": robot.model.nv}), **maps)


@kernel
def expand_state(m: CoupledModel, q: Vector, v: Vector) -> None:
    """All joints' positions and velocities from the independent ones."""
    for i in range(m.q.size):
        m.q[i] = m.position_offset[i]
        for j in range(q.size):
            m.q[i] += m.position_map[i, j] * q[j]
    for i in range(m.v.size):
        m.v[i] = 0.0
        for j in range(v.size):
            m.v[i] += m.map[i, j] * v[j]


@kernel
def reduce_force(m: CoupledModel, full: Vector, out: Vector) -> None:
    """out = Gᵀ f."""
    for j in range(out.size):
        out[j] = 0.0
        for i in range(full.size):
            out[j] += m.map[i, j] * full[i]


@kernel
def reduce_columns(m: CoupledModel, full: Matrix, out: Matrix) -> None:
    """out = A G."""
    for row in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[row, j] = 0.0
            for i in range(full.shape[1]):
                out[row, j] += full[row, i] * m.map[i, j]


@kernel
def reduce_matrix(m: CoupledModel, full: Matrix, out: Matrix) -> None:
    """out = Gᵀ A G of a symmetric A."""
    for j in range(out.shape[0]):
        for k in range(j + 1):
            total = 0.0
            for a in range(full.shape[0]):
                if m.map[a, j] != 0.0:
                    for b in range(full.shape[0]):
                        total += m.map[a, j] * full[a, b] * m.map[b, k]
            out[j, k] = out[k, j] = total
