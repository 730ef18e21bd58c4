"""The plant on its own equations: the compiled terms of its tree in the place of the engine's forward dynamics.

    (M + armature + h B) v̇ = τ + Jᵀ f − B v − K (q − q₀) − bias

with h the physics step where damping is taken at the step's end (`euler`), 0 where it is not (`rk4`). State, clock and
warnings stay where the engine has them, and what contacts, pushes and sensors read of bodies is written there, so that
any single step can be handed to the engine: at a joint's stop, and where a number is no longer one.
"""

from __future__ import annotations

from collections.abc import Iterable

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.engine.kernels import kernel
from palpate.engine.records import Cube, Integers, Kept, Matrix, Record, Vector, sized
from palpate.equations.code.tree_program import (
    FrameTerms,
    TreeCode,
    TreePlace,
    TreeProgram,
    TreeTerms,
    update_constants,
)
from palpate.equations.code.tree_solver import solver_of
from palpate.equations.model.chain import axes_of
from palpate.equations.model.mechanism import mechanism_from_model
from palpate.equations.model.symbols import INERTIAL
from palpate.robot.frames import Frame
from palpate.robot.mechanics.kernels import ModelTerms
from palpate.spatial import matrix_from_quat
from palpate.world.plants.plant import Plant

FARTHEST, FASTEST = 1e6, 1e9  # rad or m, and rad/s or m/s: larger values are left to MuJoCo, which reports the error
SMALLEST_PIVOT = 1e-13  # of the mass matrix: below this MuJoCo warns
HINGE, _SLIDE, FREE = range(3)
_SLIDING = 2  # mjJNT_SLIDE; hinges follow
_EYE, _ABOVE, _RIGHT = np.eye(3), (0, 0, 1), (1, 2, 2)
_KINDS = {"revolute": HINGE, "prismatic": _SLIDE, "free": FREE}


class TreeBody(Record):
    """A body whose pose is read: on which link, and its frame and that of its inertia in the link's."""

    body: int
    link: int  # −1: it stands still
    root: int
    position: Vector = sized(3)
    rotation: Matrix = sized(3, 3)
    centre: Vector = sized(3)
    axes: Matrix = sized(3, 3)
    com: Vector = sized(3)  # its centre of mass in the frame that the link's parameters are in


class TreePlant(Record):
    """A plant on its own equations. Sizes: N velocities, links."""

    on: bool  # whether equations carry the plant at all,
    now: Kept[bool] = False  # and at this step
    handed: Kept[int] = 0  # steps that were the engine's
    code: TreeCode
    terms: TreeTerms
    bodies: list[TreeBody]
    link_of: Integers = sized("bodies")  # of every body, −1 for those that stand still
    kind: Integers = sized("links")
    dof: Integers = sized("links")  # first velocity of each link's joint
    mass: Vector = sized("links")
    moment: Matrix = sized("links", 3)  # mass times centre of mass, in the frame of the terms
    axes: Cube = sized("links", 3, 3)  # of the terms' frame of each link in the frame of its parameters
    at: Matrix = sized("bodies", 3)  # where every body stands in the latter,
    rotated: Cube = sized("bodies", 3, 3)  # and its axes there
    standing: float = 0.0  # J, potential energy of what does not move
    gravity: Vector = sized(3)
    extra: int = 0  # coordinates more than velocities: 1 for a free base
    first: int = 0  # first velocity of a hinge or slide
    least: Vector = sized("N")  # of each hinge and slide: the range in which no stop acts, and numbers are ordinary
    most: Vector = sized("N")
    damped: bool = False
    damping: Vector = sized("N")
    sprung: bool = False
    stiffness: Vector = sized("N")
    spring_rest: Vector = sized("N")
    holds_stops: bool = False  # itself, in the velocity problem of a step
    at_stop: bool = False  # now, any joint
    acceleration_is_read: bool = False  # the continuous one, by a sensor that carries a mass
    solver: int = 0  # addresses
    slider: int = 0
    added: Vector = sized("N")  # h B
    pivots: Vector = sized("N")
    force: Vector = sized("N")


class TreeModel(Record):
    """A law's model on its equations: terms of the tree and the tool's frame, most of them where the law reads them."""

    on: bool
    in_place: bool = False  # the plant's terms lie where the law reads
    code: TreeCode
    terms: TreeTerms
    tool: TreePlace
    frame: FrameTerms


