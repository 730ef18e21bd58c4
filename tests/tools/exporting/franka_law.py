# pyright: basic, reportPossiblyUnboundVariable=false, reportArgumentType=false, reportGeneralTypeIssues=false
"""A program with the maker's library whose torques are the exported law's: franka_law.py LIBRARY VECTORS ADDRESS."""

import ctypes
import json
import sys

import numpy as np

from tools.serving.franka_client import connected, franka


def numbers(values):
    array = np.array(values, dtype=float)
    return array, array.ctypes.data_as(ctypes.c_void_p)


def main(library, vectors, address):
    law = ctypes.CDLL(library)
    law.tick.argtypes = [ctypes.c_double, *[ctypes.c_void_p] * 7]
    law.hold.argtypes = [ctypes.c_void_p] * 3
    head = np.fromfile(vectors, dtype="<i8", count=4)
    rows = np.fromfile(vectors, dtype="<f8")[4:].reshape(head[0], -1)[:, : head[1] // 8].copy()
    robot, torque = connected(address), np.zeros(7)
    state, position = robot.read_once(), np.zeros(3)
    assert law.begin() == 0
    law.hold(numbers(state.q)[1], numbers(state.O_T_EE)[1], numbers(position)[1])
    control, codes = robot.start_torque_control(), []
    for k, row in enumerate(rows):
        state, duration = control.readOnce()
        kept = [numbers(x) for x in (state.q, state.dq, state.tau_J, state.tau_J_d, state.O_F_ext_hat_K)]
        seconds = duration.to_sec() if k else 0.0
        codes.append(law.tick(seconds, row.ctypes.data, *(pointer for _, pointer in kept), torque.ctypes.data))
        command = franka.Torques(torque.tolist())
        command.motion_finished = k == len(rows) - 1
        control.writeOnce(command)
    print(json.dumps({"force": list(state.O_F_ext_hat_K), "codes": sorted(set(codes)), "q": list(state.q)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
