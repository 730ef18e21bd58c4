"""The catalogue's further arms against Pinocchio, built from the same published figures typed once more."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import cos, pi, radians, sin
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.checks import Array
from palpate.errors import ModelError
from palpate.robot import DHLink
from palpate.robot.readers.urdf.inertials import nearest_physical

RANDOM = np.random.default_rng(560)


@dataclass(frozen=True)
class Arm:
    """Each link: how it stands on its parent (rpy, xyz), mass, centre of mass, xx yy zz xy xz yz; then the tool."""

    frames: list[tuple[tuple[float, ...], tuple[float, ...]]]
    links: list[tuple[float, tuple[float, ...], tuple[float, ...]]]
    tool: tuple[tuple[float, ...], tuple[float, ...]]
    torque: list[float]
    lower: list[float]
    upper: list[float]


def standard(rows: list[tuple[float, float, float]]) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Frames before each joint of a standard DH table: what follows joint i − 1 is Tz(d) Tx(a) Rx(alpha)."""
    return [((0, 0, 0), (0, 0, 0)), *(((alpha, 0, 0), (a, 0, d)) for a, d, alpha in rows[:-1])]


def craig(rows: list[tuple[float, float, float]]) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    return [((alpha, 0, 0), (a, -d * sin(alpha), d * cos(alpha))) for a, d, alpha in rows]


UR3E_DH = [(0, 0.15185, pi / 2), (-0.24355, 0, 0), (-0.2132, 0, 0), (0, 0.13105, pi / 2), (0, 0.08535, -pi / 2),
           (0, 0.0921, 0)]  # fmt: skip
UR10E_DH = [(0, 0.1807, pi / 2), (-0.6127, 0, 0), (-0.57155, 0, 0), (0, 0.17415, pi / 2), (0, 0.11985, -pi / 2),
            (0, 0.11655, 0)]  # fmt: skip
FR3_DH = [(0, 0.333, 0), (0, 0, -pi / 2), (0, 0.316, pi / 2), (0.0825, 0, pi / 2), (-0.0825, 0.384, -pi / 2),
          (0, 0, pi / 2), (0.088, 0, pi / 2)]  # fmt: skip
HALF, FULL = pi / 2, 2 * pi


def turned(quat_wxyz: tuple[float, ...], moments: tuple[float, ...]) -> tuple[float, ...]:
    """Six entries of a tensor given by its principal moments and axes, rounded as the catalogue's file says."""
    w, x, y, z = np.array(quat_wxyz) / np.linalg.norm(quat_wxyz)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    R = np.eye(3) + 2 * w * cross + 2 * cross @ cross
    T = np.round(R @ np.diag(moments) @ R.T, 9)
    return T[0, 0], T[1, 1], T[2, 2], T[0, 1], T[0, 2], T[1, 2]


XARM7 = [  # MuJoCo Menagerie's principal moments and axes of the maker's tensors
    (
        2.382,
        (-0.0002, 0.02905, -0.01233),
        turned((0.978953, -0.202769, -0.00441617, -0.0227264), (0.00569127, 0.00533384, 0.00293865)),
    ),
    (
        1.869,
        (0.00022, -0.12856, 0.01735),
        turned((0.50198, 0.86483, -0.00778841, 0.00483285), (0.00959898, 0.00937717, 0.00201315)),
    ),
    (
        1.6383,
        (0.0466, -0.02463, -0.00768),
        turned((0.913819, 0.289775, 0.281481, -0.0416455), (0.00351721, 0.00294089, 0.00195868)),
    ),
    (
        1.7269,
        (0.07047, -0.11575, 0.012),
        turned((0.422108, 0.852026, -0.126025, 0.282832), (0.00657137, 0.00647948, 0.00186763)),
    ),
    (
        1.3203,
        (-0.00032, 0.01604, -0.026),
        turned((0.999311, -0.0304457, 0.000577067, 0.0212082), (0.00534729, 0.00499076, 0.0013489)),
    ),
    (
        1.325,
        (0.06469, 0.03278, 0.02141),
        turned((-0.217672, 0.772419, 0.16258, 0.574069), (0.00245421, 0.00221646, 0.00107273)),
    ),
    (
        0.17,
        (0, -0.00677, -0.01098),
        turned((0.487612, 0.512088, -0.512088, 0.487612), (0.000132176, 9.3e-05, 5.85236e-05)),
    ),
]

