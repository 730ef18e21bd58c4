"""The functions of a tree as LLVM code: its terms at a state, and a frame's from them.

    constants(p, k)                                                     what depends on the parameters alone
    terms(k, q, v, M, bias, gravity, origin, rotation, twist, acceleration)        M, C v + g, g; motion of the links
    frame_i(k, origin, rotation, twist, acceleration, place, position, rotation, J, drift, twist)     on link i; the
                                                                        last on the ground

Every argument is the address of doubles, row by row (`tree_program` has the records). For W lanes each number of q, v
and of the results is W doubles side by side; k and place are one for all lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from palpate.equations.algebra.graph import PARAMETER, Node, Output
from palpate.equations.algebra.vectors import cross, minus, plus, transposed
from palpate.equations.code.llvm_code import Emitter, Input
from palpate.equations.code.program import fold_constants, make_program, merge_equal_nodes
from palpate.equations.dynamics.base_frame import LinkPose, jacobian, link_poses
from palpate.equations.dynamics.composite import mass_matrix
from palpate.equations.dynamics.link_motions import motions
from palpate.equations.dynamics.recursive import bias, gravity
from palpate.equations.model.chain import Chain, Matrix, Vector
from palpate.equations.model.mechanism import Mechanism
from palpate.equations.model.symbols import TreeSymbols
from palpate.forking import cached_property

PLACE = 12  # numbers of a place on a link: position 3, rotation 9


@dataclass(frozen=True)
class Sizes:
    """How many coordinates, velocities and links (one for each joint, a free base included) a tree has."""

    nq: int
    nv: int
    links: int


def sizes_of(mechanism: Mechanism) -> Sizes:
    """Sizes of a tree."""
    coupling, links = mechanism.coupling, len(mechanism.links)
    nv = coupling.map.shape[1] if coupling is not None else links + 5 * mechanism.floating
    return Sizes(nv + mechanism.floating, nv, links)


class TreeGraph:
    """All terms of a tree as nodes of one graph, equal parts one."""

    def __init__(self, symbols: TreeSymbols) -> None:
        self.symbols, self.chain = symbols, Chain(symbols)
        names = self.chain.names
        parts = {"head": [link.shift for link in self.chain.links] + self.chain.gravity, **self._terms()}
        outputs = [Output(name, (len(nodes),), tuple(nodes)) for name, nodes in parts.items()]
        simplified = fold_constants(merge_equal_nodes(outputs, names.quaternion))
        self.program = make_program(simplified, {"q": names.q, "v": names.v}, ("q", "v"))
        self.graph = self.program.nodes[0].graph

    def _terms(self) -> dict[str, list[Node]]:
        chain = self.chain
        frames, moving = link_poses(chain), motions(chain, chain.v, [chain.graph.zero] * len(chain.v))
        return {
            "M": flat(mass_matrix(chain)),
            "bias": bias(chain),
            "gravity": gravity(chain),
            "origin": flat([frame.origin for frame in frames]),
            "rotation": flat([flat(transposed(frame.columns)) for frame in frames]),
            "twist": flat(_world_twists(chain, frames)),
            "acceleration": flat([[*motion.acc, *motion.dw] for motion in moving]),
        }

    @cached_property
    def constants(self) -> list[Node]:
        """Entries of k: each link's shift and gravity first, then what the terms need."""
        head = list(self.program.outputs[0].nodes)
        known = {node.number for node in head}
        return head + [node for node in self.program.constants() if node.number not in known]

    def emit(self, prefix: str, lanes: int) -> str:
        """LLVM code of the functions for W lanes; for one, with `constants` and `count`, the number of constants."""
        module = ir.Module(prefix)
        emitter, symbol = Emitter(module, lanes), self.graph.symbol
        if lanes == 1:
            count = ir.GlobalVariable(module, ir.IntType(64), f"{prefix}_count")
            count.initializer = ir.Constant(ir.IntType(64), len(self.constants))  # pyright: ignore[reportAttributeAccessIssue]
            count.global_constant = True
            parameters = [symbol(name, PARAMETER) for name in self.symbols.values]
            emitter.function(f"{prefix}_constants", [Input(parameters)], [self.constants])
        q, v = ([symbol(name) for name in names] for names in self.program.inputs.values())
        unit = [symbol(name) for name in self.chain.names.quaternion]
        results, frame = [output.nodes for output in self.program.outputs[1:]], _Frame(self.chain)
        inputs = [Input(self.constants, shared=True), Input(q), Input(v)]
        emitter.function(f"{prefix}_terms", inputs, results, unit)
        for link in (*range(len(self.chain.links)), -1):
            frame.emit(emitter, link, f"{prefix}_frame_{link % (len(self.chain.links) + 1)}")
        return str(module)


