"""A run in compiled code: one record that holds everything the loop reads and writes."""

from __future__ import annotations

from palpate.control.commands import COMMANDS
from palpate.control.friction import Compensation
from palpate.control.guards import GuardMemory, GuardSettings
from palpate.control.tick import Tick
from palpate.engine.physics import Physics
from palpate.engine.records import Integers, Kept, Matrix, Record, State, Vector, sized
from palpate.robot.joints.coupled import CoupledModel
from palpate.robot.mechanics.kernels import FrameOnBody
from palpate.run.loop.row import Row
from palpate.world.forces.contact import PointContact, SurfaceState
from palpate.world.forces.pushes import Pushed, PushState
from palpate.world.plants.elastic.motors import ElasticJoints
from palpate.world.plants.joint_friction import JointFriction
from palpate.world.plants.ties import Ties
from palpate.world.plants.tree_plant import TreeModel, TreePlant
from palpate.world.rigid.contact import RigidTouch, ShapeReadings
from palpate.world.rigid.step import Holding
from palpate.world.sensing.custom import CustomSensor, Truth
from palpate.world.sensing.faults import FaultState
from palpate.world.sensing.sensors import Delayed, JointSensors, PoleCamera, Wrist

# How a batch of steps ended.
(
    RUNNING, COMPLETED, STOPPED, BAD_COMMAND, BAD_SPEED, TOO_FAST, WARNED, CLOCK, BAD_MEASUREMENT, BAD_POSITION,
    BAD_REFERENCE, PAINLEVE, NO_ANSWER, PACKETS_LOST,
) = range(14)  # fmt: skip
# Kinds of command, by their place in COMMANDS.
TORQUE, ACCELERATION, VELOCITY, POSITION = (COMMANDS.index(kind) for kind in COMMANDS)
# Bits of the guard channel that the driver sets; the guards' own follow.
TORQUE_LIMITED, RATE_LIMITED = 1, 2


class Needs(Record):
    """Terms of the model that the law reads."""

    M: bool
    bias: bool
    gravity: bool
    J: bool
    drift: bool
    J_rate: bool


class Load(Record):
    """A mass that joins or leaves a body at a time."""

    time: float
    body: int
    mass: float
    inertia: float
    done: Kept[bool] = False


class RigidReading(Record):
    """Reading of the engine's contact sensor: count, force, moment and position of a net wrench; or a distance."""

    reading: Vector
    distance: bool
    felt: bool  # a wrench beyond the wrist sensor, not on all of the robot
    looks: Kept[int] = 0  # that found a contact


class RigidPoint(Record):
    """One contact of the engine's: found, force in its own axes, place, normal and tangent; and the same in the row."""

    reading: Vector
    force: Vector = sized(3)
    position: Vector = sized(3)


class TouchReading(Record):
    """Force of an exact contact on the robot, world axes, and its point."""

    force: State[Vector] = sized(3)
    position: State[Vector] = sized(3)
    felt: bool  # beyond the wrist sensor


class WantedAxes(Record):
    """Whose axes the wanted wrench is along: 0 the world's, 1 the tool's, 2 the target's, 3 the nearest surface's."""

    kind: int
    R: Matrix = sized(3, 3)
    normal: Vector = sized(3)
    near: Vector = sized(3)
    local: Vector = sized(3)
    wrench: Vector = sized(6)


class StopRule(Record):
    """An event that ends the run: a column of the row leaves a bound."""

    column: int
    below: bool
    magnitude: bool
    bound: float


class JointWatch(Record):
    """Joints at their stops and beyond their rated speeds: how far at worst, when first, for how many steps."""

    on: bool
    lower: Vector = sized("nv")
    upper: Vector = sized("nv")
    rated: Vector = sized("nv")
    beyond: Kept[Vector] = sized("nv")  # rad or m past a stop
    beyond_since: Kept[Vector] = sized("nv")
    beyond_steps: Kept[Integers] = sized("nv")
    fastest: Kept[Vector] = sized("nv")  # rad/s or m/s
    share: Kept[Vector] = sized("nv")  # the same, of the rated speed
    fast_since: Kept[Vector] = sized("nv")
    fast_steps: Kept[Integers] = sized("nv")


class Shows(Record):
    """Numbers of the law's memory that are recorded."""

    source: Vector


class Energies(Record):
    """Work since the start, and the powers of the step under way."""

    injected: Kept[float] = 0.0
    pushed: Kept[float] = 0.0
    dissipated: Kept[float] = 0.0
    stored: float = 0.0
    power_drive: float = 0.0  # of moving surfaces
    contact_loss: float = 0.0  # W, of all compliant contacts
    joint_loss: Kept[float] = 0.0  # W, of joint dampers


class EnergyWatch(Record):
    """Extremes of the energies so far, J: the largest error of their balance, and how much was moved."""

    looks: Kept[int] = 0
    first: Kept[float] = 0.0  # the balance at the start
    residual: Kept[float] = 0.0  # the largest, and when
    residual_time: Kept[float] = 0.0
    worked: Kept[float] = 0.0  # by the law, by pushes and by losses, however often to and fro
    injected: Kept[float] = 0.0  # at the last look
    pushed: Kept[float] = 0.0
    dissipated: Kept[float] = 0.0
    least_kinetic: Kept[float] = 0.0
    most_kinetic: Kept[float] = 0.0
    least_potential: Kept[float] = 0.0
    most_potential: Kept[float] = 0.0
    most_dissipated: Kept[float] = 0.0
    fall: Kept[float] = 0.0  # of the dissipated energy, the largest, and when
    fall_time: Kept[float] = 0.0


