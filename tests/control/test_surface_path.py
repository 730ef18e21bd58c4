"""Paths on surfaces: on them, at constant speed, turning with them, pressed along their normal."""

from __future__ import annotations

import numpy as np
import pytest

from palpate.control.law import Target, sizes_of
from palpate.control.references.surface_path import SurfacePath
from palpate.errors import InvalidInput, ScenarioError, UnknownName
from palpate.metrics import evaluate
from palpate.robot import load_robot
from palpate.run.simulate import simulate
from palpate.scenario.file.load import load_scenario
from palpate.scenario.reference import placed
from palpate.spatial import matrix_from_quat
from palpate.world.config import Motion, Surface, World

ROBOT = load_robot("iiwa14")
START = ROBOT.pose(ROBOT.home)
TILT = (0.9, 0.1, -0.3, 0.2)  # normalised below
QUAT = tuple(np.array(TILT) / np.linalg.norm(TILT))
CENTRE = tuple(START.position + np.array([0.05, -0.1, -0.25]))
WAYS = {
    "plane": SurfacePath(position=CENTRE, quat_wxyz=QUAT, direction=(1, 0.3, 0), length=0.2, press=7.0),
    "cylinder": SurfacePath(
        shape="cylinder", position=CENTRE, quat_wxyz=QUAT, radius=0.2, direction=(1, 0.3, 0.2), length=0.2, press=7.0
    ),
    "sphere": SurfacePath(
        shape="sphere", position=CENTRE, radius=0.2, direction=(1, 0.3, 0.2), length=0.2, press=7.0, start=0.3
    ),
}


def targets(reference: SurfacePath, times: np.ndarray) -> dict[str, np.ndarray]:
    return Target.columns(reference.sample(times, ROBOT, ROBOT.home), sizes_of(ROBOT))


def distance(reference: SurfacePath, p: np.ndarray) -> np.ndarray:
    local = (p - np.array(reference.position)) @ matrix_from_quat(reference.quat_wxyz)
    if reference.shape == "plane":
        return local[:, 2]
    return np.linalg.norm(local if reference.shape == "sphere" else local[:, :2], axis=1)


@pytest.mark.parametrize("shape", WAYS)
def test_the_tool_keeps_its_distance_from_the_surface(shape) -> None:
    times = np.linspace(0, WAYS[shape].end + 0.2, 200)
    away = distance(WAYS[shape], targets(WAYS[shape], times)["position"])
    assert np.ptp(away) < 1e-13
    assert targets(WAYS[shape], np.zeros(1))["position"][0] == pytest.approx(START.position)


@pytest.mark.parametrize("shape", WAYS)
def test_twist_and_acceleration_are_derivatives_of_the_pose(shape) -> None:
    """Central differences, away from the corners of the speed; angular rates from the turned frame."""
    h, times = 1e-5, WAYS[shape].start + np.array([0.1, 1.0, 2.2, WAYS[shape].end - WAYS[shape].start - 0.1])
    here, before, after = (targets(WAYS[shape], t) for t in (times, times - h, times + h))
    rate = (after["position"] - before["position"]) / (2 * h)
    np.testing.assert_allclose(here["twist"][:, :3], rate, atol=1e-9)
    np.testing.assert_allclose(here["acceleration"], (after["twist"] - before["twist"]) / (2 * h), atol=1e-9)
    for k in range(len(times)):
        R = [matrix_from_quat(x["quat_wxyz"][k]) for x in (before, here, after)]
        spin = (R[2] - R[0]) / (2 * h) @ R[1].T
        assert [spin[2, 1], spin[0, 2], spin[1, 0]] == pytest.approx(here["twist"][k, 3:], abs=1e-9)


@pytest.mark.parametrize("shape", WAYS)
def test_the_speed_on_the_surface_is_constant_and_the_length_is_walked(shape) -> None:
    """A point of the parallel surface through the tool, taken down to the surface itself along the normal."""
    way = WAYS[shape]
    times = np.linspace(way.start, way.end, 4001)
    found = targets(way, times)
    normal = found["wrench"][:, :3] / 7.0
    down = distance(way, found["position"])[0] - way.radius
    feet = found["position"] - down * normal
    speed = np.linalg.norm(np.diff(feet, axis=0), axis=1) / np.diff(times)
    steady = (times[1:] > way.start + 0.21) & (times[1:] < way.end - 0.21)
    np.testing.assert_allclose(speed[steady], 0.05, rtol=1e-6)
    assert np.linalg.norm(np.diff(feet, axis=0), axis=1).sum() == pytest.approx(0.2, rel=1e-6)


