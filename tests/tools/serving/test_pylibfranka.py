"""The maker's own library as the client, on loopback, in a process of its own."""

from __future__ import annotations

import importlib.util
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from tests.tools.serving.conftest import CLIENT, loopback, patient, serving, with_client

from moments import ENDLESS, to_be_held, wait_until_held
from palpate.cli.main import main
from palpate.robot import load_robot
from palpate.run.build import build
from palpate.run.simulate import simulate
from palpate.run.tangent.loop_poles import poles
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.tools.serving.buttons import Button, Press
from palpate.tools.serving.gripper.fingers import Fingers
from palpate.tools.serving.gripper.gripper import GripperServer
from palpate.trace import load_trace

# All friction is compensated, so that formulas hold.
FREE = ["world.driver.viscous_compensation=1", "world.driver.coulomb_compensation=1"]
WALL = load_scenario("fr3-wall", FREE)


def test_the_clients_model_is_the_scenarios_robot(served):
    said, trace = served(WALL, "model")
    robot, q = load_robot("fr3"), np.array(said["q"])
    terms = robot.terms(q, np.zeros(7))
    links = terms.M - np.diag(robot.model.dof_armature)  # the maker's model is that of the links
    assert np.array(said["mass"]).reshape(7, 7) == pytest.approx(links, abs=1e-9)
    assert np.array(said["gravity"]) == pytest.approx(terms.gravity, abs=1e-5)  # single-precision gravity
    assert pytest.approx(terms.J, abs=1e-9) == np.array(said["jacobian"]).reshape(7, 6).T
    assert pytest.approx(robot.pose(q).matrix, abs=1e-6) == np.array(said["pose"]).reshape(4, 4).T
    assert trace.outcome.kind == "stopped"
    assert trace.outcome.reason == "the client disconnected"


def test_libfrankas_joint_impedance_gains_hold_the_arm_at_rest(served):
    """The gains of its example take the arm 0.02 rad away and hold it there; joint 7's time constant is D/K = 0.3 s."""
    said, trace = served(WALL, "hold", 2500)
    assert said["success"] == 1.0
    assert said["off"] < 5e-5
    assert np.abs(said["dq"]).max() < 1e-4
    assert not trace.warnings
    assert {"tau.client", "tau.gravity", "law.robot_mode"} <= set(trace.channels)
    assert trace["law.robot_mode"].max() == 2.0


@pytest.mark.parametrize("encoders", ["motor", "torque", "gravity"])
def test_an_elastic_arm_tells_both_sides_of_its_gears(served, encoders: str):
    """q is of the scenario's side, θ the motors', τ_J the gears' torque; nothing outside is felt where nothing acts."""
    scenario = WALL.replace(robot__joints="elastic", world__sensors__encoders=encoders)
    said, trace = served(scenario, "hold", 1500)
    K = load_robot("fr3", joints="elastic").joint_stiffness
    last = len(trace.time) - 1
    assert said["theta"] == pytest.approx(trace["motor_q"][last - 20], abs=2e-5)
    bent = np.array(said["torque"]) / K if encoders != "motor" else np.zeros(7)
    assert np.array(said["theta"]) - said["q"] == pytest.approx(bent, abs=1e-6)
    assert said["torque"] == pytest.approx(trace["joint_torque"][last - 20], abs=2e-3)
    assert np.abs(trace["motor_q"] - trace["q"]).max() > 1e-3
    assert np.linalg.norm(said["force"][:3]) < 1.0


def test_a_client_whose_law_sees_the_links_of_an_elastic_arm_shakes_as_predicted(served):
    """libfranka's gains around the links' angles are not collocated: the loop grows, and the robot stops it."""
    scenario = held(15.0).replace(robot__joints="elastic", world__sensors__encoders="link")
    assert poles(scenario, 0.02, finer=False).largest > 1.05
    assert poles(scenario.replace(world__sensors__encoders="motor"), 0.02, finer=False).stable
    said, _ = served(scenario, "caught", "hold", 1500)
    assert "controller_torque_discontinuity" in said["error"]


