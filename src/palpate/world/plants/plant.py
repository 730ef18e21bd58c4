"""From a robot and a world to a compiled MuJoCo scene and the flat tables the loop reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput, ModelError, UnknownName, check_names, shortened
from palpate.robot.build import set_inertia
from palpate.robot.frames import Frame, frames_of
from palpate.robot.gate import refuse_impossible
from palpate.robot.robot import Robot
from palpate.spatial import matrix_from_quat, quat_from_euler, quat_from_matrix, rows
from palpate.spatial.shapes import SHAPES
from palpate.world.config import FreeObject, Pole, Surface, World
from palpate.world.driver import friction_left, per_joint
from palpate.world.plants.contact_sensors import RigidSensor, add_contact_sensors, add_point_sensors
from palpate.world.plants.elastic.gears import Elasticity, take_over_drives
from palpate.world.plants.joint_friction import take_over_friction
from palpate.world.plants.ties import Ties, hold_ties, plant_ties
from palpate.world.surfaces.contact_points import ContactPoint, draw_shapes, points_of_links, points_of_shapes
from palpate.world.surfaces.forms import drawn_mesh

INTEGRATORS = {
    "euler": mujoco.mjtIntegrator.mjINT_EULER,
    "implicit": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "rk4": mujoco.mjtIntegrator.mjINT_EULER,  # the loop integrates by itself, contact forces included
}
RIGID_FRICTION_TIME, RIGID_IMPRATIO = 1.0, 3000.0  # s; stiffness of friction over that of the normal
RIGID_IMPEDANCE = (0.9, 0.95)  # the engine's own: at a depth of 0, and at most
# Collision bits: (type, affinity). The robot's contact geoms and objects touch surfaces, objects touch each other too.
_TOUCHES, _TOUCHED, _BOTH, _NEITHER = (1, 0), (0, 1), (1, 1), (0, 0)
_ONLY_SEEN = {"contype": 0, "conaffinity": 0, "mass": 0}


@dataclass(frozen=True)
class Plant:
    """The true world: a compiled scene and where its parts are.

    Attributes:
        model: the compiled scene; the robot's coordinates come first.
        tool: the robot's tool frame as the plant has it.
        points: what can touch compliant surfaces.
        surfaces: all surfaces, in order.
        mocap: for each surface its MuJoCo mocap index, −1 where it is still.
        rigid_sensors: what the engine reports of contact between the robot and rigid surfaces and objects.
        rigid_points: single contacts that it reports, by name: where in sensordata; none unless they are asked for.
        q0, v0: coordinates and velocities of everything beyond the robot at the start.
        attachment_bodies: body of each attachment.
        rotor: reflected rotor inertia per degree of freedom.
        friction: Coulomb friction of every joint of the scene, which the engine is relieved of.
        robot: the nominal robot, whose joints come first in the scene.
        ties: joints that follow others.
        pole: its body, −1 where there is none.
        elastic: springs and motors of the joints, which the engine is relieved of; None where joints are rigid.
    """

    model: mujoco.MjModel
    tool: Frame
    points: tuple[ContactPoint, ...]
    surfaces: tuple[Surface, ...]
    mocap: np.ndarray
    rigid_sensors: tuple[RigidSensor, ...]
    rigid_points: dict[str, int]
    q0: Array
    v0: Array
    attachment_bodies: tuple[int, ...]
    rotor: Array
    friction: Array
    robot: Robot
    ties: Ties
    pole: int = -1
    elastic: Elasticity | None = None

    @property
    def map(self) -> Array:
        """Velocities of the whole scene from the robot's and those of everything beyond it."""
        robot = np.vstack([self.robot.coordinates.map, np.zeros((self.model.nv - self.robot.model.nv, self.robot.nv))])
        return np.hstack([robot, np.eye(self.model.nv)[:, self.robot.model.nv :]])

    def with_surfaces(self, surfaces: tuple[Surface, ...]) -> Plant:
        """The same scene with other numbers of its surfaces."""
        plant = object.__new__(Plant)
        vars(plant).update(vars(self), surfaces=surfaces)
        return plant

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the robot's coordinates and velocities stand in the scene's."""
        return self.robot.coordinates.kept_position.copy(), self.robot.coordinates.kept.copy()

    def frame(self, name: str | None) -> Frame:
        """A frame of the scene by name; the tool frame if None."""
        if name is None:
            return self.tool
        frames = frames_of(self.model)
        check_names("frame", [name], frames)
        return frames[name]


def build_plant(
    robot: Robot,
    world: World,
    timestep: float,
    integrator: str = "euler",
    q_start: Array | None = None,
    points: bool = False,
) -> Plant:
    """Compile the scene: the (possibly changed) robot, then surfaces, objects, pole and attachments.

    Args:
        robot: the nominal robot.
        world: what is around it, and how the plant differs.
        timestep: physics step, s.
        integrator: "euler", "implicit" or "rk4".
        q_start: the robot's start posture, for which a pole stands upright; home by default.
        points: let the engine report each of its contacts with the robot, besides their sums.
    """
    _refuse_repeated_names(robot, world)
    spec = robot.spec(kinematics=bool(robot.unresisted))
    _set_options(spec, world, timestep, integrator)
    _change_robot(spec, robot, world)
    _add_surfaces(spec, robot, world)
    _add_attachments(spec, robot, world)
    if world.pole is not None:
        _add_pole(spec, robot, world.pole, robot.home if q_start is None else q_start)
    for thing in world.objects:
        _add_object(spec, thing)
    touching, rigid = contact_geoms(robot, world), [s.name for s in rigid_surfaces(world)]
    owners = add_contact_sensors(spec, robot, world, touching, rigid)
    point_sensors = add_point_sensors(spec, robot, world, touching, rigid) if points else {}
    draw_shapes(spec, robot, world)
    hold_ties(spec, robot)
    model = _compile(spec)
    _check_order(model, robot)
    _shift_base(model, robot, world)
    elastic = take_over_drives(model, robot, world)
    frames = frames_of(model)
    q0, v0 = _start_beyond_robot(model, robot, world)
    return Plant(
        model,
        frames[robot.tool_frame],
        _contact_points(model, robot, world, frames),
        world.surfaces,
        np.array([int(model.body(s.name).mocapid[0]) for s in world.surfaces], dtype=np.int64),
        tuple(RigidSensor(int(model.sensor(name).adr[0]), *owner) for name, owner in owners.items()),
        {name: int(model.sensor(sensor).adr[0]) + offset for name, (sensor, offset) in point_sensors.items()},
        q0,
        v0,
        tuple(model.body(f"attachment {a.name}").id for a in world.attachments),
        per_joint(robot, world.plant.rotor_inertia, "rotor_inertia"),
        take_over_friction(model),
        robot,
        plant_ties(model, robot),
        -1 if world.pole is None else model.body("pole").id,
        elastic,
    )


def touch_name(point: ContactPoint, surface: Surface, points: int) -> str:
    """How a contact is called: by its surface, and by its point too where there are several."""
    return surface.name if points == 1 else f"{point.name.replace(' ', '_')}-{surface.name}"


def true_robot(robot: Robot, world: World) -> Robot:
    """The robot as the plant has it: its changed masses, joints and base, loads carried all along, and gravity."""
    whole = all((left == 1.0).all() for left in friction_left(robot, world.driver))
    if world.plant.none and not world.attachments and world.gravity is None and whole:
        return robot
    spec = robot.spec()
    _set_options(spec, world, 1e-3, "euler")
    _change_robot(spec, robot, world)
    _add_attachments(spec, robot, world)
    made = Robot(spec, name=robot.name, tool_frame=robot.tool_frame)
    _check_order(made.model, robot)
    _shift_base(made.model, robot, world)
    return made


def dry_friction(robot: Robot, world: World) -> Array:
    """Coulomb friction per independent joint, N·m or N: the plant's, less what the driver compensates."""
    _, left = friction_left(robot, world.driver)
    added = per_joint(robot, world.plant.joint_friction, "joint_friction")
    friction = robot.model.dof_frictionloss.copy()
    for dof, name, share, more in zip(robot.coordinates.kept, robot.dof_names, left, added):
        if mujoco.mj_name2id(robot.model, mujoco.mjtObj.mjOBJ_JOINT, name) >= 0:  # not of a free base
            friction[dof] = share * friction[dof] + more
    return np.abs(robot.coordinates.map).T @ friction