@pytest.mark.parametrize("shape", WAYS)
def test_the_wanted_force_is_along_the_outward_normal_and_the_tool_turns_with_it(shape) -> None:
    way, times = WAYS[shape], np.linspace(0.0, WAYS[shape].end, 50)
    found = targets(way, times)
    h, n = 1e-6, found["wrench"][:, :3] / 7.0
    np.testing.assert_allclose(np.linalg.norm(n, axis=1), 1.0, atol=1e-13)
    outward = (distance(way, found["position"] + h * n) - distance(way, found["position"])) / h
    np.testing.assert_allclose(outward, 1.0, atol=1e-6)
    in_tool = [matrix_from_quat(q).T @ x for q, x in zip(found["quat_wxyz"], n)]
    np.testing.assert_allclose(in_tool, np.tile(in_tool[0], (50, 1)), atol=1e-12)


def test_the_press_rises_over_its_ramp_beside_the_given_wrench() -> None:
    data = WAYS["plane"].model_dump() | {"press_ramp": 2.0, "wrench": {"value": (1.0, 0, 0, 0, 0, 0.5)}}
    found = targets(SurfacePath.model_validate(data), np.array([0.0, 1.0, 3.0]))["wrench"]
    n = matrix_from_quat(QUAT)[:, 2]
    np.testing.assert_allclose(found[:, :3], np.outer([0, 3.5, 7.0], n) + np.array([1.0, 0, 0]), atol=1e-12)
    assert found[:, 5] == pytest.approx(0.5)


def test_a_named_surface_is_looked_up_in_the_world() -> None:
    wall = Surface(name="pipe", shape="cylinder", size=(0.2, 0.5), position=CENTRE, quat_wxyz=QUAT)
    named = WAYS["cylinder"].model_copy(update={"surface": "pipe", "shape": "plane", "radius": 0.0})
    found = placed(named, World(surfaces=(wall,)))
    times = np.linspace(0, 3, 9)
    one, two = (r.sample(times, ROBOT, ROBOT.home) for r in (found, WAYS["cylinder"]))
    np.testing.assert_allclose(one, two, atol=1e-12)
    with pytest.raises(UnknownName, match="surface"):
        placed(named, World())
    for odd, words in (({"shape": "box", "size": (1, 1, 1)}, "is a box"), ({"motion": Motion()}, "moves")):
        with pytest.raises(InvalidInput, match=words):
            placed(named, World(surfaces=(Surface.model_validate(wall.model_dump() | odd),)))
    with pytest.raises(InvalidInput, match=r"known.*'s world only"):
        named.sample(times, ROBOT, ROBOT.home)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shape": "cylinder"}, "needs.*radius"),
        ({"ease": 9.0}, "speeding.*9.*longer.*4.*way"),
    ],
)
def test_paths_that_cannot_be_are_refused(change, words) -> None:
    with pytest.raises(InvalidInput, match=words):
        SurfacePath(**(WAYS["plane"].model_dump(exclude={"wrench"}) | change))


def test_a_direction_away_from_the_surface_is_refused() -> None:
    up = WAYS["plane"].model_copy(update={"direction": tuple(matrix_from_quat(QUAT)[:, 2])})
    with pytest.raises(InvalidInput, match=r"not lead.*surface"):
        up.sample(np.zeros(1), ROBOT, ROBOT.home)


def test_a_ur10e_polishes_a_cylinder_to_a_third_of_a_newton() -> None:
    """20 N, 50 mm/s, 500 Hz, 4 ms late, 0.3 N of noise; the arm, the pipe and the path are one TOML file."""
    scenario = load_scenario("ur10e-polish")
    trace = simulate(scenario)
    found = {result.name: result for result in evaluate(trace, scenario.metrics)}
    assert found["force_error_rms"].passed
    assert trace.warnings == ()
    normal = trace["target_wrench"][:, :3] / 20.0
    force = (trace["contact_wrench"][:, :3] * normal).sum(axis=1)
    assert np.sqrt(((force - 20.0) ** 2).mean()) < 0.3
    polishing = (trace.time > 1.5) & (trace.time < 4.0)
    assert np.abs(force[polishing] - 20.0).max() < 0.5
    on_pipe = np.linalg.norm(trace["tool_twist"][polishing, :3], axis=1) * 0.2 / (0.21 - 0.002)
    assert on_pipe == pytest.approx(0.05, rel=0.01)