ARMS = {
    "ur3e": Arm(
        standard(UR3E_DH),
        [
            (1.98, (0, -0.02, 0), (0.0027657, 0.0021501, 0.0025626, 9.6e-6, -1.49e-5, 1.873e-4)),
            (3.4445, (0.13, 0, 0.1157), (0.0042623, 0.0460284, 0.0448947, -4.09e-5, -1.496e-3, -1.29e-5)),
            (1.437, (0.05, 0, 0.0238), (0.0010511, 0.0113396, 0.0110895, 0, -3.31e-5, 2.2e-6)),
            (0.871, (0, 0, 0.01), (8.174e-4, 6.844e-4, 5.497e-4, -5e-7, 2.1e-6, 6.17e-5)),
            (0.805, (0, 0, 0.01), (6.059e-4, 5.837e-4, 3.831e-4, -6e-7, -6e-7, -2.71e-5)),
            (0.261, (0, 0, -0.02), (1.08e-4, 1.086e-4, 1.371e-4, -1e-7, -1e-7, -2e-7)),
        ],
        ((0, 0, 0), (0, 0, 0.0921)),
        [54, 54, 28, 9, 9, 9],
        [-FULL, -FULL, -pi, -FULL, -FULL, -FULL],
        [FULL, FULL, pi, FULL, FULL, FULL],
    ),
    "ur10e": Arm(
        standard(UR10E_DH),
        [
            (7.369, (0.021, 0, 0.027), (0.03408, 0.03529, 0.02156, 2e-5, -0.00425, 8e-5)),
            (13.051, (0.38, 0, 0.158), (0.02814, 0.77068, 0.76943, 5e-5, -0.01561, 2e-5)),
            (3.989, (0.24, 0, 0.068), (0.01014, 0.30928, 0.30646, 8e-5, 0.00916, 0)),
            (2.1, (0, 0.007, 0.018), (0.00296, 0.00222, 0.00258, -1e-5, 0, -2.4e-4)),
            (1.98, (0, 0.007, 0.018), (0.00296, 0.00222, 0.00258, -1e-5, 0, -2.4e-4)),
            (0.615, (0, 0, -0.026), (4e-4, 4.1e-4, 3.4e-4, 0, 0, 0)),
        ],
        ((0, 0, 0), (0, 0, 0.11655)),
        [330, 330, 150, 54, 54, 54],
        [-FULL, -FULL, -pi, -FULL, -FULL, -FULL],
        [FULL, FULL, pi, FULL, FULL, FULL],
    ),
    "fr3": Arm(
        craig(FR3_DH),
        [
            (2.9274653454, (4.128e-07, -0.0181251324, -0.038603597),
             (0.023927316485107913, 0.0224821613275756, 0.006350098258530016,
              1.3317903455714081e-05, -0.00011404774918616684, -0.0019950320628240115)),
            (2.9355370338, (0.0031828864, -0.0743221644, 0.0088146084),
             (0.041938946257609425, 0.02514514885014724, 0.06170214472888839,
              0.00020257331521090626, 0.004077784227179924, -0.0042252158006570156)),
            (2.2449013699, (0.0407015686, -0.0048200565, -0.0289730823),
             (0.02410142547240885, 0.01974053266708178, 0.019044494482244823,
              0.002404694559042109, -0.002856269270114313, -0.002104212683891874)),
            (2.6155955791, (-0.0459100965, 0.063049296, -0.0085187868),
             (0.03452998321913202, 0.028881621933049058, 0.04125471171146641,
              0.01322552265982813, 0.01015142998484113, -0.0009762833870704552)),
            (2.3271207594, (-0.0016039605, 0.0292536262, -0.097296599),
             (0.051610278463662895, 0.04787729713371481, 0.016423625579357254,
              -0.005715173387783472, -0.0035673167625872135, 0.010673985108535986)),
            (1.8170376524, (0.0597131221, -0.0410294666, -0.0101692726),
             (0.005412333594383447, 0.014058329545509979, 0.016080817924212554,
              0.006193456360285834, 0.0014219289306117652, -0.0013140753741120031)),
            (0.6271432862, (0.0045225817, 0.0086261921, -0.0161633251),
             (0.00021092389150104718, 0.00017718568002411474, 5.993190599659971e-05,
              -2.433299114461931e-05, 4.564480393778983e-05, 8.744070223226438e-05)),
        ],
        ((0, 0, 0), (0, 0, 0.107)),
        [87, 87, 87, 87, 12, 12, 12],
        [-2.7437, -1.7837, -2.9007, -3.0421, -2.8065, 0.5445, -3.0159],
        [2.7437, 1.7837, 2.9007, -0.1518, 2.8065, 4.5169, 3.0159],
    ),
    "gen3": Arm(
        [((pi, 0, 0), (0, 0, 0.15643)), ((HALF, 0, 0), (0, 0.005375, -0.12838)),
         ((-HALF, 0, 0), (0, -0.21038, -0.006375)), ((HALF, 0, 0), (0, 0.006375, -0.21038)),
         ((-HALF, 0, 0), (0, -0.20843, -0.006375)), ((HALF, 0, 0), (0, 0.00017505, -0.10593)),
         ((-HALF, 0, 0), (0, -0.10593, -0.00017505))],
        [
            (1.3773, (-2.3e-05, -0.010364, -0.07336), (0.00457, 0.004831, 0.001409, 1e-06, 2e-06, 0.000448)),
            (1.1636, (-4.4e-05, -0.09958, -0.013278), (0.011088, 0.001072, 0.011255, 5e-06, 0, -0.000691)),
            (1.1636, (-4.4e-05, -0.006641, -0.117892), (0.010932, 0.011127, 0.001043, 0, -7e-06, 0.000606)),
            (0.9302, (-1.8e-05, -0.075478, -0.015006), (0.008147, 0.000631, 0.008316, -1e-06, 0, -0.0005)),
            (0.6781, (1e-06, -0.009432, -0.063883), (0.001596, 0.001607, 0.000399, 0, 0, 0.000256)),
            (0.6781, (1e-06, -0.045483, -0.00965), (0.001641, 0.00041, 0.001641, 0, 0, -0.000278)),
            (0.5, (0.000281, 0.011402, -0.029798), (0.000587, 0.000369, 0.000609, 3e-06, 3e-06, -0.000118)),
        ],
        ((pi, 0, 0), (0, 0, -0.061525)),
        [39, 39, 39, 39, 9, 9, 9],
        [-np.inf, -radians(128.9), -np.inf, -radians(147.8), -np.inf, -radians(120.3), -np.inf],
        [np.inf, radians(128.9), np.inf, radians(147.8), np.inf, radians(120.3), np.inf],
    ),
    "xarm7": Arm(
        [((0, 0, 0), (0, 0, 0.267)), ((-HALF, 0, 0), (0, 0, 0)), ((HALF, 0, 0), (0, -0.293, 0)),
         ((HALF, 0, 0), (0.0525, 0, 0)), ((HALF, 0, 0), (0.0775, -0.3425, 0)), ((HALF, 0, 0), (0, 0, 0)),
         ((-HALF, 0, 0), (0.076, 0.097, 0))],
        XARM7,
        ((0, 0, 0), (0, 0, 0)),
        [50, 50, 30, 30, 30, 20, 20],
        [-FULL, -2.059, -FULL, -0.19198, -FULL, -1.69297, -FULL],
        [FULL, 2.0944, FULL, 3.927, FULL, pi, FULL],
    ),
    "sawyer": Arm(
        [((0, 0, 0), (0, 0, 0.08)), ((-HALF, HALF, 0), (0.081, 0.05, 0.237)), ((HALF, 0, 0), (0, -0.14, 0.1425)),
         ((-HALF, 0, 0), (0, -0.042, 0.26)), ((HALF, 0, 0), (0, -0.125, -0.1265)),
         ((-HALF, 0, 0), (0, 0.031, 0.275)), ((-HALF, -0.17453, pi), (0, -0.11, 0.1053))],
        [
            (5.3213, (0.024366, 0.010969, 0.14363), (0.053314, 0.057902, 0.023659, 0.0047093, 0.011734, 0.0080179)),
            (4.505, (-0.0030849, -0.026811, 0.092521),
             (0.022398, 0.014613, 0.017295, -0.00023986, -0.00029362, -0.0060875)),
            (1.745, (-0.00016044, -0.014967, 0.13582), (0.025506, 0.0253, 0.0034179, 4.4101e-6, 1.4955e-5, -0.0033204)),
            (2.5097, (-0.0048135, -0.0281, -0.084154),
             (0.01016, 0.0065685, 0.0069078, -9.7452e-6, 0.00026624, 0.0030316)),
            (1.1136, (-0.0018844, 0.0069001, 0.1341),
             (0.013557, 0.013555, 0.0013658, 1.8109e-5, 0.00013523, 0.0010561)),
            (1.5625, (0.0061133, -0.023697, 0.076416),
             (0.0047328, 0.0029676, 0.0031762, 0.00011526, 4.6269e-5, -0.0011557)),
            (0.3292, (-8.0726e-06, 0.0085838, -0.0049566),
             (0.00031105, 0.00021549, 0.00035976, 1.4771e-6, -3.7074e-7, -8.4533e-6)),
        ],
        ((0, 0, HALF), (0, 0, 0.0245)),
        [80, 80, 40, 40, 9, 9, 9],
        [-3.0503, -3.8095, -3.0426, -3.0439, -2.9761, -2.9761, -4.7124],
        [3.0503, 2.2736, 3.0426, 3.0439, 2.9761, 2.9761, 4.7124],
    ),
}  # fmt: skip
SAWYER_HEAD = (1.5795, (0.0053207, -2.6549e-05, 0.1021 + 0.2965),
               (0.011833, 0.0082709, 0.0049661, -4.4669e-06, 4.9425e-05, 4.2124e-07))  # fmt: skip


