"""Agreement with Pinocchio and Drake, engines that share no code with ours, at random states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import palpate as pp
from palpate.robot import catalogue

pin = pytest.importorskip("pinocchio")

# Relative to the largest entry of each quantity. The engines agree to rounding (about 1e-13 on seven joints).
TOLERANCE = 1e-9
ROBOTS = catalogue.names()


def assert_agree(ours, theirs, what: str, tolerance: float = TOLERANCE) -> None:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    worst = np.abs(ours - theirs).max()
    assert worst <= tolerance * max(1.0, np.abs(theirs).max()), f"{what}: {worst}"


def assert_same_machine(robot, other, q, v, tool: str) -> None:
    terms = robot.terms(q, v, tool)
    assert_agree(terms.M, other.mass_matrix(q), "M")
    assert_agree(terms.bias, other.bias(q, v), "bias")
    assert_agree(terms.gravity, other.gravity(q), "gravity")
    position, rotation = other.pose(q, tool)
    assert_agree(terms.position, position, "position")
    assert_agree(terms.rotation, rotation, "rotation")
    assert_agree(terms.J, other.jacobian(q, tool), "J")
    assert_agree(terms.drift, other.drift(q, v, tool), "drift")


@pytest.mark.parametrize("name", ROBOTS)
def test_every_term_of_a_catalogue_robot_agrees_with_pinocchio(name, twin, state) -> None:
    robot = pp.load_robot(name)
    other, random = twin(robot), np.random.default_rng(7)
    for _ in range(10):
        q, v = state(robot, random)
        assert_same_machine(robot, other, q, v, robot.tool_frame)


@pytest.mark.parametrize("name", ROBOTS)
def test_dynamics_of_a_catalogue_robot_agree_with_pinocchio(name, twin, state) -> None:
    robot = pp.load_robot(name)
    other, random = twin(robot), np.random.default_rng(8)
    for _ in range(10):
        q, v = state(robot, random)
        a, tau = random.normal(size=robot.nv), 10 * random.normal(size=robot.nv)
        expected = other.mass_matrix(q) @ a + other.bias(q, v)
        assert_agree(robot.inverse_dynamics(q, v, a, losses=False), expected, "inverse dynamics")
        assert_agree(robot.forward_dynamics(q, v, tau, losses=False), other.forward(q, v, tau), "forward dynamics")


def _rotor_energy(robot: pp.Robot, v: np.ndarray) -> float:
    """½ Σ I_rotor v², which Pinocchio's computeKineticEnergy leaves out (its mass matrix does not, see below)."""
    return float(0.5 * (robot.model.dof_armature * np.asarray(v) ** 2).sum())


@pytest.mark.parametrize("name", ["puma560", "quadruped"])
def test_pinocchio_has_rotors_in_its_mass_matrix_and_not_in_its_kinetic_energy(name, twin, state) -> None:
    """Of Pinocchio alone: ½ vᵀ M v with crba's M is computeKineticEnergy and ½ Σ I_rotor v² together."""
    robot = pp.load_robot(name)
    other = twin(robot)
    q, v = state(robot, np.random.default_rng(11))
    bodies, rotors = other.energies(q, v)[0], _rotor_energy(robot, v)
    assert 0.5 * v @ other.mass_matrix(q) @ v == pytest.approx(bodies + rotors, rel=1e-12)
    assert rotors > 0.05 * bodies or name != "puma560"  # the difference is there to be seen