def rubs(robot: Robot, world: World) -> bool:
    """Whether joints or compliant surfaces have dry friction."""
    joints = not robot.unresisted and bool(dry_friction(robot, world).any())
    return joints or any(surface.friction > 0.0 for surface in world.surfaces)


def _refuse_repeated_names(robot: Robot, world: World) -> None:
    """Surfaces, objects and the robot's links share one space of names."""
    taken = {robot.model.body(b).name: "a link of the robot" for b in range(robot.model.nbody)}
    taken |= {"pole": "the pole"} if world.pole is not None else {}
    for kind, things in (("surface", world.surfaces), ("object", world.objects)):
        for thing in things:
            if thing.name in taken:
                raise InvalidInput(
                    f"{kind} {shortened(thing.name)!r} is called like {taken[thing.name]}", hint="give it another name"
                )
            taken[thing.name] = f"another {kind}"


def surface_rotation(surface: Surface) -> Array:
    """Axes of a surface in the world: given, else the world's own, turned so that z is a plane's normal."""
    if surface.quat_wxyz is not None:
        return matrix_from_quat(surface.quat_wxyz)
    if surface.shape != "plane":
        return np.eye(3)
    z = np.array(surface.normal) / np.linalg.norm(surface.normal)
    along = np.array([1.0, 0.0, 0.0]) if abs(z[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = along - (along @ z) * z
    x /= np.linalg.norm(x)
    return np.column_stack([x, rows.cross(z, x), z])


def _set_options(spec: mujoco.MjSpec, world: World, timestep: float, integrator: str) -> None:
    check_names("integrator", [integrator], INTEGRATORS)
    spec.option.timestep = timestep
    spec.option.integrator = INTEGRATORS[integrator]
    off, on = mujoco.mjtDisableBit.mjDSBL_AUTORESET | mujoco.mjtDisableBit.mjDSBL_ACTUATION, 0
    on |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
    on |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_SENSOR
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.compiler.degree = False
    if world.gravity is not None:
        spec.option.gravity = world.gravity
        on |= mujoco.mjtDisableBit.mjDSBL_GRAVITY
    spec.option.disableflags = (spec.option.disableflags | int(off)) & ~int(on)


def _change_robot(spec: mujoco.MjSpec, robot: Robot, world: World) -> None:
    change = world.plant
    check_names("link", change.link_mass_scale, {body.name for body in spec.bodies})
    damping = per_joint(robot, change.joint_damping, "joint_damping")
    friction = per_joint(robot, change.joint_friction, "joint_friction")
    rotor = per_joint(robot, change.rotor_inertia, "rotor_inertia")
    viscous, coulomb = friction_left(robot, world.driver)
    for index, name in enumerate(robot.dof_names):
        joint = spec.joint(name)
        if joint is not None:
            joint.damping = viscous[index] * np.array(joint.damping) + np.array([damping[index], 0.0, 0.0])
            joint.frictionloss = coulomb[index] * joint.frictionloss + friction[index]
            joint.armature = joint.armature + rotor[index]
    site = spec.site(robot.tool_frame)
    if any(change.tool_offset):
        if site is None:
            raise InvalidInput(f"tool_offset needs the tool frame {robot.tool_frame!r} to be a site, not a link")
        site.pos = np.array(site.pos) + change.tool_offset
    _change_masses(spec, robot, world)


def _change_masses(spec: mujoco.MjSpec, robot: Robot, world: World) -> None:
    """Scale the robot's masses and shift their centres, starting from the nominal model's explicit inertias."""
    change, nominal = world.plant, robot.model
    if change.mass_scale == 1.0 and not change.link_mass_scale and not any(change.com_offset):
        return
    for b in range(1, nominal.nbody):
        name = nominal.body(b).name
        if nominal.body_mass[b] == 0.0:
            continue
        scale, body = change.mass_scale * change.link_mass_scale.get(name, 1.0), spec.body(name)
        body.explicitinertial = True
        body.mass, body.inertia = scale * nominal.body_mass[b], scale * nominal.body_inertia[b]
        body.ipos, body.iquat = nominal.body_ipos[b] + change.com_offset, nominal.body_iquat[b]
        body.fullinertia = np.full(6, np.nan)  # the engine's mark for "not given"


_MASSES = ("body_mass", "body_inertia", "body_ipos")
_IN_PLACE = (*_MASSES, "dof_damping", "dof_frictionloss")


def change_in_place(plant: Plant, world: World, scratch: mujoco.MjData, where: RobotPlaces) -> None:
    """Masses, centres, damping and friction of a plant as `build_plant` would have them.

    Centres of mass can only be shifted where the compiled ones were: the engine notes which frames coincide.
    """
    model, change, nominal = plant.model, world.plant, plant.robot.model
    here, there, scale = where.bodies, where.nominal, np.array(change.mass_scale)
    if change.link_mass_scale:
        check_names("link", change.link_mass_scale, where.names)
        scale = scale * np.array([change.link_mass_scale.get(name, 1.0) for name in where.names])
    model.body_mass[here] = scale * nominal.body_mass[there]
    model.body_inertia[here] = scale[..., None] * nominal.body_inertia[there]
    model.body_ipos[here] = nominal.body_ipos[there] + change.com_offset
    losses = world.driver, change.joint_damping, change.joint_friction
    anew = where.losses is None or any(now is not last and now != last for now, last in zip(losses, where.losses))
    if anew:
        where.losses = None  # until they are known to be possible
        _change_losses(plant, world, where.joints)
    refuse_impossible(model, "this world", only=_IN_PLACE if anew else _MASSES)
    if anew:
        plant.friction[where.joints], where.losses = take_over_friction(model)[where.joints], losses
    mujoco.mj_setConst(model, scratch)


def _change_losses(plant: Plant, world: World, joints: np.ndarray) -> None:
    model, robot, change, nominal = plant.model, plant.robot, world.plant, plant.robot.model
    viscous, coulomb = friction_left(robot, world.driver)
    damping = viscous * nominal.dof_damping + per_joint(robot, change.joint_damping, "joint_damping")
    friction = coulomb * nominal.dof_frictionloss + per_joint(robot, change.joint_friction, "joint_friction")
    model.dof_damping[joints], model.dof_frictionloss[joints] = damping[joints], friction[joints]


@dataclass
class RobotPlaces:
    """Names of a robot's bodies with mass, where they are in a scene and in its own model; its joints' indices."""

    names: tuple[str, ...]
    bodies: np.ndarray
    nominal: np.ndarray
    joints: np.ndarray
    losses: tuple[Any, ...] | None = None  # driver, damping and friction that the scene has, once they were changed


def places_of(robot: Robot, model: mujoco.MjModel) -> RobotPlaces:
    """Where a robot is in a compiled scene."""
    nominal = robot.model
    there = np.flatnonzero(nominal.body_mass)
    names = tuple(nominal.body(int(b)).name for b in there)
    known = {nominal.joint(j).name for j in range(nominal.njnt)}
    joints = np.array([k for k, name in enumerate(robot.dof_names) if name in known], dtype=int)
    return RobotPlaces(names, np.array([model.body(name).id for name in names]), there, joints)


def place_surface(model: mujoco.MjModel, surface: Surface) -> None:
    """Put a still surface of a compiled scene where it belongs."""
    body = model.body(surface.name).id
    model.body_pos[body], model.body_quat[body] = surface.position, quat_from_matrix(surface_rotation(surface))
    model.geom(f"surface {surface.name}").friction[0] = max(surface.friction, 1e-5)


def _shift_base(model: mujoco.MjModel, robot: Robot, world: World) -> None:
    """Move the compiled robot's root bodies, whose positions are then in world axes whatever frames they stood in."""
    if not any(world.plant.base_position):
        return
    for b in range(1, robot.model.nbody):
        body = model.body(robot.model.body(b).name).id
        if model.body_parentid[body] == 0:
            if model.body_dofnum[body] == 6:
                raise InvalidInput(f"base_position: the base of {robot.name} is free, its place is part of the start")
            model.body_pos[body] += world.plant.base_position
    mujoco.mj_setConst(model, mujoco.MjData(model))


def rigid_surfaces(world: World) -> list[Surface]:
    """Its rigid surfaces, in order."""
    return [surface for surface in world.surfaces if surface.contact == "rigid"]


def _add_surfaces(spec: mujoco.MjSpec, robot: Robot, world: World) -> None:
    touching = contact_geoms(robot, world)
    if rigid_surfaces(world) and not (touching or world.objects or world.contact_shapes):
        raise InvalidInput(
            f"{robot.name} has nothing that could touch the rigid surface {rigid_surfaces(world)[0].name!r}",
            hint="name geoms of the robot in contact_points, give contact_shapes, or make the surface compliant"
            " (contact_links touch compliant ones only)",
        )
    for geom in spec.geoms:
        geom.contype, geom.conaffinity = _TOUCHES if geom.name in touching else _NEITHER
    for surface in world.surfaces:
        _add_surface(spec, surface)
    for surface in rigid_surfaces(world):
        for name in touching:
            _pair(spec, name, surface)
    if rigid_surfaces(world):
        spec.option.impratio = RIGID_IMPRATIO


def _pair(spec: mujoco.MjSpec, geom: str, surface: Surface) -> None:
    """A contact of the robot with a rigid surface whose friction does not lift the sliding tip off.

    In the engine's solver the friction row's damping adds to the normal: with its usual time constant (that of the
    normal row) a tip sliding faster than v* = F (1 + μ²)(1 − d)/(d m μ b) finds no depth that carries F, and contact
    switches on and off. A friction row of its own, slow (1 s) and stiff against slip (impratio), has no such limit in
    reach, and creeps less.
    """
    mu = max(surface.friction, 1e-5)
    spec.add_pair(
        name=f"{geom} on {surface.name}",
        geomname1=geom,
        geomname2=f"surface {surface.name}",
        condim=3,
        friction=[mu, mu, 0.0, 0.0, 0.0],
        solreffriction=[RIGID_FRICTION_TIME, 1.0],
    )


def _add_surface(spec: mujoco.MjSpec, surface: Surface) -> None:
    body = spec.worldbody.add_body(
        name=surface.name,
        pos=surface.position,
        quat=quat_from_matrix(surface_rotation(surface)),
        mocap=surface.motion is not None,
    )
    drawn = {}
    if SHAPES[surface.shape].data:
        vertices, faces = drawn_mesh(surface)
        spec.add_mesh(
            name=f"surface {surface.name}",
            uservert=vertices.ravel(),
            userface=faces.ravel(),
            inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
        )
        drawn = {"meshname": f"surface {surface.name}"}
    collides = _TOUCHED if surface.contact == "rigid" else _NEITHER
    _add_geom(body, f"surface {surface.name}", surface, collides, rgba=(0.45, 0.62, 0.78, 0.55), priority=1, **drawn)


def _add_geom(body: Any, name: str, thing: Surface | FreeObject, collides: tuple[int, int], **more: Any) -> None:
    """The shape of a surface or an object, which rubs by its friction alone."""
    shape = SHAPES[thing.shape]
    kind = getattr(mujoco.mjtGeom, f"mjGEOM_{shape.geom.upper()}")
    friction = [max(thing.friction, 1e-5), 0.0, 0.0]
    body.add_geom(
        name=name, type=kind, size=shape.engine_size(thing.size), contype=collides[0], conaffinity=collides[1],
        friction=friction, condim=3, group=2, **more,
    )  # fmt: skip


def rigid_sliding_speed(force: float, friction: float, mass: float) -> float:
    """v* = F (1 + μ²)(1 − d)/(d m μ b), m/s: above it a rigid contact cannot carry F while it slides (see `_pair`).

    Args:
        force: F, N, into the surface.
        friction: μ.
        mass: m, kg, the point's inertia along the normal.
    """
    d, b = RIGID_IMPEDANCE[0], 2.0 / (RIGID_IMPEDANCE[1] * RIGID_FRICTION_TIME)
    return force * (1.0 + friction**2) * (1.0 - d) / (d * mass * friction * b)


def contact_geoms(robot: Robot, world: World) -> tuple[str, ...]:
    """Robot geoms that touch: named ones; else, unless contact shapes meet a rigid surface, `tip` and feet."""
    geoms = [name for g in range(robot.model.ngeom) if (name := robot.model.geom(g).name)]
    if world.contact_points:
        points = robot.frame_names if world.is_exact else ()  # exact contact takes the origin of a frame too
        for name in world.contact_points:
            if name not in geoms and name not in points:
                raise UnknownName("contact point", name, [*geoms, *points])
        return tuple(name for name in world.contact_points if name in geoms)
    if world.contact_shapes and rigid_surfaces(world):
        return ()
    return tuple(name for name in geoms if touches_unasked(name))


def touches_unasked(geom: str) -> bool:
    """Whether a geom of this name touches surfaces without being named among the contact points."""
    return geom == "tip" or geom.startswith("foot_")


def _add_object(spec: mujoco.MjSpec, thing: FreeObject) -> None:
    body = spec.worldbody.add_body(name=thing.name, pos=thing.position, quat=thing.quat_wxyz)
    body.add_freejoint(name=thing.name)
    _add_geom(body, f"object {thing.name}", thing, _BOTH, rgba=(0.85, 0.55, 0.25, 1.0), mass=thing.mass)


def _add_attachments(spec: mujoco.MjSpec, robot: Robot, world: World) -> None:
    for load in world.attachments:
        frame = robot.frame(load.frame)
        holder = spec.body(robot.model.body(frame.body).name)
        body = holder.add_body(
            name=f"attachment {load.name}", pos=frame.offset + frame.rotation @ np.array(load.com), gravcomp=0
        )
        set_inertia(body, load.mass, np.zeros(3), np.zeros((3, 3)))
        looks = {"size": [0.04, 0, 0], "rgba": (0.8, 0.3, 0.3, 1)}
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, **looks, **_ONLY_SEEN)


def _add_pole(spec: mujoco.MjSpec, robot: Robot, pole: Pole, q_start: Array) -> None:
    """Stand a pole upright on the tool."""
    frame = robot.frame()
    holder = spec.body(robot.model.body(frame.body).name)
    R_WH = robot.pose(q_start, robot.model.body(frame.body).name).rotation
    body = holder.add_body(name="pole", pos=frame.offset, quat=quat_from_matrix(R_WH.T))
    body.explicitinertial = True
    body.mass, body.ipos = pole.mass + pole.rod_mass, [0.0, 0.0, pole.centre]
    body.inertia = _pole_inertia(pole)
    kind = mujoco.mjtJoint.mjJNT_BALL if pole.joint == "ball" else mujoco.mjtJoint.mjJNT_HINGE
    axes = {"pole": [0, 0, 1]} if pole.joint == "ball" else {"pole_x": [1, 0, 0], "pole_y": [0, 1, 0]}
    for joint in [body.add_joint(name=name, type=kind, axis=axis) for name, axis in axes.items()]:
        joint.damping, joint.frictionloss = [pole.pivot_damping, 0.0, 0.0], pole.pivot_friction
    body.add_site(name="pole_tip", pos=[0.0, 0.0, pole.length])  # a frame that pushes can name
    rod, ball = (0.55, 0.36, 0.2, 1.0), (0.8, 0.2, 0.2, 1.0)
    fromto = [0, 0, 0, 0, 0, pole.length]
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_CYLINDER, fromto=fromto, size=[0.008, 0, 0], rgba=rod, **_ONLY_SEEN)
    end, size = [0, 0, pole.length], [pole.radius, 0, 0]
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, pos=end, size=size, rgba=ball, **_ONLY_SEEN)


