"""The functions of a tree: its terms at a state, and a frame's pose, Jacobian and acceleration from them, as graphs.

    constants(p, k)                      what depends on the parameters alone
    terms(k, q, v, out)                  M, bias, gravity and every link's motion
    frame_i(k, links, place, out)        pose, J, J̇ v and twist of a frame fixed on link i

Every argument is an array of doubles; `Layout` says where what lies in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from llvmlite import ir

from palpate.equations.algebra.graph import PARAMETER, Node, Output
from palpate.equations.code.llvm_code import Emitter, Input
from palpate.equations.code.program import folded, make_program, merged
from palpate.equations.dynamics.recursive import (
    Motion,
    Placed,
    bias,
    cross,
    gravity,
    jacobian,
    mass_matrix,
    minus,
    motions,
    placed_links,
    plus,
    transposed,
)
from palpate.equations.model.chain import Chain, Vector
from palpate.equations.model.symbols import TreeSymbols

LINK = 24  # numbers of a link: origin 3, rotation 9, velocity of the origin 3, ω 3, v̇ 3, ω̇ 3
PLACE = 12  # numbers of a place on a link: position 3, rotation 9


@dataclass(frozen=True)
class Layout:
    """Where results lie.

    `out` of terms: M (n×n, row by row), bias (n), gravity (n), then LINK numbers for each link: origin and rotation
    (row by row) in the world, velocity of the origin and angular velocity in world axes, and in the link's own axes
    the acceleration v̇ of the origin and ω̇ that are left when all q̈ are zero, free fall taken as −gravity.
    `out` of a frame: position (3), rotation (9, row by row), J (6×n, row by row, [linear; angular] at the frame's
    origin in world axes), J̇ v (6), twist (6).

    Attributes:
        nq, nv: coordinates and velocities.
        links: moving links; one for each joint, a free base included.
    """

    nq: int
    nv: int
    links: int

    @property
    def bias(self) -> int:
        """Where the bias begins."""
        return self.nv * self.nv

    @property
    def gravity(self) -> int:
        """Where gravity begins."""
        return self.bias + self.nv

    @property
    def motion(self) -> int:
        """Where the links begin."""
        return self.gravity + self.nv

    @property
    def size(self) -> int:
        """Numbers of a state's terms."""
        return self.motion + LINK * self.links

    @property
    def jacobian(self) -> int:
        """Where a frame's Jacobian begins."""
        return PLACE

    @property
    def drift(self) -> int:
        """Where a frame's J̇ v begins."""
        return PLACE + 6 * self.nv

    @property
    def frame_size(self) -> int:
        """Numbers of a frame."""
        return self.drift + 12


def layout_of(symbols: TreeSymbols) -> Layout:
    """Sizes of a tree's arrays."""
    coupling, links = symbols.mechanism.coupling, len(symbols.mechanism.links)
    joints = links if coupling is None else coupling.map.shape[1]
    nv = joints + (5 if symbols.mechanism.floating and coupling is None else 0)
    return Layout(nv + symbols.mechanism.floating, nv, links)


