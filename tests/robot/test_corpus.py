"""Robot files nobody here wrote: which load, which are refused and why, and that what loads is right.

All of example-robot-data and of rtb-data, as they are installed. The numbers are held to Pinocchio's, fixed and
floating, to 1e-9. PALPATE_CORPUS=full takes every file through every test; otherwise each file is loaded, and a part
of them compared (the same part at every run).
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.checks import Array
from palpate.cli.main import main
from palpate.control import GravityCompensation
from palpate.errors import InvalidInput, ModelError, PalpateError
from palpate.robot.readers.check import check_model
from palpate.robot.robot import Robot

FULL = os.environ.get("PALPATE_CORPUS") == "full"
RANDOM = np.random.default_rng(69)


def _folder(package: str, *below: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    origin = Path(spec.origin) if spec and spec.origin else None
    if origin is None:
        return None
    return origin.parents[4].joinpath("share", *below) if below else origin.parent


ROOTS = {
    "erd": _folder("pinocchio", "example-robot-data", "robots"),
    "rtb": _folder("rtbdata"),
}
FILES = {
    f"{tag}/{path.relative_to(root).as_posix()}": path
    for tag, root in ROOTS.items()
    if root is not None
    for path in sorted(root.rglob("*.urdf"))
}
SAMPLE = list(FILES) if FULL else list(FILES)[::4]

# What is refused, and the words that say why. Everything else loads.
IMPOSSIBLE = "triangle inequality|negative eigenvalue"
REFUSED = {
    "erd/alex_description/urdf/alex_psyonic_hands.urdf": IMPOSSIBLE,
    "erd/allegro_hand_description/urdf/allegro_left_hand.urdf": IMPOSSIBLE,
    "erd/allegro_hand_description/urdf/allegro_right_hand.urdf": IMPOSSIBLE,
    "erd/anymal_b_simple_description/robots/anymal-kinova.urdf": IMPOSSIBLE,
    "erd/anymal_b_simple_description/robots/anymal.urdf": IMPOSSIBLE,
    "erd/anymal_c_simple_description/urdf/anymal.urdf": IMPOSSIBLE,
    "erd/b1_description/urdf/b1-z1.urdf": IMPOSSIBLE,
    "erd/b1_description/urdf/b1.urdf": IMPOSSIBLE,
    "erd/go1_description/urdf/go1.urdf": IMPOSSIBLE,
    "erd/hector_description/robots/quadrotor_base.urdf": "nothing to control",
    "erd/hyq_description/robots/hyq_no_sensors.urdf": IMPOSSIBLE,
    "erd/iris_description/robots/iris_simple.urdf": "nothing to control",
    "erd/pr2_description/urdf/pr2.urdf": IMPOSSIBLE,
    "erd/romeo_description/urdf/romeo_laas_small.urdf": IMPOSSIBLE,
    "erd/romeo_description/urdf/romeo_small.urdf": IMPOSSIBLE,
    "erd/tiago_description/robots/tiago.urdf": IMPOSSIBLE,
    "erd/tiago_description/robots/tiago_dual.urdf": IMPOSSIBLE,
    "erd/tiago_description/robots/tiago_no_hand.urdf": IMPOSSIBLE,
    "erd/ur_description/urdf/ur3.urdf": "at least one link",
    "rtb/data/test.urdf": "not a model",
}
# Among those that load: no masses where something moves.
KINEMATICS_ONLY = {
    "erd/romeo_description/urdf/romeo.urdf",
    "rtb/xacro/abb_irb140_description/urdf/irb140.urdf",
    "rtb/xacro/abb_irb140_description/urdf/irb140QT.urdf",
    "rtb/xacro/kuka_description/kuka_lbr_iiwa/urdf/lbr_iiwa_14_r820.urdf",
    "rtb/xacro/lynxmotion_al5d_description/urdf/al5d_robot.urdf",
    "rtb/xacro/unimation_puma560_description/urdf/puma560_robot.urdf",
}

pytestmark = pytest.mark.skipif(not FILES, reason="neither example-robot-data nor rtb-data is installed")


@pytest.mark.parametrize("name", FILES)
def test_a_public_file_loads_or_is_refused_for_the_known_reason(name: str) -> None:
    if name in REFUSED:
        with pytest.raises(ModelError, match=REFUSED[name]):
            pp.load_robot(FILES[name])
        return
    robot = pp.load_robot(FILES[name])
    assert bool(robot.unresisted) == (name in KINEMATICS_ONLY)
    assert np.isfinite(robot.jacobian(robot.home)).all()


def test_the_corpus_is_counted() -> None:
    """Of example-robot-data 50 of 69 load, of rtb-data 8 of 9; a new release may bring more files, not lose any."""
    for tag, total, loads in (("erd", 69, 50), ("rtb", 9, 8)):
        files = [name for name in FILES if name.startswith(tag)]
        if files:
            assert len(files) >= total
            assert len(files) - sum(name in REFUSED for name in files) >= loads


# ------------------------------------------------------------------ Pinocchio's word


class Witness:
    """Pinocchio's model of the same file, with coordinates and velocities taken joint by joint, by name."""

    def __init__(self, path: Path, robot: Robot, floating: bool) -> None:
        self.pin = pin = pytest.importorskip("pinocchio")
        self.model = (
            pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
            if floating
            else pin.buildModelFromUrdf(str(path))
        )
        self.robot, self.floating = robot, floating
        self.data = self.model.createData()
        mj = robot.model
        joints = {mj.joint(j).name: j for j in range(mj.njnt)}
        self.pairs = [
            (joints[self.model.names[i]], i) for i in range(1, self.model.njoints) if self.model.names[i] in joints
        ]
        moving = self.model.njoints - 1 - floating
        assert len(self.pairs) == moving == mj.njnt - int(floating)

    def coordinates(self, q: Array) -> Array:
        """Pinocchio's q: continuous joints as cosine and sine, the base's quaternion as xyzw."""
        full = self.robot.coordinates.expand_position(q)
        out = self.pin.neutral(self.model)
        if self.floating:
            w, x, y, z = full[3:7]
            out[:7] = [*full[:3], x, y, z, w]
        for j, i in self.pairs:
            value, at = full[self.robot.model.jnt_qposadr[j]], self.model.idx_qs[i]
            if self.model.nqs[i] == 2:
                out[at : at + 2] = np.cos(value), np.sin(value)
            else:
                out[at] = value
        return out

    def map(self, q: Array) -> Array:
        """W with v_pin = W v: joints put in Pinocchio's order, the base's velocity in its own axes."""
        order = np.zeros((self.model.nv, self.robot.model.nv))
        for j, i in self.pairs:
            order[self.model.idx_vs[i], self.robot.model.jnt_dofadr[j]] = 1.0
        if self.floating:
            R = self.pin.Quaternion(self.coordinates(q)[3:7]).toRotationMatrix()
            order[:3, :3], order[3:6, 3:6] = R.T, np.eye(3)
        return order @ self.robot.coordinates.map

    def still(self, q: Array, v: Array) -> Array:
        """Pinocchio's acceleration that is none in our coordinates: its base turns while its velocity is told."""
        a, u = np.zeros(self.model.nv), self.map(q) @ v
        if self.floating:
            a[:3] = -np.cross(u[3:6], u[:3])
        return a

    def mass_matrix(self, q: Array) -> Array:
        W, M = self.map(q), self.pin.crba(self.model, self.data, self.coordinates(q))
        return W.T @ (np.triu(M) + np.triu(M, 1).T) @ W + self._rotors()

    def _rotors(self) -> Array:
        G = self.robot.coordinates.map
        return G.T @ np.diag(self.robot.model.dof_armature) @ G

    def bias(self, q: Array, v: Array) -> Array:
        W = self.map(q)
        return W.T @ self.pin.rnea(self.model, self.data, self.coordinates(q), W @ v, self.still(q, v))

    def pose_and_jacobian(self, q: Array, frame: str) -> tuple[Array, Array]:
        place, where = self.model.getFrameId(frame), self.pin.LOCAL_WORLD_ALIGNED
        J = self.pin.computeFrameJacobian(self.model, self.data, self.coordinates(q), place, where)
        self.pin.updateFramePlacements(self.model, self.data)
        return self.data.oMf[place].homogeneous, J.reshape(6, -1) @ self.map(q)