def test_a_client_presses_on_the_wall_as_the_run_and_the_formula_do(served):
    said, trace = served(WALL, "press")
    run = simulate(WALL)
    K, k = 400.0, 10_000.0
    start = load_robot("fr3").pose(load_robot("fr3").home).position[0]
    formula = K * k / (K + k) * (start + 0.0851 - (0.35 - 0.01))
    force = trace.slice(4.5, 4.9)["contact_force"].mean()  # before the robot holds by itself again
    assert force == pytest.approx(formula, rel=0.01)
    assert force == pytest.approx(run["contact_force"][-1], rel=0.01)
    assert said["force"][0] == pytest.approx(formula, rel=0.01)
    assert not trace.warnings


def test_a_served_arm_has_the_friction_that_its_maker_leaves(served):
    """Friction carries part of the load: less than the springs press, and about what a run of the same arm has."""
    wall = load_scenario("fr3-wall")
    _, trace = served(wall, "press")
    force, run = trace.slice(4.5, 4.9)["contact_force"].mean(), simulate(wall)["contact_force"][-1]
    assert run == pytest.approx(15.16, abs=0.05)
    assert force == pytest.approx(run, abs=1.5)  # friction leaves a band of 6 N; where in it depends on every tick


def held(wrist: float) -> Scenario:
    """What the client's program `hold` does, as a scenario: joint impedance without feed-forward."""
    law = {"law": "joint-impedance", "stiffness": [600, 600, 600, 600, 250, 150, 50]}
    law |= {"damping": [50, 50, 50, 50, 30, 25, wrist], "feed_forward": False}
    reference = {"kind": "joint", "offset": [0.02] * 7, "start": 0.1, "duration": 0.5}
    return WALL.replace(control=law, reference=reference, run__duration=1.5, world__surfaces=[], metrics={})


def test_a_served_run_is_the_run(served):
    """The same law in the client and in the loop: the same joints, to the client's single-precision numbers."""
    _, trace = served(held(15.0), "hold", 1500)
    run = simulate(held(15.0))
    first = int(np.argmax(trace["law.success_rate"] > 0))  # the tick of the client's first command
    assert np.abs(trace["q"][first : first + 1500] - run["q"][:1500]).max() < 1e-6
    assert np.abs(run["q"][-1] - run["q"][0]).min() > 0.01


@pytest.mark.parametrize(("wrist", "stable"), [(120.0, True), (180.0, False)])
def test_run_prediction_and_client_agree_on_stability(served, wrist: float, stable: bool):
    """A damping of joint 7 below and above what its inertia bears at 1 kHz, near 2 J/T = 148 N·m·s/rad."""
    scenario = held(wrist)
    run = simulate(scenario)
    assert any("UNSTABLE" in warning for warning in run.warnings) is not stable
    assert bool(np.ptp(run["tau"][-100:, 6]) < 1e-2) is stable
    said, trace = served(scenario, "caught", "hold", 1500, 0.02, wrist)
    if stable:
        assert said["error"] is None
        assert np.ptp(trace["tau"][-200:-50, 6]) < 1e-2
    else:
        assert "controller_torque_discontinuity" in said["error"]


@pytest.mark.parametrize(
    ("program", "changes", "error"),
    [
        (("jump", 5.0), {}, "controller_torque_discontinuity"),
        (("step", 0.0005), {}, "joint_motion_generator_velocity_discontinuity"),
        (("step", 0.02), {}, "joint_motion_generator_velocity_limits_violation"),
        (("hold", 500), {"world__faults": [{"what": "commands-lost", "at": 0.1, "duration": 0.02}]},
         "communication_constraints_violation"),
        (("lean", 3.0), {"robot__start__q": [0, -0.785, 0, -2.356, 0, 1.571, 2.9]}, "joint_position_limits_violation"),
        (("press", 3000, 800.0, 120.0, 20.0), {}, "cartesian_reflex"),
        (("far",), {}, "cartesian_position_motion_generator_invalid_frame"),
    ],
)  # fmt: skip
def test_a_fault_ends_with_the_makers_error_and_the_next_client_is_served(served, program, changes, error: str):
    with serving(WALL.replace(**changes)) as server:
        said, trace = with_client(server, "caught", *program)
        assert f'["{error}' in said["error"]  # the client adds _flag to one of them
        assert any(error in warning for warning in trace.warnings)
        assert trace["law.robot_mode"][-1] == 4.0
        again, _ = with_client(server, "model")
        assert again["mode"] == "RobotMode.Idle"