_NO_CODE = {"constants": 0, "terms": 0, "p": np.zeros(0), "k": np.zeros(0)}


def no_model() -> TreeModel:
    """Where the engine evaluates the law's model."""
    sizes = {"nv": 0, "links": 0}
    return TreeModel(sizes, on=False, code=TreeCode(sizes, **_NO_CODE), tool=TreePlace(link=-1))


def tree_model(
    program: TreeProgram, frame: Frame, terms: ModelTerms, shared: TreePlant | None = None, *, in_place: bool = False
) -> TreeModel:
    """The model of a robot with the tool at a frame, for a law that reads `terms`.

    Args:
        program: compiled terms of the robot, or of the plant where both are one.
        frame: of the tool.
        terms: where the law reads; what is computed for it alone is written there at once.
        shared: the plant's tree, where both are one.
        in_place: let that tree write M, C v + g and g where the law reads them: for laws that act at every step.
    """
    sizes = program.record_sizes
    written = {name: getattr(terms, name) for name in ("position", "rotation", "J", "drift")}
    own = {name: getattr(terms, name) for name in ("M", "bias", "gravity")}
    if shared is not None and in_place:
        shared.terms.replace_all(own)
    return TreeModel(
        on=True,
        in_place=shared is not None and in_place,
        code=program.code if shared is None else shared.code,
        terms=TreeTerms(sizes, **own) if shared is None else shared.terms,
        tool=program.place(program.mechanism.placed(frame)),
        frame=FrameTerms(sizes, **written),
    )


def tree_of(model: mujoco.MjModel) -> TreeProgram:
    """The compiled terms of a model."""
    return TreeProgram(mechanism_from_model(model, "the plant", {}))


@kernel
def is_ordinary(q: Vector, v: Vector) -> bool:
    """Whether every number of a state is one that equations are made for; the engine names what is not."""
    for k in range(q.size):
        if not abs(q[k]) < FARTHEST:
            return False
    for k in range(v.size):
        if not abs(v[k]) < FASTEST:
            return False
    return True


def no_tree() -> TreePlant:
    """Where the engine carries the plant."""
    sizes = {"N": 0, "nv": 0, "links": 0, "bodies": 0}
    return TreePlant(sizes, on=False, code=TreeCode(sizes, **_NO_CODE))


def tree_plant(
    plant: Plant, program: TreeProgram, bodies: Iterable[int], *, acceleration_is_read: bool, holds_stops: bool = False
) -> TreePlant:
    """The plant's tree, derived and compiled.

    Args:
        plant: hinges, slides and at most one free base.
        program: its compiled terms, `tree_of` its model.
        bodies: those whose pose and motion are read.
        acceleration_is_read: whether q̈ is read.
        holds_stops: whether a step at a joint's stop is the equations' own, and not the engine's.
    """
    model = plant.model
    solver, slider = solver_of([int(parent) for parent in model.dof_parentid])
    links, everywhere = program.mechanism.links, program.mechanism.bodies
    tree = TreePlant(
        {"N": model.nv, "bodies": model.nbody, **program.record_sizes},
        on=True,
        code=program.code,
        bodies=[TreeBody(body=b, link=everywhere[b].link, root=int(model.body_rootid[b])) for b in sorted(set(bodies))],
        link_of=np.array([body.link for body in everywhere]),
        at=np.array([body.position for body in everywhere]),
        rotated=np.array([body.rotation for body in everywhere]),
        kind=np.array([_KINDS[link.kind] for link in links]),
        dof=np.cumsum([0, *(6 if link.kind == "free" else 1 for link in links)])[:-1],
        axes=np.array([axes_of(link) for link in links], dtype=float),
        extra=model.nq - model.nv,
        first=6 if model.nq > model.nv else 0,
        acceleration_is_read=acceleration_is_read,
        holds_stops=holds_stops,
        solver=solver,
        slider=slider,
    )
    read_numbers(tree, model)
    return tree


def read_numbers(tree: TreePlant, model: mujoco.MjModel) -> None:
    """Masses, gravity, dampers, springs and stops as the compiled scene has them now."""
    weightless = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
    tree.gravity[:] = 0.0 if weightless else model.opt.gravity
    joints = model.jnt_type >= _SLIDING
    k = model.jnt_dofadr[joints]
    tree.stiffness[k] = model.jnt_stiffness[joints]
    tree.least[k], tree.most[k] = _free_range(model, joints)
    tree.spring_rest[k] = model.qpos_spring[model.jnt_qposadr[joints]]
    tree.sprung = bool(tree.stiffness.any())
    LinkMasses(tree, model).read()


