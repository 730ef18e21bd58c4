# pyright: basic, reportPossiblyUnboundVariable=false, reportArgumentType=false, reportGeneralTypeIssues=false
"""Programs for a Franka, as its users write them; each runs in a process of its own, with the maker's library.

    python franka_client.py PROGRAM ADDRESS [NUMBER …]

prints one JSON object.
"""

import json
import math
import os
import sys
import time

import numpy as np
import pylibfranka as franka

STIFFNESS = np.array([600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0])  # libfranka's joint impedance example
DAMPING = np.array([50.0, 50.0, 50.0, 50.0, 30.0, 25.0, 15.0])


def reached(address, seconds=3600.0):
    """The robot, as soon as something listens."""
    until = time.monotonic() + seconds  # clock: ends a wait for a server that never comes
    while True:
        try:
            return franka.Robot(address, franka.RealtimeConfig.kIgnore)
        except franka.NetworkException as error:
            if "refused" not in str(error) or time.monotonic() > until:  # clock: as above
                raise
            time.sleep(0.1)  # clock: how often it is tried


def connected(address, force=200.0):
    robot = reached(address)
    robot.set_collision_behavior([200.0] * 7, [200.0] * 7, [force] * 6, [force] * 6)
    return robot


def torques(robot, law, ticks, rate=math.inf):
    """Run a law tau(state, time) for some ticks, its torques changed by at most `rate` a tick; the last state."""
    control, last = robot.start_torque_control(), np.zeros(7)
    for k in range(ticks):
        state, _ = control.readOnce()
        last = last + np.clip(np.array(law(state, 1e-3 * k), dtype=float) - last, -rate, rate)
        command = franka.Torques(last.tolist())
        command.motion_finished = k == ticks - 1
        control.writeOnce(command)
    return state


def matrix(column_major):
    return np.array(column_major).reshape(4, 4).T


def log(R):
    angle = math.acos(min(max((np.trace(R) - 1.0) / 2.0, -1.0), 1.0))
    axis = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return 0.5 * axis if angle < 1e-6 else angle / (2.0 * math.sin(angle)) * axis


def smooth(t, start, duration):
    s = min(max((t - start) / duration, 0.0), 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s)


def speed(t, start, duration):
    s = min(max((t - start) / duration, 0.0), 1.0)
    return 30.0 * s * s * (1.0 - s) ** 2 / duration


def about(state):
    return {
        "q": list(state.q),
        "dq": list(state.dq),
        "theta": list(state.theta),
        "torque": list(state.tau_J),
        "force": list(state.O_F_ext_hat_K),
        "pose": list(state.O_T_EE),
        "success": state.control_command_success_rate,
        "mode": str(state.robot_mode),
    }


def model(address):
    robot = connected(address)
    state, terms = robot.read_once(), robot.load_model()
    return {
        **about(state),
        "mass": terms.mass(state),
        "coriolis": terms.coriolis(state),
        "gravity": terms.gravity(state),
        "jacobian": terms.zero_jacobian(state),
        "m_ee": state.m_ee,
    }


def hold(address, ticks=1000, offset=0.02, wrist=15.0):
    """libfranka's joint impedance example around a posture a little away; `wrist` is the damping of joint 7."""
    robot = connected(address)
    q, damping = np.array(robot.read_once().q), np.append(DAMPING[:6], wrist)

    def law(state, t):
        wanted, rate = q + offset * smooth(t, 0.1, 0.5), offset * speed(t, 0.1, 0.5)
        return STIFFNESS * (wanted - state.q) + damping * (rate - np.array(state.dq))

    state = torques(robot, law, int(ticks))
    return {**about(state), "off": float(np.abs(np.array(state.q) - q - offset).max())}