def state(robot: Robot) -> tuple[Array, Array]:
    """A random state within the limits, and a free base's orientation anywhere."""
    low, high = robot.limits.lower, robot.limits.upper
    x = RANDOM.uniform(np.where(np.isfinite(low), low, -1.5), np.where(np.isfinite(high), high, 1.5))
    v = RANDOM.normal(size=robot.nv)
    if robot.nq == robot.nv:
        return x, v
    quat = RANDOM.normal(size=4)
    return np.concatenate([x[:3], quat / np.linalg.norm(quat), x[6:]]), v


def assert_same(robot: Robot, witness: Any) -> None:
    q, v = state(robot)
    X, J = witness.pose_and_jacobian(q, robot.tool_frame)
    near: dict[str, Any] = {"rel": 1e-9, "abs": 1e-9 * max(1.0, float(np.abs(J).max()))}
    assert robot.pose(q).matrix == pytest.approx(X, **near)
    assert robot.jacobian(q) == pytest.approx(J, **near)
    if robot.unresisted:
        return
    M, bias = witness.mass_matrix(q), witness.bias(q, v)
    assert robot.mass_matrix(q) == pytest.approx(M, rel=1e-9, abs=1e-9 * float(np.abs(M).max()))
    assert robot.bias(q, v) == pytest.approx(bias, rel=1e-9, abs=1e-9 * float(np.abs(bias).max()))


