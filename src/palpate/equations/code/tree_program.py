"""A tree's terms as machine code: derived once, kept on disk, called by address from kernels and from Python."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from palpate.checks import Array
from palpate.engine.compiling import programs
from palpate.engine.compiling.cache import Origin
from palpate.engine.compiling.programs import call_program
from palpate.engine.kernels import kernel
from palpate.engine.records import Integers, Matrix, ReadVector, Record, Vector, sized
from palpate.engine.views import address_of
from palpate.equations.code.tree_code import PLACE, TreeGraph, sizes_of
from palpate.equations.model.chain import axes_of
from palpate.equations.model.mechanism import LinkFrame, Mechanism
from palpate.equations.model.symbols import TreeSymbols
from palpate.forking import cached_property

LANES = 8  # states at once: the doubles of an AVX-512 register, or of two AVX registers


class TreeCode(Record):
    """A tree's machine code and parameters, as kernels call them.

    Attributes:
        constants, terms, frames: addresses; of the frame functions one for each link, and the last for the ground.
        p: parameters (`TreeSymbols.values` says in which order). Whoever changes one calls `update_constants`.
        k: what is computed from them once.
    """

    constants: int
    terms: int
    frames: Integers = sized("links")
    p: Vector
    k: Vector


class TreeMotion(Record):
    """Motion of every link of a tree at a state.

    Attributes:
        origin, rotation: pose of each link's frame in the world (rotation row by row). The frame is the program's own:
            origin on the joint's axis, which is its z; `TreeProgram.place` says where on it something is fixed.
        twist: velocity of the origin and angular velocity, world axes.
        acceleration: what is left of the origin's acceleration, less gravity, and of the angular acceleration when
            v̇ = 0, in the link's own axes.
    """

    origin: Matrix = sized("links", 3)
    rotation: Matrix = sized("links", 9)
    twist: Matrix = sized("links", 6)
    acceleration: Matrix = sized("links", 6)


class TreeTerms(TreeMotion):
    """Terms of a tree at a state: M(q), C v + g, g, and the motion of every link."""

    M: Matrix = sized("nv", "nv")
    bias: Vector = sized("nv")
    gravity: Vector = sized("nv")


class TreePlace(Record):
    """A frame fixed on a link (−1: on the ground): position (3) and rotation (9, row by row) in the program's frame."""

    link: int
    pose: Vector = sized(PLACE)


class FrameTerms(Record):
    """A frame at a state: pose, Jacobian 6×n, J̇ v and twist, [linear; angular] at its origin in world axes."""

    position: Vector = sized(3)
    rotation: Matrix = sized(3, 3)
    J: Matrix = sized(6, "nv")
    drift: Vector = sized(6)
    twist: Vector = sized(6)


@kernel
def update_constants(code: TreeCode) -> None:
    """k from p."""
    call_program(code.constants, (address_of(code.p), address_of(code.k)))  # pyright: ignore[reportCallIssue]


@kernel
def compute_terms(code: TreeCode, q: ReadVector, v: ReadVector, out: TreeTerms) -> None:
    """All terms at a state; no number is refused, what is not finite gives NaN."""
    call_program(  # pyright: ignore[reportCallIssue]
        code.terms,
        (
            address_of(code.k), address_of(q), address_of(v), address_of(out.M), address_of(out.bias),
            address_of(out.gravity), address_of(out.origin), address_of(out.rotation), address_of(out.twist),
            address_of(out.acceleration),
        ),
    )  # fmt: skip


@kernel
def compute_frame(code: TreeCode, terms: TreeMotion, frame: TreePlace, out: FrameTerms) -> None:
    """A frame from the terms of a state."""
    call_program(  # pyright: ignore[reportCallIssue]
        code.frames[frame.link],
        (
            address_of(code.k), address_of(terms.origin), address_of(terms.rotation), address_of(terms.twist),
            address_of(terms.acceleration), address_of(frame.pose), address_of(out.position),
            address_of(out.rotation), address_of(out.J), address_of(out.drift), address_of(out.twist),
        ),
    )  # fmt: skip


class TreeProgram:
    """The terms of a tree of hinges and slides, fixed or with a free base, compiled.

    One program serves every tree of the same build: masses, centres of mass, tensors, rotors, gravity, lengths and
    fixed angles are parameters. `TreeSymbols` says in which order; trees that differ in nothing else compile nothing.

    Attributes:
        mechanism: the tree.
        sizes: of the records: `TreeTerms(program.record_sizes)`.
        code: what kernels take.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        symbols = TreeSymbols(mechanism)
        self.mechanism, self.sizes = mechanism, sizes_of(mechanism)
        prefix = _ready(symbols, 1)
        constants = np.zeros(programs.whole_number(f"{prefix}_count"))
        self.code = self._code(prefix, symbols.vector, constants)
        self.code.constants = programs.address(f"{prefix}_constants")
        update_constants(self.code.address)

    def _code(self, prefix: str, p: Array, k: Array) -> TreeCode:
        frames = [programs.address(f"{prefix}_frame_{i}") for i in range(self.sizes.links + 1)]
        return TreeCode(constants=0, terms=programs.address(f"{prefix}_terms"), frames=np.array(frames), p=p, k=k)

    @cached_property
    def lanes(self) -> TreeCode:
        """The same for LANES states at once, compiled when first asked for."""
        prefix = _ready(TreeSymbols(self.mechanism), LANES)
        return self._code(prefix, self.code.p, self.code.k)

    @property
    def record_sizes(self) -> dict[str, int]:
        """Sizes that records of terms and frames ask for."""
        return {"nv": self.sizes.nv, "links": self.sizes.links}

    def place(self, frame: LinkFrame) -> TreePlace:
        """A place on a link of the mechanism as kernels take it."""
        position, rotation = frame.position, frame.rotation
        if frame.link >= 0:
            axes = np.array(axes_of(self.mechanism.links[frame.link]))
            position = axes @ position - np.array([0.0, 0.0, self.code.k[frame.link]])
            rotation = axes @ rotation
        return TreePlace(link=frame.link, pose=np.concatenate([position, rotation.ravel()]))


def _ready(symbols: TreeSymbols, lanes: int) -> str:
    digest = hashlib.sha256(symbols.build.encode()).hexdigest()
    origin = Origin(Path(__file__), lanes, "tree", digest)
    return programs.load(origin, lambda prefix: TreeGraph(symbols).emit(prefix, lanes), lanes)