def press(address, ticks=5000, stiffness=400.0, damping=80.0, threshold=200.0, offset=0.0851):
    """Cartesian impedance along the line of the scenario fr3-wall."""
    robot = connected(address, threshold)
    terms, start = robot.load_model(), matrix(robot.read_once().O_T_EE)
    K, D = np.array([stiffness] * 3 + [20.0] * 3), np.array([damping] * 3 + [5.0] * 3)

    def law(state, t):
        X, J = matrix(state.O_T_EE), np.array(terms.zero_jacobian(state)).reshape(7, 6).T
        goal = start[:3, 3] + [offset * smooth(t, 0.2, 2.5), 0.0, 0.0]
        error = np.concatenate([goal - X[:3, 3], log(start[:3, :3] @ X[:3, :3].T)])
        twist = np.array([offset * speed(t, 0.2, 2.5), 0.0, 0.0, 0.0, 0.0, 0.0])
        return J.T @ (K * error + D * (twist - J @ state.dq)) + terms.coriolis(state)

    return about(torques(robot, law, int(ticks), rate=0.999))


def jump(address, size=5.0):
    """A torque that jumps."""
    robot = connected(address)
    return about(torques(robot, lambda state, t: [0.0] * 6 + [size if t > 0.05 else 0.0], 200))


def lean(address, torque=2.0, joint=6):
    """A steady torque on one joint, until something stops it."""
    robot, ticks = connected(address), 4000
    axis = np.eye(7)[int(joint)]
    return about(torques(robot, lambda state, t: axis * torque * smooth(t, 0.0, 0.1), ticks))


def step(address, size=0.01):
    """Joint positions that jump."""
    robot = connected(address)
    control = robot.start_joint_position_control(franka.ControllerMode.JointImpedance)
    start = robot.read_once().q_d
    for k in range(200):
        state, _ = control.readOnce()
        command = franka.JointPositions([q + (size if k > 50 else 0.0) for q in start])
        command.motion_finished = k == 199
        control.writeOnce(command)
    return about(state)


def moved(address, kind, controller="JointImpedance", ticks=1500):
    """A smooth motion through one of the four motion generators; where it should lead."""
    robot, ticks = connected(address), int(ticks)
    mode = getattr(franka.ControllerMode, controller)
    control = getattr(robot, f"start_{kind}_control")(mode)
    T = 1e-3 * ticks - 0.2
    for k in range(ticks):
        state, _ = control.readOnce()
        if k == 0:
            q, pose = np.array(state.q_d), matrix(state.O_T_EE_c)
        s, rate = smooth(1e-3 * (k + 1), 0.0, T), (smooth(1e-3 * (k + 1), 0.0, T) - smooth(1e-3 * k, 0.0, T)) / 1e-3
        if kind == "joint_position":
            command = franka.JointPositions(list(q + 0.1 * s))
        elif kind == "joint_velocity":
            command = franka.JointVelocities([0.1 * rate] * 7)
        elif kind == "cartesian_pose":
            goal = pose.copy()
            goal[2, 3] -= 0.05 * s
            command = franka.CartesianPose(list(goal.T.ravel()))
        else:
            command = franka.CartesianVelocities([0.0, 0.0, -0.05 * rate, 0.0, 0.0, 0.0])
        command.motion_finished = k == ticks - 1
        control.writeOnce(command)
    state = robot.read_once()
    return {**about(state), "q_start": list(q), "pose_start": list(pose.T.ravel())}


def caught(program, address, *numbers):
    """A program that the robot stops; what its exception says, and whether the robot goes on after recovery."""
    robot = None
    try:
        result = PROGRAMS[program](address, *numbers)
        return {"error": None, **result}
    except franka.ControlException as error:
        text = str(error)
    del robot
    return {"error": text}


def recover(address):
    """Be stopped, recover in the same connection, and move again."""
    robot = connected(address)
    try:
        torques(robot, lambda state, t: [0.0] * 6 + [5.0 if t > 0.02 else 0.0], 100)
    except franka.ControlException as error:
        text = str(error)
    stopped = str(robot.read_once().robot_mode)
    try:
        robot.start_torque_control()
        refused = ""
    except (franka.ControlException, franka.CommandException) as error:
        refused = str(error)
    robot.automatic_error_recovery()
    state = torques(robot, lambda state, t: [0.0] * 7, 50)
    return {"error": text, "stopped": stopped, "refused": refused, **about(state)}