class TreeGraph:
    """All terms of a tree as nodes of one graph, equal parts one."""

    def __init__(self, symbols: TreeSymbols) -> None:
        self.symbols, self.chain = symbols, Chain(symbols)
        self.layout = layout_of(symbols)
        names = self.chain.names
        outputs = [self._output("shifts", [link.shift for link in self.chain.links] + self.chain.gravity)]
        outputs += [self._output("terms", self._terms())]
        found = folded(merged(outputs, names.quaternion))
        self.program = make_program(found, {"q": names.q, "v": names.v}, ("q", "v"))
        self.graph = self.program.nodes[0].graph

    def _output(self, name: str, nodes: Sequence[Node]) -> Output:
        return Output(name, (len(nodes),), tuple(nodes))

    def _terms(self) -> list[Node]:
        chain = self.chain
        frames, moving = placed_links(chain), motions(chain, chain.v, [chain.graph.zero] * len(chain.v))
        speeds = _world_speeds(chain, frames)
        rows = [x for row in mass_matrix(chain) for x in row]
        nodes = [*rows, *bias(chain), *gravity(chain)]
        for one, motion, speed in zip(frames, moving, speeds):
            nodes += _link(one, motion, speed)
        return nodes

    @cached_property
    def constants(self) -> list[Node]:
        """Entries of k: each link's shift and gravity first, then what the terms need."""
        head = list(self.program.outputs[0].nodes)
        known = {node.number for node in head}
        return head + [node for node in self.program.constants() if node.number not in known]

    def emit(self, prefix: str, lanes: int) -> str:
        """LLVM code of the functions; `constants` for one set of parameters, the others for W lanes as well."""
        module = ir.Module(prefix)
        scalar, graph = Emitter(module), self.graph
        symbol = graph.symbol
        parameters = [symbol(name, PARAMETER) for name in self.symbols.values]
        scalar.function(f"{prefix}_constants", [Input(parameters)], [self.constants])
        q, v = ([symbol(name) for name in names] for names in self.program.inputs.values())
        unit = [symbol(name) for name in self.chain.names.quaternion]
        for emitter in (scalar, Emitter(module, lanes)):
            inputs = [Input(self.constants, shared=True), Input(q), Input(v)]
            name = f"{prefix}_terms{emitter.lanes}"
            emitter.function(name, inputs, [self.program.outputs[1].nodes], unit)
            frame = _Frame(self.chain, self.layout)
            for link in range(self.layout.links):
                frame.emit(emitter, link, f"{prefix}_frame{link}_{emitter.lanes}")
        return str(module)


def _world_speeds(chain: Chain, frames: list[Placed]) -> list[tuple[Vector, Vector]]:
    """Velocity of every link's origin and its angular velocity, in world axes."""
    zero, speeds = [chain.graph.zero] * 3, chain.full(chain.v)
    found: list[tuple[Vector, Vector]] = []
    dof = 0
    for index, link in enumerate(chain.links):
        if link.kind == "free":
            found.append((list(speeds[:3]), frames[index].out(list(speeds[3:6]))))
            dof += 6
            continue
        linear, angular = found[link.parent] if link.parent >= 0 else (zero, zero)
        before = frames[link.parent].origin if link.parent >= 0 else zero
        if link.parent >= 0:
            linear = plus(linear, cross(angular, minus(frames[index].origin, before)))
        along = [speeds[dof] * x for x in frames[index].columns[2]]
        found.append((linear, plus(angular, along)) if link.kind == "revolute" else (plus(linear, along), angular))
        dof += 1
    return found


def _link(frame: Placed, motion: Motion, speed: tuple[Vector, Vector]) -> list[Node]:
    rotation = [x for row in transposed(frame.columns) for x in row]
    return [*frame.origin, *rotation, *speed[0], *speed[1], *motion.acc, *motion.dw]


class _Frame:
    """A frame on one link: pose, Jacobian, J̇ v and twist from the links' motion and the frame's place."""

    def __init__(self, chain: Chain, layout: Layout) -> None:
        self.chain = chain
        symbol = chain.graph.symbol
        self.head = [symbol(f"head{i}") for i in range(layout.links + 3)]
        self.motion = [symbol(f"motion{i}") for i in range(LINK * layout.links)]
        self.place = [symbol(f"place{i}") for i in range(PLACE)]
        parts = [self.motion[LINK * i : LINK * (i + 1)] for i in range(layout.links)]
        self.links = [Placed(x[:3], transposed([x[3:6], x[6:9], x[9:12]])) for x in parts]

    def emit(self, emitter: Emitter, link: int, name: str) -> None:
        """The function for frames on one link."""
        inputs = [Input(self.head, shared=True), Input(self.motion), Input(self.place, shared=True)]
        emitter.function(name, inputs, [self._outputs(link)])

    def _outputs(self, link: int) -> list[Node]:
        frame, x = self.links[link], self.motion[LINK * link : LINK * (link + 1)]
        v, w, acc, turning = x[12:15], x[15:18], x[18:21], frame.out(x[21:24])
        arm = frame.out(self.place[:3])
        point = plus(frame.origin, arm)
        axes = [frame.out(self.place[3 + k :: 3]) for k in range(3)]
        linear = plus(frame.out(acc), plus(cross(turning, arm), cross(w, cross(w, arm))))
        rows = [*transposed(axes), *jacobian(self.chain, self.links, link, point)]
        drift = [*plus(linear, self.head[-3:]), *turning]
        return [*point, *(x for row in rows for x in row), *drift, *plus(v, cross(w, arm)), *w]
