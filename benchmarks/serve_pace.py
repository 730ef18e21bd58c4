"""A served arm in real time beside four busy programs: share of the maker's client's commands that arrive in time."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from contextlib import ExitStack

import numpy as np

import palpate as pp
from benchmarks import Measurement
from palpate.tools.serving.server import Server

HOST, SECONDS, BUSY = "127.83.1.7", 10, 4
CLIENT = """
import sys
import pylibfranka as franka
robot = franka.Robot(sys.argv[1], franka.RealtimeConfig.kIgnore)
control, ticks = robot.start_torque_control(), int(sys.argv[2])
for k in range(ticks):
    state, _ = control.readOnce()
    command = franka.Torques([-2.0 * v for v in state.dq])
    command.motion_finished = k == ticks - 1
    control.writeOnce(command)
"""


def measure() -> list[Measurement]:
    """Success rate and late ticks; nothing where the maker's client is not installed."""
    if importlib.util.find_spec("pylibfranka") is None:
        return []
    with ExitStack() as stack:
        server = stack.enter_context(Server(pp.load_scenario("fr3-wall"), host=HOST, pace=1.0))
        for _ in range(BUSY):
            program = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(program.wait)
            stack.callback(program.kill)
        client = stack.enter_context(subprocess.Popen([sys.executable, "-c", CLIENT, HOST, str(1000 * SECONDS)]))
        trace = server.serve(server.wait())
        client.wait()
    moving = trace["law.robot_mode"] == 2.0
    lost, late = trace["law.packets_lost"][-1], trace["law.ticks_late"][-1]
    return [
        Measurement(f"commands in time, {BUSY} busy programs beside", 1.0 - lost / np.sum(moving), "1", 0.99, True),
        Measurement("ticks that began more than 1 ms late", late / np.sum(moving), "1"),
    ]