def settings(address):
    """Everything a program may set, and what the robot says of it."""
    robot = franka.Robot(address, franka.RealtimeConfig.kIgnore)
    flange_to_tip = [1.0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0.1, 1.0]
    before = matrix(robot.read_once().O_T_EE)
    robot.set_EE(flange_to_tip)
    robot.set_K(flange_to_tip)
    robot.set_load(0.5, [0.0, 0.0, 0.05], [1e-3, 0, 0, 0, 1e-3, 0, 0, 0, 1e-3])
    robot.set_joint_impedance([1000.0] * 7)
    robot.set_cartesian_impedance([1000.0] * 3 + [100.0] * 3)
    robot.set_collision_behavior([10.0] * 7, [20.0] * 7, [10.0] * 6, [20.0] * 6)
    refused = []
    for wrong in (lambda: robot.set_K([2.0] * 16), lambda: robot.set_joint_impedance([-1.0] * 7)):
        try:
            wrong()
        except franka.CommandException as error:
            refused.append(str(error))
    state = robot.read_once()
    tip = list((before @ [0.0, 0.0, 0.1, 1.0])[:3])
    return {**about(state), "tip": tip, "m_total": state.m_total, "refused": refused, "F_T_EE": list(state.F_T_EE)}


def die(address, after=200):
    """A program that is killed in the middle of a motion."""
    robot = connected(address)
    torques(robot, lambda state, t: os._exit(3) if t > 1e-3 * after else [0.0] * 7, 1000)


def soft_press(address, *turn):
    """Press through the robot's Cartesian impedance: 3000, 3000, 100 N/m along K's axes, K turned by 9 numbers."""
    robot = connected(address)
    frame = np.eye(4)
    frame[:3, :3] = np.array(turn).reshape(3, 3) if turn else np.eye(3)
    robot.set_K(list(frame.T.ravel()))
    robot.set_cartesian_impedance([3000.0, 3000.0, 100.0, 300.0, 300.0, 300.0])
    control = robot.start_cartesian_pose_control(franka.ControllerMode.CartesianImpedance)
    for k in range(2000):
        state, _ = control.readOnce()
        if k == 0:
            start = matrix(state.O_T_EE_c)
        goal = start.copy()
        goal[0, 3] += 0.045 * smooth(1e-3 * (k + 1), 0.0, 1.0)
        command = franka.CartesianPose(list(goal.T.ravel()))
        command.motion_finished = k == 1999
        control.writeOnce(command)
    return {**about(state), "tau_J_d": list(state.tau_J_d), "tau_J": list(state.tau_J), "goal": list(goal.T.ravel())}


def ranges(address):
    """Which values of the settings the robot takes."""
    robot = reached(address)

    def taken(setting, *values):
        try:
            setting(*values)
        except franka.CommandException as error:
            return str(error)
        return True

    inertia = [1e-3, 0, 0, 0, 1e-3, 0, 0, 0, 1e-3]
    return {
        "translation": [taken(robot.set_cartesian_impedance, [k] * 3 + [100.0] * 3) for k in (9.9, 10, 3000, 3001)],
        "rotation": [taken(robot.set_cartesian_impedance, [500.0] * 3 + [k] * 3) for k in (0.9, 1, 300, 301)],
        "joints": [taken(robot.set_joint_impedance, [k] * 7) for k in (-1.0, 0.0, 14250.0, 14251.0)],
        "load": [taken(robot.set_load, m, [0.0] * 3, inertia) for m in (-0.1, 0.0, 3.0, 3.1)],
    }