def flat(rows: Sequence[Sequence[Node]]) -> list[Node]:
    """Rows one after the other."""
    return [x for row in rows for x in row]


def _world_twists(chain: Chain, frames: list[LinkPose]) -> Matrix:
    """Velocity of every link's origin and its angular velocity, in world axes."""
    still, speeds = [chain.graph.zero] * 3, chain.full(chain.v)
    twists: Matrix = []
    for link, frame, dof in zip(chain.links, frames, chain.first_freedoms):
        if link.kind == "free":
            twists.append([*speeds[:3], *frame.to_base(list(speeds[3:6]))])
            continue
        linear, angular = still, still
        if link.parent >= 0:
            before = twists[link.parent]
            angular = before[3:]
            linear = plus(before[:3], cross(angular, minus(frame.origin, frames[link.parent].origin)))
        along = [speeds[dof] * x for x in frame.columns[2]]
        turns = link.kind == "revolute"
        twists.append([*linear, *plus(angular, along)] if turns else [*plus(linear, along), *angular])
    return twists


class _Frame:
    """A frame on one link: pose, Jacobian, J̇ v and twist from the links' motion and the frame's place."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        links = len(chain.links)
        self.head = self._symbols("head", links + 3)
        self.origin, self.rotation = self._symbols("origin", 3 * links), self._symbols("rotation", 9 * links)
        self.twist, self.acceleration = self._symbols("twist", 6 * links), self._symbols("acceleration", 6 * links)
        self.place = self._symbols("place", PLACE)
        self.links = [
            LinkPose(self.origin[3 * i : 3 * i + 3], [self.rotation[9 * i + k : 9 * i + 9 : 3] for k in range(3)])
            for i in range(links)
        ]

    def _symbols(self, name: str, count: int) -> Vector:
        return [self.chain.graph.symbol(f"{name}.{i}") for i in range(count)]

    def emit(self, emitter: Emitter, link: int, name: str) -> None:
        """The function for frames on one link."""
        motion = [Input(array) for array in (self.origin, self.rotation, self.twist, self.acceleration)]
        inputs = [Input(self.head, shared=True), *motion, Input(self.place, shared=True)]
        emitter.function(name, inputs, self._outputs(link))

    def _outputs(self, link: int) -> list[Vector]:
        if link < 0:
            J, still = jacobian(self.chain, self.links, link, self.place[:3]), [self.chain.graph.zero] * 6
            return [self.place[:3], self.place[3:], flat(J), still, still]
        frame = self.links[link]
        v, w = self.twist[6 * link : 6 * link + 3], self.twist[6 * link + 3 : 6 * link + 6]
        acc, spin = (frame.to_base(self.acceleration[6 * link + k : 6 * link + k + 3]) for k in (0, 3))
        arm = frame.to_base(self.place[:3])
        point = plus(frame.origin, arm)
        axes = [frame.to_base(self.place[3 + k :: 3]) for k in range(3)]
        linear = plus(acc, plus(cross(spin, arm), cross(w, cross(w, arm))))
        J = jacobian(self.chain, self.links, link, point)
        drift = [*plus(linear, self.head[-3:]), *spin]
        return [point, flat(transposed(axes)), flat(J), drift, [*plus(v, cross(w, arm)), *w]]