def _pole_inertia(pole: Pole) -> list[float]:
    """About the centre of mass: a point and a thin rod; about the rod the least that the engine does not take for 0."""
    least = max(1e-12 * pole.mass, 1e-13)
    rod = pole.rod_mass * (pole.length**2 / 12 + (pole.length / 2 - pole.centre) ** 2)
    across = pole.mass * (pole.length - pole.centre) ** 2 + rod
    return [max(across, least)] * 2 + [least]


def _compile(spec: mujoco.MjSpec) -> mujoco.MjModel:
    for key in list(spec.keys):
        spec.delete(key)
    try:
        model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(f"the world cannot be compiled: {error}") from error
    refuse_impossible(model, "this world")
    return model


def _check_order(model: mujoco.MjModel, robot: Robot) -> None:
    """The loop reads the robot's state as the head of the scene's; a pole or load must not come in between."""
    for j in range(robot.model.njnt):
        name = robot.model.joint(j).name
        if model.joint(name).qposadr[0] != robot.model.jnt_qposadr[j]:
            raise ModelError(f"joint {name!r} of {robot.name} lies beyond what hangs on it; fix that at the last link")


def _start_beyond_robot(model: mujoco.MjModel, robot: Robot, world: World) -> tuple[Array, Array]:
    q0, v0 = model.qpos0.copy(), np.zeros(model.nv)
    for thing in world.objects:
        joint = model.joint(thing.name)
        start = int(joint.dofadr[0])
        v0[start : start + 6] = thing.velocity
    pole = world.pole
    if pole is not None and pole.joint == "universal":
        for axis, angle in zip("xy", pole.tilt):
            q0[int(model.joint(f"pole_{axis}").qposadr[0])] = angle
    elif pole is not None:
        start = int(model.joint("pole").qposadr[0])
        q0[start : start + 4] = quat_from_euler((*pole.tilt, 0.0), "XYZ")
    return q0, v0