def tensor(xx: float, yy: float, zz: float, xy: float = 0.0, xz: float = 0.0, yz: float = 0.0) -> Array:
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def pinocchio(name: str) -> tuple[Any, Any]:
    pin = pytest.importorskip("pinocchio")
    arm, model, parent = ARMS[name], pin.Model(), 0
    dh = {"ur3e": UR3E_DH, "ur10e": UR10E_DH}.get(name)
    for i, ((rpy, xyz), (mass, com, six)) in enumerate(zip(arm.frames, arm.links)):
        place = pin.SE3(pin.rpy.rpyToMatrix(*map(float, rpy)), np.array(xyz, dtype=float))
        parent = model.addJoint(parent, pin.JointModelRZ(), place, f"joint{i + 1}")
        body, where = pin.Inertia(mass, np.array(com, dtype=float), tensor(*six)), pin.SE3.Identity()
        if dh is not None:  # figures in DH frame i, behind Tz(d) Tx(a) Rx(alpha)
            a, d, alpha = dh[i]
            where = pin.SE3(pin.rpy.rpyToMatrix(float(alpha), 0.0, 0.0), np.array([a, 0.0, d]))
        model.appendBodyToJoint(parent, body, where)
        if name == "sawyer" and i == 0:
            mass, com, six = SAWYER_HEAD
            model.appendBodyToJoint(parent, pin.Inertia(mass, np.array(com), tensor(*six)), pin.SE3.Identity())
    place = pin.SE3(pin.rpy.rpyToMatrix(*map(float, arm.tool[0])), np.array(arm.tool[1], dtype=float))
    model.addFrame(pin.Frame("tool", parent, 0, place, pin.FrameType.OP_FRAME))
    return pin, model