class Drives(Record):
    """From the law's command to joint torques: delay, lost packets, filter, rate limits, servo, torque limits."""

    kind: int  # of command
    signal: Delayed
    received: State[Vector] = sized("nv")  # the last command that arrived; before the first, the one that holds the arm
    loss: float  # its probability
    stop_after: int
    lost: Kept[int] = 0
    lost_in_row: Kept[int] = 0
    jitter: float  # physics steps
    acts_from: Kept[int] = 0  # the physics step from which on the last command acts
    share: float  # of the low-pass, per tick
    shaping: bool  # whether filter or rate limits are at work
    bits: Kept[int] = 0  # of the guard channel, from tick to tick
    sent: State[Vector] = sized("nv")  # the torque command that left the filter and the limits last
    rate_limit: Vector = sized("nv")  # N·m per tick
    speed_limit: Vector = sized("nv")  # of set points
    acceleration_limit: Vector = sized("nv")
    jerk_limit: Vector = sized("nv")
    set_a: State[Vector] = sized("nv")  # acceleration of the set points
    law_adds_gravity: bool  # which is then not sent,
    adds_gravity: bool  # as the interface adds it
    torque: State[Vector] = sized("nv")  # the command as a torque
    set_q: State[Vector] = sized("nv")  # set points of the servo
    set_v: State[Vector] = sized("nv")
    a: Vector = sized("nv")
    bandwidth: float
    rotor: Vector = sized("nv")  # reflected rotor inertia that the servo knows
    limit_torque: bool
    torque_limit: Vector = sized("nv")  # negative where no motor drives a coordinate


class Probe(Record):
    """Forces that nothing in the world exerts: how the loop answers them."""

    on: bool = False
    felt: bool = True  # the wrench, by the wrist sensor
    wrench: Vector = sized(6)  # [f; n] at the tool's origin, world axes
    base: Vector = sized(6)  # of the wrench, which is there all the time while the loop is probed
    torque: Vector = sized("N")  # along the velocities of the whole scene, N·m or N


class Loop(Record):
    """A run. Sizes: nv joints (nq coordinates), N velocities (NQ coordinates) of the whole scene."""

    plant: Physics
    nominal: Physics  # the law's model; the plant itself where they are shared
    shared: bool
    tree: TreePlant  # the plant on its equations
    model: TreeModel  # the law's model likewise
    holding: Holding  # rigid contacts and stops on equations
    kinematic: bool  # joints go where they are told; masses are unknown
    coordinate: Integers = sized("nq")  # where the robot's coordinates stand among the plant's
    dof: Integers = sized("nv")  # and its velocities,
    robot_is_first: bool  # both in their order, before everything else
    ties: Ties  # joints that follow others in the plant
    friction: JointFriction  # and their Coulomb friction
    elastic: ElasticJoints  # motors behind springs
    coupled: CoupledModel  # and in the law's model
    # clock
    dt: float
    period: float
    steps: int
    ratio: int
    step: Kept[int] = 0
    tick_count: Kept[int] = 0
    rk4: bool
    seed: int
    max_speed: float
    # law
    tick: Tick
    needs: Needs
    law: int  # address of its code, then of its records
    gains: int
    memory: int
    terms: int
    compensation: Compensation  # of joint friction, a last term beside the law's own
    targets: Matrix = sized("ticks", "target")  # of this batch
    first_target: int = 0
    target: Vector = sized("target")  # the numbers of tick.target
    wanted: WantedAxes
    # sensors and drives
    joints: JointSensors
    wrist: Wrist
    custom: list[CustomSensor]
    truth: Truth  # what those read
    drives: Drives
    faults: list[FaultState]
    guard: GuardSettings
    guard_memory: GuardMemory
    guard_bits: int = 0
    guard_steps: Kept[Integers] = sized(9)  # physics steps counted per bit of the guard channel
    # tool
    nominal_tool: FrameOnBody
    tool: FrameOnBody
    tool_rotation: Matrix = sized(3, 3)
    camera: PoleCamera
    # what acts on the plant
    surfaces: list[SurfaceState]
    contacts: list[PointContact]
    rigid: list[RigidReading]
    rigid_touches: list[RigidTouch]  # that equations hold,
    shape_readings: ShapeReadings  # and what those of contact shapes report
    rigid_points: list[RigidPoint]
    touches: list[TouchReading]  # exact contacts
    pushes: list[PushState]
    pushed: Pushed
    probe: Probe
    loads: list[Load]
    outside: Vector = sized("N")  # generalised force of pushes and compliant contacts
    felt: Vector = sized(6)  # wrench of contacts and pushes beyond the wrist sensor
    no_moment: Vector = sized(3)
    energy: Energies
    energy_watch: EnergyWatch
    # integration
    q_old: Vector = sized("NQ")
    v_old: Vector = sized("N")
    mean_v: Vector = sized("N")
    mean_a: Vector = sized("N")
    speed: Vector = sized(3)
    quat_wxyz: Vector = sized(4)
    # record
    row: Row
    row_numbers: Vector
    shows: list[Shows]
    watch: JointWatch
    energies: bool  # whether anybody asks for them at every step,
    orientation_is_kept: bool  # for the tool's orientation,
    target_is_kept: bool  # or for what was wanted
    stride: int
    kept: Integers  # which columns of the row are kept: first, how many, first, …
    record: Matrix  # samples of this batch; whoever runs the loop takes them away
    times: Vector
    recorded: int = 0
    stop: list[StopRule]
    stopped_by: int = 0
    # how it ended
    blind: bool = False
    where: int = 0
    bad_term: int = 0