@pytest.mark.parametrize("name", [name for name in SAMPLE if name not in REFUSED])
def test_a_public_file_agrees_with_pinocchio_fixed_and_floating(name: str) -> None:
    robot = pp.load_robot(FILES[name])
    assert_same(robot, Witness(FILES[name], robot, floating=False))
    if '<link name="world"' in FILES[name].read_text(errors="replace") or robot.model.jnt_type[0] == 0:
        return  # the root is the ground itself, so that another link floats than Pinocchio's, or floats already
    try:
        floating = robot.with_free_base()
    except InvalidInput as error:
        told = str(error)
    else:
        told = ""
        assert_same(floating, Witness(FILES[name], floating, floating=True))
    assert told == "" or "cannot float" in told or "already moves" in told


# ------------------------------------------------------------------ grippers run

TIED = {"erd/panda_description/urdf/panda.urdf", "erd/panda_description/urdf/panda_collision.urdf"}


@pytest.mark.parametrize("name", [name for name in FILES if (FULL or name in TIED) and name not in REFUSED])
def test_a_public_robot_with_tied_joints_runs(name: str) -> None:
    """Held against gravity by its own model it stays where it starts, followers and all."""
    robot = pp.load_robot(FILES[name])
    if not robot.coordinates.coupled or robot.unresisted:
        assert name not in TIED
        return
    low, high = robot.limits.lower, robot.limits.upper
    bounded = np.isfinite(low) & np.isfinite(high)
    middle = np.where(bounded, np.where(bounded, low, 0) / 2 + np.where(bounded, high, 0) / 2, 0)
    trace = pp.simulate(pp.Run(robot, GravityCompensation(), clock=pp.world.Clock(duration=0.1), q_start=middle))
    assert trace.outcome.kind == "completed"
    assert np.abs(trace["q"] - middle).max() < 1e-6


# ------------------------------------------------------------------ check and loader agree


@pytest.mark.parametrize("name", SAMPLE)
def test_check_ends_with_0_exactly_where_the_file_loads(name: str, capsys) -> None:
    code = main(["check", str(FILES[name])])
    assert code == (2 if name in REFUSED else 0)
    capsys.readouterr()


def spoilt(random: np.random.Generator, text: bytes) -> bytes:
    """A file with one to three words cut, doubled, or replaced by something wild."""
    wild = [b"nan", b"-1", b"0", b"1e9", b"", b"fixed", b"continuous", b"planar", b'"', b"world", b"1,5", b"0 0 0"]
    data = bytearray(text)
    for _ in range(int(random.integers(1, 4))):
        start = int(random.integers(len(data)))
        end = min(len(data), start + int(random.integers(1, 25)))
        match int(random.integers(3)):
            case 0:
                del data[start:end]
            case 1:
                data[start:start] = data[start:end]
            case _:
                data[start:end] = wild[int(random.integers(len(wild)))]
    return bytes(data)


def agree(path: Path) -> bool:
    """Whether the model is usable; fails where check and loader tell different stories, or anything else is raised."""
    report = check_model(path)
    try:
        robot = pp.load_robot(path)
    except PalpateError:
        assert report.errors, "\n".join(map(str, report.findings))
        return False
    assert not report.errors
    assert np.isfinite(robot.jacobian(robot.home)).all()
    if not robot.unresisted:
        still = robot.forward_dynamics(robot.home, np.zeros(robot.nv), robot.gravity(robot.home), losses=False)
        assert np.isfinite(still).all()
    return True


def test_check_and_loader_agree_on_spoilt_urdf_files(tmp_path: Path) -> None:
    random, small = np.random.default_rng(16), [p for p in FILES.values() if p.stat().st_size < 60_000]
    usable = []
    for number in range(300 if FULL else 40):
        path = tmp_path / f"spoilt{number}.urdf"
        path.write_bytes(spoilt(random, small[int(random.integers(len(small)))].read_bytes()))
        usable.append(agree(path))
    assert 0.05 < np.mean(usable) < 0.95


def test_check_and_loader_agree_on_spoilt_mjcf_files(tmp_path: Path) -> None:
    """Each costs a process of its own, so there are few."""
    from palpate.robot.catalogue import model_xml

    random, usable = np.random.default_rng(17), []
    for number in range(60 if FULL else 8):
        path = tmp_path / f"spoilt{number}.xml"
        path.write_bytes(spoilt(random, model_xml(("ur3e", "puma560", "scara")[number % 3]).encode()))
        usable.append(agree(path))
    assert len(usable) > 0


# ------------------------------------------------------------------ the first try


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FILES if name not in REFUSED])
def test_a_public_robot_presses_on_a_wall_at_the_first_try(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """51 of 58 press; one has no arm, six have no masses, and are told so."""
    monkeypatch.chdir(tmp_path)
    answer = main(["new", "mine", "--robot", str(FILES[name])])
    said = capsys.readouterr().err
    if name in KINEMATICS_ONLY:
        assert answer == 2
        assert "needs masses" in said
    elif name == "erd/iris_description/robots/iris.urdf":
        assert answer == 2
        assert "tool move 3 cm straight" in said
    else:
        assert answer == 0
        assert main(["run", "mine.toml", "--no-report", "--quiet"]) == 0