def test_a_scenario_names_a_surface_that_is_not_there_at_its_line() -> None:
    with pytest.raises(ScenarioError, match=r"reference: .*surface 'tube'"):
        load_scenario("ur10e-polish", ["reference.surface=tube"])


# ------------------------------------------------------------------------------------------------ on a height field

SIDE, RADIUS = 0.4, 0.5


def on_field(kind: str, count: int = 41, **settings) -> SurfacePath:
    """A path on the cap of a ball or the back of a cylinder, sampled as heights, below the tool's start."""
    x = np.linspace(-SIDE / 2, SIDE / 2, count)
    rise = x[None, :] ** 2 + (x[:, None] ** 2 if kind == "sphere" else 0 * x[:, None])
    place = tuple(START.position - np.array([0.03, -0.02, 0.02]))
    heights = tuple(map(tuple, (np.sqrt(RADIUS**2 - rise) - RADIUS).tolist()))
    part = Surface(name="part", shape="height-field", size=(SIDE, SIDE), heights=heights, position=place)
    given = {"direction": (1, 0.3, 0), "length": 0.15, "press": 7.0, **settings}
    return placed(SurfacePath(surface="part", **given), World(surfaces=(part,)))  # pyright: ignore[reportReturnType]


def of_shape(kind: str) -> SurfacePath:
    """The same path on the shape itself; a cylinder's axis is z, here turned along y."""
    centre = START.position - np.array([0.03, -0.02, 0.02 + RADIUS])
    turn = (1, 0, 0, 0) if kind == "sphere" else (np.sqrt(0.5), -np.sqrt(0.5), 0, 0)
    given = {"direction": (1, 0.3, 0), "length": 0.15, "press": 7.0, "radius": RADIUS, "quat_wxyz": turn}
    return SurfacePath(shape=kind, position=tuple(centre), **given)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("kind", ["sphere", "cylinder"])
def test_a_path_on_a_sampled_shape_is_the_one_on_the_shape(kind) -> None:
    times = np.linspace(0, of_shape(kind).end, 40)
    found, expected = targets(on_field(kind), times), targets(of_shape(kind), times)
    for name, error in {"position": 1e-7, "quat_wxyz": 1e-5, "twist": 5e-5, "wrench": 1e-4}.items():
        np.testing.assert_allclose(found[name], expected[name], atol=error, err_msg=name)
    np.testing.assert_allclose(found["acceleration"], expected["acceleration"], atol=1e-3)  # has the third derivative


def test_twist_and_acceleration_on_a_height_field_are_derivatives_of_the_pose() -> None:
    path, h = on_field("sphere", 15), 1e-5
    times = np.array([0.1, 1.0, 2.2, path.end - 0.1])
    here, before, after = (targets(path, t) for t in (times, times - h, times + h))
    np.testing.assert_allclose(here["twist"][:, :3], (after["position"] - before["position"]) / (2 * h), atol=1e-8)
    np.testing.assert_allclose(here["acceleration"], (after["twist"] - before["twist"]) / (2 * h), atol=2e-5)
    turn = [matrix_from_quat(b) @ matrix_from_quat(a).T for a, b in zip(before["quat_wxyz"], after["quat_wxyz"])]
    rate = [np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / (4 * h) for R in turn]
    np.testing.assert_allclose(here["twist"][:, 3:], rate, atol=1e-7)


def test_the_speed_on_a_height_field_is_constant_on_the_surface_itself() -> None:
    """The foot of the tool, which is some 2 cm away, moves at the speed; the tool itself faster, round the cap."""
    path = on_field("sphere")
    t = np.linspace(0.5, 2.5, 20)
    row = targets(path, t)
    speed = np.linalg.norm(row["twist"][:, :3], axis=1)
    from_centre = float(np.linalg.norm([0.03, 0.02, RADIUS + 0.02]))
    np.testing.assert_allclose(speed, 0.05 * from_centre / RADIUS, rtol=1e-5)
    assert np.ptp(speed) < 1e-6


def test_a_path_over_the_edge_of_a_height_field_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"leaves.*height.*0\.18"):
        targets(on_field("sphere", length=0.5), np.zeros(1))
    with pytest.raises(InvalidInput, match=r"not lead.*surface"):
        targets(on_field("sphere", direction=(0, 0, 0)), np.zeros(1))