@pytest.mark.parametrize("name", ROBOTS)
def test_energies_of_a_catalogue_robot_agree_with_pinocchio(name, twin, state) -> None:
    robot = pp.load_robot(name)
    other, random = twin(robot), np.random.default_rng(9)
    q, v = state(robot, random)
    kinetic, potential = other.energies(q, v)
    assert robot.kinetic_energy(q, v) == pytest.approx(kinetic + _rotor_energy(robot, v), rel=1e-10)
    assert robot.potential_energy(q) == pytest.approx(potential, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("name", ["iiwa14", "panda", "quadruped", "ur5e"])
def test_every_frame_of_a_robot_agrees_with_pinocchio(name, twin, state) -> None:
    robot = pp.load_robot(name)
    other, random = twin(robot), np.random.default_rng(10)
    q, v = state(robot, random)
    for frame in robot.frame_names:
        if frame == "world":
            continue
        assert_agree(robot.jacobian(q, frame), other.jacobian(q, frame), frame)
        assert_agree(robot.jacobian_drift(q, v, frame), other.drift(q, v, frame), frame)


# --- models typed from the published tables, not read from our files -----------------------------------------

IIWA_CHAIN = [  # position in the parent; quaternion wxyz, not normalised
    ((0, 0, 0.1575), (1, 0, 0, 0)),
    ((0, 0, 0.2025), (0, 0, 1, 1)),
    ((0, 0.2045, 0), (0, 0, 1, 1)),
    ((0, 0, 0.2155), (1, 1, 0, 0)),
    ((0, 0.1845, 0), (0, 0, 1, 1)),
    ((0, 0, 0.2155), (1, 1, 0, 0)),
    ((0, 0.081, 0), (0, 0, 1, 1)),
]
IIWA_LINKS = [  # mass, centre, principal moments
    (5.76, (0, -0.03, 0.12), (0.0333, 0.033, 0.0123)),
    (6.35, (0.0003, 0.059, 0.042), (0.0305, 0.0304, 0.011)),
    (3.5, (0, 0.03, 0.13), (0.025, 0.0238, 0.0076)),
    (3.5, (0, 0.067, 0.034), (0.017, 0.0164, 0.006)),
    (3.5, (0.0001, 0.021, 0.076), (0.01, 0.0087, 0.00449)),
    (1.8, (0, 0.0006, 0.0004), (0.0049, 0.0047, 0.0036)),
    (1.2, (0, 0, 0.02), (0.001, 0.001, 0.001)),
]
PANDA_DH = [  # modified: a, d, alpha
    (0, 0.333, 0),
    (0, 0, -np.pi / 2),
    (0, 0.316, np.pi / 2),
    (0.0825, 0, np.pi / 2),
    (-0.0825, 0.384, -np.pi / 2),
    (0, 0, np.pi / 2),
    (0.088, 0, np.pi / 2),
]
PANDA_LINKS = [  # mass, centre, Ixx Iyy Izz Ixy Ixz Iyz
    (4.970684, (0.003875, 0.002081, -0.04762), (0.70337, 0.70661, 0.009117, -0.000139, 0.006772, 0.019169)),
    (0.646926, (-0.003141, -0.02872, 0.003495), (0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704)),
    (3.228604, (0.027518, 0.039252, -0.066502), (0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805)),
    (3.587895, (-0.05317, 0.104419, 0.027454), (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641)),
    (1.225946, (-0.011953, 0.041065, -0.038437), (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229)),
    (1.666555, (0.060149, -0.014117, -0.010517), (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341)),
    (0.735522, (0.010517, -0.004252, 0.061597), (0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741)),
]


def tensor(ixx, iyy, izz, ixy=0.0, ixz=0.0, iyz=0.0):
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def chain(places, links):
    """Revolute joints about each frame's z."""
    model, joint = pin.Model(), 0
    for number, (place, (mass, com, moments)) in enumerate(zip(places, links), start=1):
        joint = model.addJoint(joint, pin.JointModelRZ(), place, f"joint{number}")
        model.appendBodyToJoint(joint, pin.Inertia(mass, np.array(com, float), tensor(*moments)), pin.SE3.Identity())
    return model, joint


def craig(a, d, alpha):
    return pin.SE3(pin.rpy.rpyToMatrix(alpha, 0, 0), np.array([a, 0.0, 0.0])) * pin.SE3(np.eye(3), np.array([0, 0, d]))


def assert_matches_table(robot, model, tool) -> None:
    data, random = model.createData(), np.random.default_rng(3)
    for _ in range(10):
        q, v = random.uniform(robot.limits.lower, robot.limits.upper), random.normal(size=robot.nv)
        M = pin.crba(model, data, q)
        assert_agree(robot.mass_matrix(q), np.triu(M) + np.triu(M, 1).T, "M")
        assert_agree(robot.bias(q, v), pin.nonLinearEffects(model, data, q, v), "bias")
        pin.framesForwardKinematics(model, data, q)
        assert_agree(robot.pose(q).matrix, data.oMf[tool].homogeneous, "pose")


def test_iiwa14_is_the_machine_of_its_published_table() -> None:
    places = [pin.SE3(pin.Quaternion(*map(float, q)).normalized(), np.array(p, float)) for p, q in IIWA_CHAIN]
    model, last = chain(places, IIWA_LINKS)
    flange = pin.SE3(np.eye(3), np.array([0, 0, 0.045]))
    tool = model.addFrame(pin.Frame("tool", last, 0, flange, pin.FrameType.OP_FRAME))
    assert_matches_table(pp.load_robot("iiwa14"), model, tool)


def test_panda_is_the_machine_of_its_published_table() -> None:
    model, last = chain([craig(*row) for row in PANDA_DH], PANDA_LINKS)
    turned = pin.SE3(pin.rpy.rpyToMatrix(0, 0, -np.pi / 4), np.array([0, 0, 0.107]))
    hand = pin.Inertia(0.73, np.array([-0.01, 0, 0.03]), np.diag([0.001, 0.0025, 0.0017]))
    model.appendBodyToJoint(last, hand, turned)
    place = turned * pin.SE3(np.eye(3), np.array([0, 0, 0.1034]))
    tool = model.addFrame(pin.Frame("tool", last, 0, place, pin.FrameType.OP_FRAME))
    assert_matches_table(pp.load_robot("panda", joints="ideal"), model, tool)


# --- other people's URDF files --------------------------------------------------------------------------------


def urdf(*parts: str) -> Path:
    """A file of example-robot-data, which installs beside Pinocchio and has no module of its own."""
    path = Path(pin.__file__).parents[4].joinpath("share", "example-robot-data", "robots", *parts)
    if not path.exists():
        pytest.skip("example-robot-data is not installed")
    return path


def test_ur5_from_its_urdf_agrees_with_pinocchio() -> None:
    path = urdf("ur_description", "urdf", "ur5_robot.urdf")
    robot, model = pp.load_robot(path), pin.buildModelFromUrdf(str(path))
    assert robot.joint_names == tuple(model.names)[1:]
    assert_same_urdf(robot, model, np.eye(6), robot.tool_frame)


def test_panda_from_its_urdf_moves_its_two_fingers_as_one() -> None:
    """Pinocchio keeps both fingers; G ties them: v_pin = G v, M = Gᵀ M_pin G."""
    path = urdf("panda_description", "urdf", "panda.urdf")
    robot, model = pp.load_robot(path), pin.buildModelFromUrdf(str(path))
    assert robot.joint_names == tuple(model.names)[1:-1]
    G = np.vstack([np.eye(8), np.eye(8)[7]])
    assert_same_urdf(robot, model, G, "panda_hand_tcp")


def assert_same_urdf(robot, model, G, frame: str) -> None:
    data, random = model.createData(), np.random.default_rng(4)
    place = model.getFrameId(frame)
    for _ in range(10):
        q, v = random.uniform(robot.limits.lower, robot.limits.upper), random.normal(size=robot.nv)
        M = pin.crba(model, data, G @ q)
        assert_agree(robot.mass_matrix(q), G.T @ (np.triu(M) + np.triu(M, 1).T) @ G, "M")
        assert_agree(robot.bias(q, v), G.T @ pin.nonLinearEffects(model, data, G @ q, G @ v), "bias")
        J = pin.computeFrameJacobian(model, data, G @ q, place, pin.LOCAL_WORLD_ALIGNED) @ G
        assert_agree(robot.jacobian(q, frame), J, "J")
        pin.framesForwardKinematics(model, data, G @ q)
        assert_agree(robot.pose(q, frame).matrix, data.oMf[place].homogeneous, "pose")


# --- Drake --------------------------------------------------------------------------------------------------


def drake_chain(places, links):
    """The same tables as a MultibodyPlant."""
    tree, mathlib = pytest.importorskip("pydrake.multibody.tree"), pytest.importorskip("pydrake.math")
    plant = pytest.importorskip("pydrake.multibody.plant").MultibodyPlant(0.0)
    parent = plant.world_frame()
    for number, (place, (mass, com, moments)) in enumerate(zip(places, links), start=1):
        ixx, iyy, izz, ixy, ixz, iyz = (*moments, 0.0, 0.0, 0.0)[:6]
        central = tree.RotationalInertia(ixx, iyy, izz, ixy, ixz, iyz)
        com = np.array(com, float)
        unit = tree.UnitInertia().SetFromRotationalInertia(central, mass).ShiftFromCenterOfMass(-com)
        link = plant.AddRigidBody(f"link{number}", tree.SpatialInertia(mass, com, unit))
        X = mathlib.RigidTransform(mathlib.RotationMatrix(place.rotation), place.translation)
        at = plant.AddFrame(tree.FixedOffsetFrame(f"at{number}", parent, X))
        plant.AddJoint(tree.RevoluteJoint(f"joint{number}", at, link.body_frame(), [0, 0, 1]))
        parent = link.body_frame()
    plant.Finalize()
    return plant, tree


def assert_agrees_with_drake(robot, plant, tree, frame: str) -> None:
    context, random = plant.CreateDefaultContext(), np.random.default_rng(5)
    world, link, heights = plant.world_frame(), plant.GetFrameByName(frame), []
    for _ in range(5):
        q, v = random.uniform(robot.limits.lower, robot.limits.upper), random.normal(size=robot.nv)
        plant.SetPositions(context, q)
        plant.SetVelocities(context, v)
        assert_agree(robot.mass_matrix(q), plant.CalcMassMatrixViaInverseDynamics(context), "M")
        gravity = -plant.CalcGravityGeneralizedForces(context)
        assert_agree(robot.gravity(q), gravity, "gravity")
        assert_agree(robot.bias(q, v), plant.CalcBiasTerm(context) + gravity, "bias")
        V = tree.JacobianWrtVariable.kV
        J = plant.CalcJacobianSpatialVelocity(context, V, link, np.zeros(3), world, world)
        drift = plant.CalcBiasSpatialAcceleration(context, V, link, np.zeros(3), world, world)
        assert_agree(robot.jacobian(q, frame), np.vstack([J[3:], J[:3]]), "J")
        assert_agree(robot.jacobian_drift(q, v, frame), [*drift.translational(), *drift.rotational()], "drift")
        heights.append((robot.potential_energy(q), plant.CalcPotentialEnergy(context)))
    ours, theirs = np.array(heights).T  # Drake's chain has no base link, whose energy is constant
    assert_agree(ours - ours[0], theirs - theirs[0], "potential energy")


def test_iiwa14_agrees_with_drake() -> None:
    places = [pin.SE3(pin.Quaternion(*map(float, q)).normalized(), np.array(p, float)) for p, q in IIWA_CHAIN]
    plant, tree = drake_chain(places, IIWA_LINKS)
    assert_agrees_with_drake(pp.load_robot("iiwa14"), plant, tree, "link7")


def test_panda_without_its_hand_agrees_with_drake() -> None:
    rows = [
        pp.robot.DHLink(a, alpha, d, mass=mass, com=com, inertia=tensor(*moments), lower=-2.0, upper=2.0)
        for (a, d, alpha), (mass, com, moments) in zip(PANDA_DH, PANDA_LINKS)
    ]
    plant, tree = drake_chain([craig(*row) for row in PANDA_DH], PANDA_LINKS)
    assert_agrees_with_drake(pp.Robot.from_dh(rows, "modified"), plant, tree, "link7")