def test_nineteen_lost_commands_are_held(served):
    lost = [{"what": "commands-lost", "at": 0.1, "duration": 0.019}]
    said, trace = served(WALL.replace(world__faults=lost), "hold", 400)
    assert trace["law.packets_lost"][-1] == 19
    during = trace.slice(0.101, 0.1175)["tau.client"]
    assert np.ptp(during, axis=0).max() == 0.0
    assert 0.7 < said["success"] <= 1.0


def test_a_stopped_robot_refuses_to_move_until_it_has_recovered(served):
    said, _trace = served(WALL, "recover")
    assert "controller_torque_discontinuity" in said["error"]
    assert (said["stopped"], said["mode"]) == ("RobotMode.Reflex", "RobotMode.Move")
    assert "command not possible in the current mode" in said["refused"]


@pytest.mark.parametrize(
    ("kind", "controller"),
    [
        ("joint_position", "JointImpedance"),
        ("joint_velocity", "CartesianImpedance"),
        ("cartesian_pose", "CartesianImpedance"),
        ("cartesian_velocity", "JointImpedance"),
    ],
)
def test_the_robots_own_controllers_follow_motions(served, kind: str, controller: str):
    said, trace = served(WALL, "moved", kind, controller, 1000)
    assert not [warning for warning in trace.warnings if re.search(r"stopped.*motion", warning)]
    if kind.startswith("joint"):
        assert np.array(said["q"]) == pytest.approx(np.array(said["q_start"]) + 0.1, abs=5e-3)
    else:
        wanted = np.array(said["pose_start"]) - 0.05 * np.eye(16)[14]
        assert np.array(said["pose"]) == pytest.approx(wanted, abs=5e-4)


def test_stop_brakes_a_motion_and_the_arm_holds(served):
    """The way is v² / 2a of the greatest joint deceleration, to what 0.3 rad/s makes of a few ticks."""
    said, trace = served(WALL, "halted")
    before, after = said["before"], said["after"]
    assert before["dq"][6] == pytest.approx(0.3, abs=0.01)
    assert np.abs(after["dq"]).max() < 1e-3
    assert (before["mode"], after["mode"]) == ("RobotMode.Move", "RobotMode.Idle")
    way = 0.3**2 / (2.0 * load_robot("fr3").limits.acceleration[6])
    assert after["q"][6] - before["q"][6] == pytest.approx(way, abs=1e-3)
    assert not [warning for warning in trace.warnings if "stopped the motion" in warning]


def test_what_a_program_sets_is_taken_or_refused(served):
    said, _ = served(WALL, "settings")
    assert np.array(said["pose"])[12:15] == pytest.approx(said["tip"], abs=1e-4)
    assert said["m_total"] == 0.5
    assert [text.split(" command")[0] for text in said["refused"]] == [
        "libfranka: Set EE to K",
        "libfranka: Set Joint Impedance",
    ]


@pytest.mark.parametrize(("turned", "stiffness"), [(False, 3000.0), (True, 100.0)])
def test_setk_turns_the_stiffness(served, turned: bool, stiffness: float):
    """3000, 3000, 100 N/m along K's axes: pressed along base x, a K whose z lies there makes the soft one count."""
    robot, k = load_robot("fr3"), 10_000.0
    R = robot.pose(robot.home).rotation
    turn = R.T @ np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]]) if turned else R.T
    said, trace = served(WALL, "soft_press", *turn.ravel())
    way = robot.pose(robot.home).position[0] + 0.045 - (0.35 - 0.01)
    force = trace.slice(1.8, 1.95)["contact_force"].mean()
    assert force == pytest.approx(stiffness * k / (stiffness + k) * way, rel=0.02)
    assert said["force"][0] == pytest.approx(force, rel=0.02)
    torque = np.array(said["tau_J"]) - load_robot("fr3").gravity(np.array(said["q"]))
    assert np.abs(said["tau_J_d"]).max() > 0.1
    assert np.array(said["tau_J_d"]) == pytest.approx(torque, abs=0.02)


def test_settings_have_the_makers_ranges(served):
    said, _ = served(WALL, "ranges")
    for name, answers in said.items():
        assert answers[1:3] == [True, True], name
        assert all("command rejected: invalid argument" in answers[k] for k in (0, 3)), name