def _contact_points(
    model: mujoco.MjModel, robot: Robot, world: World, frames: dict[str, Frame]
) -> tuple[ContactPoint, ...]:
    if len(rigid_surfaces(world)) == len(world.surfaces):
        return ()
    points = [*points_of_shapes(robot, world, frames), *points_of_links(model, robot, world)]
    if world.contact_points or not points:  # the tip touches unless something else was named
        geoms = contact_geoms(robot, world)
        points += [point_of_geom(model, name) for name in geoms]
        named = [frames[name] for name in world.contact_points if name not in geoms]
        points += [ContactPoint(frame.name, frame.body, frame.offset, 0.0, True) for frame in named]
    if not points:
        tool = frames[robot.tool_frame]
        points = [ContactPoint("tool point", tool.body, tool.offset, 0.0, True)]
    for thing in world.objects:
        points += _object_points(model, thing)
    return tuple(points)


def point_of_geom(model: mujoco.MjModel, name: str) -> ContactPoint:
    """The sphere of the robot that a geom is."""
    geom = model.geom(name)
    if geom.type[0] != mujoco.mjtGeom.mjGEOM_SPHERE:
        raise InvalidInput(
            f"geom {name!r} must be a sphere to touch a compliant surface",
            hint="name its link in contact_links, whose convex hull touches, or give contact_shapes",
        )
    return ContactPoint(name, int(geom.bodyid[0]), geom.pos.copy(), float(geom.size[0]), True)


def _object_points(model: mujoco.MjModel, thing: FreeObject) -> list[ContactPoint]:
    body = model.body(thing.name).id
    if thing.shape == "sphere":
        return [ContactPoint(thing.name, body, np.zeros(3), thing.size[0], False)]
    half = np.array(thing.size) / 2
    corners = [np.array([x, y, z]) * half for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    return [ContactPoint(f"{thing.name} corner {i}", body, c, 0.0, False) for i, c in enumerate(corners)]
