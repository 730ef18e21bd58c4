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
from palpate.engine.kernels import clear, kernel, put
from palpate.engine.records import Cube, Integers, Kept, Matrix, Record, Vector, sized
from palpate.engine.views import part
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
_EYE = np.eye(3)
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


class LinkNumbers(Record):
    """Masses of a compiled scene, and where the parameters of its tree's links are. Sizes: links, bodies."""

    links: int
    link_of: Integers = sized("bodies")  # `links` for what stands still
    shift: Vector = sized("links")  # along z, from a link's parameters' frame turned as the terms' frame to the latter
    at: Matrix = sized("bodies", 3)
    rotated: Cube = sized("bodies", 3, 3)
    principal: Cube = sized("bodies", 3, 3)  # axes of every body's inertia in the frame of its link's parameters
    masses: Vector = sized("bodies")  # the scene's own memory, as the next two
    inertias: Matrix = sized("bodies", 3)
    positions: Matrix = sized("bodies", 3)
    centres: Matrix = sized("bodies", 3)  # of mass, in the frame of its link's parameters
    mass: Vector = sized("all")  # of every link and of all that stands still
    com: Matrix = sized("all", 3)
    tensor: Cube = sized("all", 3, 3)


@kernel
def place_centres(m: LinkNumbers) -> None:
    """Centres of mass of the bodies in the frames of their links' parameters."""
    for b in range(m.masses.size):
        for i in range(3):
            turned = 0.0
            for j in range(3):
                turned += m.rotated[b, i, j] * m.positions[b, j]
            m.centres[b, i] = m.at[b, i] + turned


@kernel
def sum_bodies(m: LinkNumbers) -> None:
    """Mass, centre, tensor of every link with all that is fixed on it: Σ m, Σ m c / Σ m, Σ R I Rᵀ + m (d² 1 − d dᵀ)."""
    clear(m.mass)
    for link in range(m.mass.size):
        clear(m.com[link])
        for i in range(3):
            clear(m.tensor[link, i])
    for b in range(m.masses.size):
        link = m.link_of[b]
        m.mass[link] += m.masses[b]
        for i in range(3):
            m.com[link, i] += m.masses[b] * m.centres[b, i]
    for link in range(m.mass.size):
        for i in range(3):
            m.com[link, i] /= m.mass[link] if m.mass[link] > 0.0 else 1.0
    for b in range(m.masses.size):
        link, mass = m.link_of[b], m.masses[b]
        dx = m.centres[b, 0] - m.com[link, 0]
        dy = m.centres[b, 1] - m.com[link, 1]
        dz = m.centres[b, 2] - m.com[link, 2]
        d = (dx, dy, dz)
        square = dx * dx + dy * dy + dz * dz
        for i in range(3):
            for j in range(3):
                turned = 0.0
                for k in range(3):
                    turned += m.principal[b, i, k] * m.inertias[b, k] * m.principal[b, j, k]
                m.tensor[link, i, j] += turned + mass * ((square if i == j else 0.0) - d[i] * d[j])


@kernel
def write_links(m: LinkNumbers, tree: TreePlant) -> None:
    """The parameters of the tree's links, and what follows from them."""
    for link in range(m.links):
        p = part(tree.code.p, INERTIAL * link, 10)
        p[0] = m.mass[link]
        put(p, 1, m.com[link])
        for i in range(3):
            p[4 + i] = m.tensor[link, i, i]
        p[7], p[8], p[9] = m.tensor[link, 0, 1], m.tensor[link, 0, 2], m.tensor[link, 1, 2]
        tree.mass[link] = m.mass[link]
        for i in range(3):
            turned = 0.0
            for j in range(3):
                turned += tree.axes[link, i, j] * m.com[link, j]
            tree.moment[link, i] = m.mass[link] * (turned - (m.shift[link] if i == 2 else 0.0))
    still, potential = m.links, 0.0
    for i in range(3):
        potential += m.mass[still] * tree.gravity[i] * m.com[still, i]
    tree.standing = -potential
    update_constants(tree.code)


@kernel
def read_masses(m: LinkNumbers, tree: TreePlant) -> None:
    """All of it."""
    place_centres(m)
    sum_bodies(m)
    write_links(m, tree)


class LinkMasses:
    """Masses and losses of a tree's links; what a run of a sweep reads again of a scene whose numbers were changed.

    Axes of inertia, rotors, and where bodies stand on their links are read once.
    """

    def __init__(self, tree: TreePlant, model: mujoco.MjModel) -> None:
        self._tree, self._model, links = tree, model, len(tree.kind)
        self._numbers = LinkNumbers(
            {"links": links, "all": links + 1, "bodies": model.nbody},
            links=links,
            shift=tree.code.k[:links].copy(),
            link_of=np.where(tree.link_of < 0, links, tree.link_of),
            at=tree.at,
            rotated=tree.rotated,
            principal=tree.rotated @ matrix_from_quat(model.body_iquat),
            masses=model.body_mass,
            inertias=model.body_inertia,
            positions=model.body_ipos,
        )
        hinged = tree.kind != FREE
        tree.code.p[: INERTIAL * links].reshape(links, INERTIAL)[hinged, 10] = model.dof_armature[tree.dof[hinged]]
        tree.code.p[INERTIAL * links : INERTIAL * links + 3] = tree.gravity
        self._first = model.body_ipos.copy()
        place_centres(self._numbers.address)
        self._place_bodies()

    def read(self) -> None:
        """Mass, centre and tensor of every link with all that is fixed on it, and dampers, as the scene has them now.

        Where bodies stand is taken to be written as it was first, and is written again if their centres are elsewhere.
        """
        tree, model = self._tree, self._model
        tree.damping[:] = model.dof_damping
        tree.damped = bool(tree.damping.any())
        read_masses(self._numbers.address, tree.address)
        if not np.array_equal(model.body_ipos, self._first):
            self._place_bodies()

    def _place_bodies(self) -> None:
        """Where the bodies whose motion is read stand on their links, and the axes of their inertia."""
        tree, centres, principal = self._tree, self._numbers.centres, self._numbers.principal
        for b in tree.bodies:
            frame, z = (tree.axes[b.link], self._numbers.shift[b.link]) if b.link >= 0 else (_EYE, 0.0)
            shift = np.array([0.0, 0.0, z])
            b.com[:] = centres[b.body]
            b.position[:], b.rotation[:] = frame @ tree.at[b.body] - shift, frame @ tree.rotated[b.body]
            b.centre[:], b.axes[:] = frame @ centres[b.body] - shift, frame @ principal[b.body]


def _free_range(model: mujoco.MjModel, joints: Array) -> tuple[Array, Array]:
    """Ends of the ranges of chosen joints within which no stop acts; with a margin, a rounding error inside of them."""
    limited, margin = model.jnt_limited[joints].astype(bool), model.jnt_margin[joints]
    lower, upper = model.jnt_range[joints].T
    inner = np.where(margin == 0.0, lower, np.nextafter(lower + margin, np.inf))
    outer = np.where(margin == 0.0, upper, np.nextafter(upper - margin, -np.inf))
    return np.where(limited, inner, -np.inf).clip(-FARTHEST), np.where(limited, outer, np.inf).clip(max=FARTHEST)