def test_a_collision_is_shown_until_the_robot_is_reset(served):
    said, _ = served(WALL, "bump")
    assert "cartesian_reflex" in said["error"]
    assert max(said["dtau"]) < 50.0  # of a held arm; the first state had 19 000 N·m/s
    before, kept, after = (np.array(flags) for flags in said["collision"])
    assert (before.any(), kept[0], after.any()) == (False, 1.0, False)
    assert not any(said["contact"])
    (velocity, zero), (acceleration, nothing) = said["delbow"]
    assert (zero, nothing) == (0.0, 0.0)
    assert abs(velocity) + abs(acceleration) > 0.0
    assert np.abs(said["tau_J_d"]).max() > 0.1


def test_the_user_stop_ends_a_motion_and_nothing_moves_until_it_is_released(served):
    said, trace = served(WALL, "user_stopped", presses=[Press(Button.STOP, 0.3, 0.4)])
    assert "User Stop pressed" in said["error"]
    assert said["mode"] == "RobotMode.UserStopped"
    assert "command not possible in the current mode" in said["move"]
    assert "User Stop pressed" in said["recovery"]
    assert said["after"]["mode"] == "RobotMode.Move"
    assert trace["law.robot_mode"].max() == 5.0
    assert any("pressed at 0.3" in warning for warning in trace.warnings)


def test_an_arm_is_led_by_hand_and_stays_where_it_is_let_go(served):
    push = [{"name": "hand", "kind": "pulse", "force": [0, 15, 0], "start": 0.2, "duration": 0.3}]
    scenario = WALL.replace(world__surfaces=[], world__pushes=push, metrics={})
    said, trace = served(scenario, "guided", presses=[Press(Button.GUIDE, 0.1, 0.8)])
    before, let_go, after = (np.array(said[name]["q"]) for name in ("before", "let_go", "after"))
    assert "command not possible in the current mode" in said["refused"]
    assert np.abs(let_go - before).max() > 0.05
    brakes = np.abs(said["let_go"]["dq"]) ** 2 / (2.0 * load_robot("fr3").limits.acceleration)
    assert np.abs(after - let_go) == pytest.approx(brakes, abs=5e-3)
    assert np.abs(said["after"]["dq"]).max() < 1e-3
    assert trace["law.robot_mode"].max() == 3.0


def test_the_next_client_does_not_wait_for_the_report_of_the_last(served, tmp_path, monkeypatch, capsys):
    """The writer of pages waits until a second client has been served; were the server to wait too, none would be."""
    monkeypatch.chdir(tmp_path)
    waiting = "import pathlib, sys, time\nwhile not pathlib.Path('go').exists():\n time.sleep(0.01)  # clock: waits\n"
    writing = "from palpate.cli.pages import write_pages\nwrite_pages(pathlib.Path(sys.argv[1]))"
    monkeypatch.setattr("palpate.cli.pages.COMMAND", (sys.executable, "-c", waiting + writing))
    host, pages = loopback(), [Path("runs") / f"fr3-wall-{k}" / "report.html" for k in (1, 2)]

    def two_clients() -> None:
        for _ in range(2):
            subprocess.run([sys.executable, str(CLIENT), "model", host], check=True, capture_output=True)
        there.extend(page.exists() for page in pages)
        Path("go").touch()

    there: list[bool] = []
    clients = threading.Thread(target=two_clients)
    clients.start()
    with patient():
        assert main(["serve", "fr3-wall", "--host", host, "--pace", "client", "--clients", "2", "--quiet"]) == 0
    clients.join(ENDLESS)
    assert there == [False, False]
    assert all(page.exists() for page in pages)
    assert capsys.readouterr().out.endswith("served 2 clients\n")


def test_a_client_that_dies_leaves_its_trace_and_the_next_is_served(served):
    with serving(WALL) as server:
        _, trace = with_client(server, "die")
        assert trace.outcome.reason.startswith(("the client disconnected", "the connection broke"))
        assert trace.time[-1] > 0.2
        assert with_client(server, "model")[0]["mode"] == "RobotMode.Idle"


