"""The file of fitted values: a scenario's robot and plant, and facts with grade, interval and the log's hash."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from palpate.errors import InvalidInput
from palpate.toml import toml_text
from palpate.tools.logs.columns import Log
from palpate.tools.logs.identify import Identification
from palpate.tools.logs.model import pseudo_inertia, tensor
from palpate.tools.logs.rollout import millimetres

_FACTS = {"rotor": "rotor_inertia", "viscous": "viscous_friction", "coulomb": "coulomb_friction"}


def fitted_text(log: Log, result: Identification, model: str) -> str:
    """TOML of the identified model.

    Raises:
        InvalidInput: it was not judged, or does not beat the nominal model in held-out rollouts.
    """
    judged = result.judgement
    if judged is None:
        raise InvalidInput(
            "nothing was written: the fitted model was not judged by held-out rollouts",
            hint="record runs of more than 7 s, and leave out --no-rollouts",
        )
    if not result.beats_nominal:
        told = "; ".join(
            f"{h:g} s: {millimetres(a)} mm, nominal {millimetres(b)} mm"
            for h, a, b in zip(judged.horizons, judged.errors["identified"], judged.errors["nominal"])
        )
        raise InvalidInput(
            f"nothing was written: the fitted model does not beat the nominal one in held-out rollouts ({told});"
            f" {judged.floor_sentence}",
            hint=f"torques at a higher rate than {1 / result.motion.period:.3g} Hz, or of the motor side, tell more",
        )
    data: dict[str, Any] = {
        "robot": {"model": model, "joints": "ideal"} | _payload(result),
        "world": {"plant": _plant(result)},
    }
    data["log"] = {"file": os.path.basename(log.source), "sha256": log.sha256, "filter": str(result.motion.filter)}
    data["judged"] = {"horizons": list(judged.horizons)} | {k: [float(x) for x in v] for k, v in judged.errors.items()}
    data["fact"] = _facts(log, result)
    return toml_text(data)


def _payload(result: Identification) -> dict[str, Any]:
    load = result.identified[:10]
    mass = float(load[0])
    if not np.any(load):
        return {}
    if mass < 0:
        return {}  # a welded body that is not whole: `_plant` scales it
    com = load[1:4] / mass
    about = tensor(load[4:]) - mass * (com @ com * np.eye(3) - np.outer(com, com))
    if np.linalg.eigvalsh(pseudo_inertia(load))[0] < -1e-9:
        about = np.zeros((3, 3))
    entries = [*np.diag(about), about[0, 1], about[0, 2], about[1, 2]]
    payload = {"mass": mass, "com": com.tolist(), "inertia": [float(x) for x in entries], "frame": result.arm.frame}
    return {"payload": payload}


def _plant(result: Identification) -> dict[str, Any]:
    names = {"viscous": "joint_damping", "coulomb": "joint_friction", "rotor": "rotor_inertia"}
    plant: dict[str, Any] = {
        to: [float(x) for x in result.identified[result.arm.columns(kind)]] for kind, to in names.items()
    }
    mass = float(result.identified[0])
    if mass < 0:
        name, body = max(result.arm.welded.items(), key=lambda one: one[1][0])
        plant["link_mass_scale"] = {name: 1.0 + mass / float(body[0])}
    return plant


def _facts(log: Log, result: Identification) -> list[dict[str, Any]]:
    """One fact per kind of joint quantity, for the joints that have an interval; as a catalogue's facts are written."""
    facts, arm = [], result.arm
    for kind, quantity in _FACTS.items():
        told = [(joint, result.quantities.get(f"{kind} {joint}")) for joint in arm.robot.dof_names]
        known = [(joint, q) for joint, q in told if q is not None and not q.reason]
        if not known:
            continue
        identified = result.identified[arm.columns(kind)]
        values = [float(identified[arm.robot.dof_names.index(joint)]) for joint, _ in known]
        facts.append({
            "quantity": quantity,
            "joints": [joint for joint, _ in known],
            "values": values,
            "low": [min(max(q.low, 0.0), x) for x, (_, q) in zip(values, known)],
            "high": [max(q.high, x) for x, (_, q) in zip(values, known)],
            "grade": "identified",
            "source": f"palpate log of {os.path.basename(log.source)}, sha256 {log.sha256}",
        })  # fmt: skip
    return facts