def halted(address, rate=0.3):
    """A joint velocity, ended by the robot's own stop; the state before and some time after."""
    robot = connected(address)
    control = robot.start_joint_velocity_control(franka.ControllerMode.JointImpedance)
    for k in range(600):
        before, _ = control.readOnce()
        control.writeOnce(franka.JointVelocities([0.0] * 6 + [rate * smooth(1e-3 * (k + 1), 0.0, 0.5)]))
    robot.stop()
    for _ in range(400):
        after = robot.read_once()
    return {"before": about(before), "after": about(after)}


def far(address, distance=11.0):
    """Pose commands that suddenly lie some metres away."""
    robot = connected(address)
    control = robot.start_cartesian_pose_control(franka.ControllerMode.JointImpedance)
    for k in range(200):
        state, _ = control.readOnce()
        if k == 0:
            start = matrix(state.O_T_EE_c)
        goal = start.copy()
        goal[1, 3] += distance if k > 50 else 0.0
        command = franka.CartesianPose(list(goal.T.ravel()))
        command.motion_finished = k == 199
        control.writeOnce(command)
    return about(state)


def bump(address):
    """Be stopped by a touch, and say of collisions: then, after the force is gone, and after the reset."""
    robot = connected(address, 4.0)
    first = robot.read_once()
    before = robot.read_once()
    control = robot.start_cartesian_pose_control(franka.ControllerMode.JointImpedance)
    try:
        for k in range(3000):
            state, _ = control.readOnce()
            if k == 0:
                start = matrix(state.O_T_EE_c)
            goal = start.copy()
            goal[0, 3] += 0.0851 * smooth(1e-3 * (k + 1), 0.0, 1.5)
            control.writeOnce(franka.CartesianPose(list(goal.T.ravel())))
        error = ""
    except franka.ControlException as stopped:
        error = str(stopped)
    robot.set_collision_behavior([200.0] * 7, [200.0] * 7, [200.0] * 6, [200.0] * 6)
    kept = robot.read_once()
    robot.automatic_error_recovery()
    after = robot.read_once()
    return {
        "error": error,
        "dtau": [max(map(abs, state.dtau_J)) for state in (first, before)],
        "collision": [list(state.cartesian_collision) for state in (before, kept, after)],
        "contact": list(kept.cartesian_contact),
        "delbow": [list(state.delbow_c), list(state.ddelbow_c)],
        "tau_J_d": list(state.tau_J_d),
    }


def until(robot, mode):
    """The first state in a mode."""
    while str((state := robot.read_once()).robot_mode) != f"RobotMode.{mode}":
        pass
    return state


def user_stopped(address):
    """Move until a person presses the user stop; what is refused meanwhile; move again after it is released."""
    robot, said = connected(address), {}
    try:
        torques(robot, lambda state, t: [0.0] * 7, 100_000)
    except franka.ControlException as error:
        said["error"] = str(error)
    said["mode"] = str(robot.read_once().robot_mode)
    for name, request in (("move", robot.start_torque_control), ("recovery", robot.automatic_error_recovery)):
        try:
            request()
        except (franka.ControlException, franka.CommandException) as error:
            said[name] = str(error)
    until(robot, "Idle")
    return {**said, "after": about(torques(robot, lambda state, t: [0.0] * 7, 50))}


def guided(address):
    """Watch a hand lead the arm; where it was before and where after."""
    robot = connected(address)
    before = robot.read_once()
    until(robot, "Guiding")
    try:
        robot.start_torque_control()
        refused = ""
    except (franka.ControlException, franka.CommandException) as error:
        refused = str(error)
    state = until(robot, "Idle")
    for _ in range(300):
        after = robot.read_once()
    return {"before": about(before), "let_go": about(state), "after": about(after), "refused": refused}


PROGRAMS = globals()

if __name__ == "__main__":
    name, *words = sys.argv[1:]
    print(
        json.dumps(
            PROGRAMS[name](*(word if word[0].isalpha() or word.count(".") > 1 else float(word) for word in words))
        )
    )