def test_a_second_program_is_told_at_once_and_the_first_goes_on(served):
    with serving(WALL) as server:
        run = [sys.executable, str(CLIENT)]
        with subprocess.Popen([*run, "hold", server.address[0], "1500"], stdout=subprocess.PIPE) as first:
            link = server.wait(ENDLESS)
            with subprocess.Popen([*run, "model", server.address[0]], stderr=subprocess.PIPE, text=True) as second:
                trace = server.serve(link)
                assert "NetworkException" in second.communicate(timeout=ENDLESS)[1]
            assert b'"success": 1.0' in first.communicate(timeout=ENDLESS)[0]
    assert trace.outcome.reason == "the client disconnected"


def test_exact_contact_is_touched_too(served):
    wall = {"name": "wall", "position": [0.35, 0, 0], "normal": [-1, 0, 0], "contact": "exact", "friction": 0.3}
    scenario = WALL.replace(world__surfaces=[wall])
    _, trace = served(scenario, "press", 3500)
    start = load_robot("fr3").pose(load_robot("fr3").home).position[0]
    assert trace.slice(3.3, 3.45)["contact_force"].mean() == pytest.approx(400 * (start + 0.0851 - 0.34), rel=0.02)


def test_the_command_serves_and_leaves_a_folder_as_a_run_does(served, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    host, folder = loopback(), tmp_path / "served"
    with subprocess.Popen([sys.executable, str(CLIENT), "caught", "jump", host], stdout=subprocess.PIPE) as client:
        options = ["--host", host, "--pace", "client", "--clients", "1", "--no-report", "--out", str(folder)]
        with patient():
            assert main(["serve", "fr3-wall", *options]) == 0
        client.communicate(timeout=ENDLESS)
    said = capsys.readouterr().out
    assert f"serving fr3-wall on {host}:1337" in said
    assert "warning: the robot" in said
    assert said.endswith("served 1 client\n")
    assert {file.name for file in folder.iterdir()} >= {"trace.parquet", "scenario.toml", "metrics.json"}
    trace = load_trace(folder / "trace.parquet")
    assert trace.facts.law == "fci-client"
    assert main(["compare", str(folder), str(folder)]) == 0
    assert main(["report", str(folder)]) == 0


@pytest.mark.parametrize("connected", [False, True])
def test_the_server_ends_with_an_interruption_and_keeps_what_a_client_did(
    served, tmp_path, monkeypatch, connected: bool
):
    monkeypatch.chdir(tmp_path)
    host, waits = (
        loopback(),
        {"palpate.tools.serving.session:PATIENCE": ENDLESS, "palpate.tools.serving.session:GRACE": ENDLESS},
    )
    words = ["serve", "fr3-wall", "--host", host, "--pace", "client", "--no-report"]
    with to_be_held(words, "palpate.tools.serving.session:ClientSession._follow", 500, waits) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("serving fr3-wall")
        client = None
        if connected:
            client = subprocess.Popen([sys.executable, str(CLIENT), "lean", host, "0"], stderr=subprocess.DEVNULL)
            wait_until_held(server)
        server.send_signal(signal.SIGINT)
        said, complaint = server.communicate(timeout=ENDLESS)
    assert server.returncode == (130 if connected else 0), complaint
    if client is not None:
        client.wait(ENDLESS)
        assert load_trace(tmp_path / "runs" / "fr3-wall-1" / "trace.parquet").outcome.kind == "interrupted"
    else:
        assert said.endswith("served 0 clients\n")


def test_the_tutorials_program_is_stopped_and_then_presses(served, tmp_path):
    page = Path(__file__).parents[3] / "docs" / "tutorials" / "6-my-program-meets-a-wall.md"
    program, line = re.findall(r"not run -->\n```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    assert len([text for text in program.splitlines() if text]) < 20
    head, body = program.split("model, start", 1)
    for text, error in ((program, '"cartesian_reflex"'), (head + line + "model, start" + body, "")):
        with serving(WALL) as server:
            code = text.replace("127.0.0.1", server.address[0])
            with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as client:
                trace = server.serve(server.wait(ENDLESS))
                assert error in client.communicate(timeout=ENDLESS)[1]
    assert trace.slice(4.8, 4.95)["contact_force"].mean() == pytest.approx(20.0, rel=0.01)  # without friction


FRANKY = """
import franky, json, sys
robot = franky.Robot(sys.argv[1], realtime_config=franky.RealtimeConfig.Ignore)
refused = []
for setting, values in (
    (robot.set_cartesian_impedance, [5000.0] * 3 + [100.0] * 3),
    (robot.set_joint_impedance, [20000.0] * 7),
):
    try:
        setting(values)
    except franky.CommandException as error:
        refused.append(str(error))
robot.set_guiding_mode([True] * 6, False)
seven, six = [50.0] * 7, [60.0] * 6
robot.set_collision_behavior(seven, seven, seven, seven, six, six, six, six)  # apart for acceleration
gripper = franky.Gripper(sys.argv[1])
grasped = [gripper.homing(), gripper.grasp(0.03, 0.1, 20.0), gripper.is_grasped, gripper.width]
robot.relative_dynamics_factor = 0.2
robot.move(franky.JointMotion([0.1, -0.7, 0.1, -2.3, 0.1, 1.6, 0.8]))
before = robot.current_pose.end_effector_pose.translation
robot.move(franky.CartesianMotion(franky.Affine([0.0, 0.0, 0.03]), franky.ReferenceType.Relative))
after = robot.current_pose.end_effector_pose.translation
gripper.open(0.1)
grasped += [gripper.grasp(0.03, 0.1, 20.0), gripper.is_grasped, gripper.width]
robot.move(franky.CartesianMotion(franky.Affine([0.0, 0.0, -0.02]), franky.ReferenceType.Relative))
grasped.append(gripper.is_grasped)
print(json.dumps([list(robot.current_joint_state.position), list(after - before), refused, grasped]))
"""


@pytest.mark.skipif(importlib.util.find_spec("franky") is None, reason="franky-control is not installed")
def test_franky_moves_the_arm_and_grasps():
    import json

    where = build(WALL).robot.pose([0.1, -0.7, 0.1, -2.3, 0.1, 1.6, 0.8]).position - [0.0, 0.0, 0.03]
    fingers = Fingers(0.03, object_position=tuple(where))
    with serving(WALL) as server, GripperServer(fingers, server.address[0], pace=10.0):
        server.fingers = fingers
        command = [sys.executable, "-c", FRANKY, server.address[0]]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
            trace = server.serve(server.wait(ENDLESS))
            said, complaint = client.communicate(timeout=ENDLESS)
    assert said, complaint
    _, moved, refused, grasped = json.loads(said)
    assert [text.split(" command")[0][11:] for text in refused] == ["Set Cartesian Impedance", "Set Joint Impedance"]
    width = pytest.approx(0.03 - 20.0 / 1e5, abs=1e-5)
    assert grasped == [True, False, False, pytest.approx(0.0, abs=1e-4), True, True, width, True]  # there, not before
    assert fingers.object_position is not None
    np.testing.assert_allclose(fingers.object_position - where, [0.0, 0.0, 0.02], atol=2e-3)  # carried
    assert trace["law.gripper_width"][-1] == width
    assert trace["law.gripper_force"][-1] == pytest.approx(20.0, rel=1e-3)
    assert moved[2] == pytest.approx(-0.03, abs=2e-3)  # the tool's z points down
    assert not [warning for warning in trace.warnings if re.search(r"stopped.*motion", warning)]


@pytest.mark.slow
def test_a_minute_at_one_kilohertz(served):
    """Real time on whatever machine this is: what was late or lost is counted, and memory grows by the record alone."""
    import resource

    with serving(WALL, pace=1.0, duration=70.0) as server:
        with_client(server, "hold", 500)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        said, trace = with_client(server, "caught", "hold", 60_000)
        grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    record = sum(trace[name].nbytes for name in trace)
    assert grown < 1.2 * record + 50e6
    counted = trace["law.packets_lost"][-1] + trace["law.ticks_late"][-1]
    print(f"{len(trace)} ticks, {counted:.0f} lost or late, {grown / 1e6:.0f} MB more, {record / 1e6:.0f} MB recorded")
    if said["error"] is None:
        assert trace.time[-1] > 60.0
    else:  # a machine that is too busy loses twenty in a row, as a robot would
        assert "communication_constraints_violation" in said["error"]