class LinkMasses:
    """Masses and losses of a tree's links; what a run of a sweep reads again of a scene whose numbers were changed.

    Axes of inertia, rotors, and where bodies stand on their links are read once.
    """

    def __init__(self, tree: TreePlant, model: mujoco.MjModel) -> None:
        self._tree, self._model, self._links = tree, model, len(tree.kind)
        self._on = np.eye(self._links + 1)[tree.link_of]
        self._principal = tree.rotated @ matrix_from_quat(model.body_iquat)
        self._shift = np.zeros((self._links, 3))
        self._shift[:, 2] = tree.code.k[: self._links]
        self._numbers = tree.code.p[: INERTIAL * self._links].reshape(self._links, INERTIAL)
        hinged = tree.kind != FREE
        self._numbers[hinged, 10] = model.dof_armature[tree.dof[hinged]]
        tree.code.p[INERTIAL * self._links : INERTIAL * self._links + 3] = tree.gravity
        self._first = model.body_ipos.copy()
        self._place_bodies(self._centres_at(self._first))

    def _centres_at(self, positions: Array) -> Array:
        """Centres of mass of the bodies in the axes of their links, from those in their own."""
        return self._tree.at + np.einsum("bij,bj->bi", self._tree.rotated, positions)

    def read(self) -> None:
        """Mass, centre and tensor of every link with all that is fixed on it, and dampers, as the scene has them now.

        Where bodies stand is taken to be written as it was first, and is written again if their centres are elsewhere.
        """
        tree, model, on, links = self._tree, self._model, self._on, self._links
        tree.damping[:] = model.dof_damping
        tree.damped = bool(tree.damping.any())
        positions, principal, masses = model.body_ipos, self._principal, model.body_mass
        centres = self._centres_at(positions)
        if not np.array_equal(positions, self._first):
            self._place_bodies(centres)
        mass = masses @ on
        com = on.T @ (masses[:, None] * centres) / np.where(mass > 0.0, mass, 1.0)[:, None]
        d = centres - com[tree.link_of]
        tensors = np.einsum("bik,bk,bjk->bij", principal, model.body_inertia, principal)
        tensors += masses[:, None, None] * (
            np.einsum("bk,bk->b", d, d)[:, None, None] * _EYE - d[:, :, None] * d[:, None, :]
        )
        tensor, numbers = np.einsum("bl,bij->lij", on, tensors)[:links], self._numbers
        numbers[:, 0], numbers[:, 1:4], numbers[:, 4:7] = mass[:links], com[:links], np.einsum("lii->li", tensor)
        numbers[:, 7:10] = tensor[:, _ABOVE, _RIGHT]
        tree.mass[:] = mass[:links]
        tree.moment[:] = mass[:links, None] * (np.einsum("lij,lj->li", tree.axes, com[:links]) - self._shift)
        tree.standing = -float(mass[links] * tree.gravity @ com[links])
        update_constants(tree.code.address)

    def _place_bodies(self, centres: Array) -> None:
        """Where the bodies whose motion is read stand on their links, and the axes of their inertia."""
        tree = self._tree
        for b in tree.bodies:
            frame, moved = (tree.axes[b.link], self._shift[b.link]) if b.link >= 0 else (_EYE, np.zeros(3))
            b.com[:] = centres[b.body]
            b.position[:], b.rotation[:] = frame @ tree.at[b.body] - moved, frame @ tree.rotated[b.body]
            b.centre[:], b.axes[:] = frame @ centres[b.body] - moved, frame @ self._principal[b.body]


def _free_range(model: mujoco.MjModel, joints: Array) -> tuple[Array, Array]:
    """Ends of the ranges of chosen joints within which no stop acts; with a margin, a rounding error inside of them."""
    limited, margin = model.jnt_limited[joints].astype(bool), model.jnt_margin[joints]
    lower, upper = model.jnt_range[joints].T
    inner = np.where(margin == 0.0, lower, np.nextafter(lower + margin, np.inf))
    outer = np.where(margin == 0.0, upper, np.nextafter(upper - margin, -np.inf))
    return np.where(limited, inner, -np.inf).clip(-FARTHEST), np.where(limited, outer, np.inf).clip(max=FARTHEST)