@pytest.mark.parametrize("name", ARMS)
def test_an_arm_agrees_with_pinocchio_from_the_same_figures(name: str) -> None:
    """1e-9 relative: the xArm's and the FR3's tensors are rotated once more by the engine."""
    pin, model = pinocchio(name)
    robot, data = pp.load_robot(name, joints="ideal"), model.createData()
    for _ in range(5):
        q, v, a = RANDOM.uniform(-2, 2, (3, robot.nv))
        pin.framesForwardKinematics(model, data, q)
        assert robot.pose(q).matrix == pytest.approx(data.oMf[model.getFrameId("tool")].homogeneous, abs=1e-12)
        M = pin.crba(model, data, q)
        assert robot.mass_matrix(q) == pytest.approx(np.triu(M) + np.triu(M, 1).T, rel=1e-9, abs=1e-10)
        tau = pin.rnea(model, data, q, v, a)
        assert robot.inverse_dynamics(q, v, a) == pytest.approx(tau, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("name", ARMS)
def test_an_arms_limits_are_the_published_ones(name: str) -> None:
    robot, arm = pp.load_robot(name), ARMS[name]
    assert robot.limits.torque == pytest.approx(arm.torque)
    assert robot.limits.lower == pytest.approx(arm.lower, rel=1e-12)
    assert robot.limits.upper == pytest.approx(arm.upper, rel=1e-12)
    assert np.isfinite(robot.limits.velocity).all()
    assert robot.warnings == ()


def test_fr3_has_the_pandas_frames() -> None:
    """The maker says the two share their DH table."""
    fr3, panda = pp.load_robot("fr3"), pp.load_robot("panda")
    q = RANDOM.uniform(-2, 2, 7)
    assert fr3.pose(q, "flange").matrix == pytest.approx(panda.pose(q, "flange").matrix, abs=1e-14)


# --- Puma 560 --------------------------------------------------------------------------------------------

PUMA = [  # Corke and Armstrong-Helouvry 1994: d, a, alpha, m, r, I, Jm, G, B, Tc
    DHLink(d=0.672, alpha=pi / 2, mass=0, inertia=(0, 0.35, 0), motor_inertia=200e-6, gear=-62.6111,
              motor_damping=1.48e-3, motor_friction=(0.395, -0.435)),
    DHLink(a=0.4318, mass=17.4, com=(-0.3638, 0.006, 0.2275), inertia=(0.13, 0.524, 0.539), motor_inertia=200e-6,
              gear=107.815, motor_damping=0.817e-3, motor_friction=(0.126, -0.071)),
    DHLink(d=0.15005, a=0.0203, alpha=-pi / 2, mass=4.8, com=(-0.0203, -0.0141, 0.070),
              inertia=(0.066, 0.086, 0.0125), motor_inertia=200e-6, gear=-53.7063, motor_damping=1.38e-3,
              motor_friction=(0.132, -0.105)),
    DHLink(d=0.4318, alpha=pi / 2, mass=0.82, com=(0, 0.019, 0), inertia=(1.8e-3, 1.3e-3, 1.8e-3),
              motor_inertia=33e-6, gear=76.0364, motor_damping=71.2e-6, motor_friction=(11.2e-3, -16.9e-3)),
    DHLink(alpha=-pi / 2, mass=0.34, inertia=(0.3e-3, 0.4e-3, 0.3e-3), motor_inertia=33e-6, gear=71.923,
              motor_damping=82.6e-6, motor_friction=(9.26e-3, -14.5e-3)),
    DHLink(mass=0.09, com=(0, 0, 0.032), inertia=(0.15e-3, 0.15e-3, 0.04e-3), motor_inertia=33e-6, gear=76.686,
              motor_damping=36.7e-6, motor_friction=(3.96e-3, -10.5e-3)),
]  # fmt: skip
NOMINAL = np.array([0, pi / 4, pi, 0, pi / 4, 0])
# Corke, Robotics, Vision and Control: the toolbox's inertia and gravity load in the nominal posture, as printed.
PRINTED_M = np.array(
    [
        [3.6594, -0.4044, 0.1006, -0.0025, 0.0, 0.0],
        [-0.4044, 4.4137, 0.3509, 0.0, 0.0024, 0.0],
        [0.1006, 0.3509, 0.9378, 0.0, 0.0015, 0.0],
        [-0.0025, 0.0, 0.0, 0.1925, 0.0, 0.0],
        [0.0, 0.0024, 0.0015, 0.0, 0.1713, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.1941],
    ]
)
PRINTED_GRAVITY = [0.0, 31.6399, 6.0351, 0.0, 0.0283, 0.0]


def test_the_published_puma_has_three_faults_and_all_are_told() -> None:
    with pytest.raises(ModelError, match="3 errors") as caught:
        pp.Robot.from_dh(PUMA)
    message = str(caught.value)
    assert re.search(r"DH row 1: mass.*greater.*0, got 0", message)
    assert re.search(r"DH row 1: inertia.*inequality: 0 \+ 0 < 0\.35", message)
    assert re.search(r"DH row 3: inertia.*inequality: 0\.0125 \+ 0\.066 < 0\.086", message)


def puma_in_pinocchio(repaired: bool) -> tuple[Any, Any]:
    pin = pytest.importorskip("pinocchio")
    model, parent = pin.Model(), 0
    frames = standard([(row.a, row.d, row.alpha) for row in PUMA])
    for i, ((rpy, xyz), row) in enumerate(zip(frames, PUMA)):
        place = pin.SE3(pin.rpy.rpyToMatrix(*map(float, rpy)), np.array(xyz, dtype=float))
        parent = model.addJoint(parent, pin.JointModelRZ(), place, f"joint{i + 1}")
        moments = np.diag(np.asarray(row.inertia, dtype=float))
        if repaired and i in (0, 2):
            moments = nearest_physical(moments)
        where = pin.SE3(pin.rpy.rpyToMatrix(row.alpha, 0.0, 0.0), np.array([row.a, 0.0, row.d]))
        mass = row.mass or 2e-15
        model.appendBodyToJoint(parent, pin.Inertia(mass, np.array(row.com, dtype=float), moments), where)
    model.armature = np.array([row.motor_inertia * row.gear**2 for row in PUMA])
    return pin, model


def test_the_published_figures_give_the_published_mass_matrix_and_gravity() -> None:
    """Our typing of the table, in an engine that takes impossible inertias."""
    pin, model = puma_in_pinocchio(repaired=False)
    data = model.createData()
    M = pin.crba(model, data, NOMINAL)
    assert np.triu(M) == pytest.approx(np.triu(PRINTED_M), abs=5.1e-5)
    assert pin.computeGeneralizedGravity(model, data, NOMINAL) == pytest.approx(PRINTED_GRAVITY, abs=5.1e-5)


@pytest.mark.parametrize("source", ["catalogue", "table"])
def test_the_repaired_puma_is_the_published_one_but_for_link_3(source: str) -> None:
    """Gravity to every printed digit; the mass matrix but for the 0.00375 kg·m² that link 3 lacked."""
    robot = pp.load_robot("puma560") if source == "catalogue" else pp.Robot.from_dh(PUMA, repair=True)
    assert robot.gravity(NOMINAL) == pytest.approx(PRINTED_GRAVITY, abs=5.1e-5)
    assert robot.mass_matrix(NOMINAL) == pytest.approx(PRINTED_M, abs=0.00375 + 5.1e-5)
    pin, model = puma_in_pinocchio(repaired=True)
    data = model.createData()
    for _ in range(5):
        q, v = RANDOM.uniform(-2, 2, (2, 6))
        M = pin.crba(model, data, q)
        assert robot.mass_matrix(q) == pytest.approx(np.triu(M) + np.triu(M, 1).T, abs=1e-9)
        assert robot.bias(q, v) == pytest.approx(pin.rnea(model, data, q, v, np.zeros(6)), abs=1e-8)


def test_the_table_tells_what_it_repaired_and_keeps_the_two_frictions() -> None:
    robot = pp.Robot.from_dh(PUMA, repair=True)
    assert [warning.element for warning in robot.warnings] == ["row 1", "row 1", "row 3"]
    forward = robot.inverse_dynamics(NOMINAL, [1, 0, 0, 0, 0, 0], np.zeros(6), losses=True)
    backward = robot.inverse_dynamics(NOMINAL, [-1, 0, 0, 0, 0, 0], np.zeros(6), losses=True)
    viscous, gear = 1.48e-3 * 62.6111**2, 62.6111
    # The gear turns the motor the other way round, so its two frictions change places.
    bias = robot.bias(NOMINAL, [1, 0, 0, 0, 0, 0])[0], robot.bias(NOMINAL, [-1, 0, 0, 0, 0, 0])[0]
    assert forward[0] - bias[0] == pytest.approx(viscous + gear * 0.435, rel=1e-6)
    assert backward[0] - bias[1] == pytest.approx(-viscous - gear * 0.395, rel=1e-6)


def test_the_catalogues_puma_feels_its_rotors_and_the_mean_friction() -> None:
    robot = pp.load_robot("puma560")
    for i, row in enumerate(PUMA):
        assert robot.model.dof_armature[i] == pytest.approx(row.motor_inertia * row.gear**2, rel=1e-12)
        assert robot.model.dof_damping[i] == pytest.approx(row.motor_damping * row.gear**2, rel=1e-12)
        mean = abs(row.gear) * np.abs(row.motor_friction).mean()
        assert robot.model.dof_frictionloss[i] == pytest.approx(mean, rel=1e-12)


# --- SCARA and two arms ----------------------------------------------------------------------------------


def test_scara_has_the_closed_form_of_its_geometry_and_mass() -> None:
    (l1, l2), (m1, m2, m3, m4), r, h, g = (0.5, 0.3), (4.0, 3.0, 1.0, 0.5), 0.03, 0.7, 9.81
    robot = pp.load_robot("scara", length=[l1, l2], mass=[m1, m2, m3, m4], base_height=h)
    alpha, beta, gamma, zeta = q = np.array([0.3, -0.8, 0.5, -0.12])
    tool = robot.pose(q)
    x, y = l1 * cos(alpha) + l2 * cos(alpha + beta), l1 * sin(alpha) + l2 * sin(alpha + beta)
    assert tool.position == pytest.approx([x, y, h + zeta], abs=1e-14)
    phi = alpha + beta + gamma
    assert tool.rotation == pytest.approx(np.array([[cos(phi), -sin(phi), 0], [sin(phi), cos(phi), 0], [0, 0, 1]]))
    tip, spin, c = m3 + m4, (m3 + m4) * r**2 / 2, cos(beta)
    M33 = spin
    M22 = m2 * l2**2 / 3 + tip * l2**2 + spin
    M12 = m2 * (l2**2 / 3 + l1 * l2 * c / 2) + tip * (l2**2 + l1 * l2 * c) + spin
    M11 = m1 * l1**2 / 3 + m2 * (l1**2 + l2**2 / 3 + l1 * l2 * c) + tip * (l1**2 + l2**2 + 2 * l1 * l2 * c) + spin
    M = [[M11, M12, M33, 0], [M12, M22, M33, 0], [M33, M33, M33, 0], [0, 0, 0, m4]]
    assert robot.mass_matrix(q) == pytest.approx(np.array(M), rel=1e-11, abs=1e-13)
    assert robot.gravity(q) == pytest.approx([0, 0, 0, m4 * g], abs=1e-12)
    assert robot.dof_units == ("rad", "rad", "rad", "m")


def test_two_arms_are_two_arms() -> None:
    """Block-diagonal mass matrix, each block the single arm's; bases `distance` apart."""
    both, one = pp.load_robot("two-arm", distance=0.6), pp.load_robot("iiwa14")
    assert (both.nv, both.mass) == (14, pytest.approx(2 * one.mass))
    q, v = RANDOM.uniform(-1, 1, (2, 14))
    M = both.mass_matrix(q)
    assert M[:7, :7] == pytest.approx(one.mass_matrix(q[:7]), abs=1e-12)
    assert M[7:, 7:] == pytest.approx(one.mass_matrix(q[7:]), abs=1e-12)
    assert np.abs(M[:7, 7:]).max() == 0
    expected = np.concatenate([one.bias(q[:7], v[:7]), one.bias(q[7:], v[7:])])
    assert both.bias(q, v) == pytest.approx(expected, abs=1e-11)
    for side, y, at in (("left", 0.3, q[:7]), ("right", -0.3, q[7:])):
        place = one.pose(at)
        assert both.pose(q, f"{side}_tool").position == pytest.approx(np.add(place.position, [0, y, 0]), abs=1e-14)
        assert both.pose(q, f"{side}_tool").rotation == pytest.approx(place.rotation, abs=1e-14)
    assert both.pose(q).matrix == pytest.approx(both.pose(q, "left_tool").matrix)
    assert list(both.limits.torque) == [*one.limits.torque, *one.limits.torque]
    assert both.with_free_base().nv == 20
    assert list(both.limits.velocity) == [*one.limits.velocity, *one.limits.velocity]
