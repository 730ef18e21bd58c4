"""From a MuJoCo spec to the compiled model a robot computes with, and the notes a spec carries."""

from __future__ import annotations

import contextlib
import ctypes
import warnings
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput, ModelError
from palpate.forking import inherited_free

_DISABLED = (
    mujoco.mjtDisableBit.mjDSBL_CONTACT
    | mujoco.mjtDisableBit.mjDSBL_LIMIT
    | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    | mujoco.mjtDisableBit.mjDSBL_AUTORESET
    | mujoco.mjtDisableBit.mjDSBL_WARMSTART  # results must not depend on earlier calls
)
# Below this share of its largest value M is singular but for rounding: some joints move nothing together.
SINGULAR = 1e-11
# Texts a spec carries: joints that move no mass, and bodies whose mass only stands in for an unknown one.
UNRESISTED, STAND_INS = "unresisted", "stand_ins"
_warning_lock = inherited_free()


@contextlib.contextmanager
def engine_warnings() -> Iterator[list[str]]:
    """Collect MuJoCo's warnings while a model is read and compiled, instead of on the terminal or in a log file."""
    messages: list[str] = []
    with _warning_lock, warnings.catch_warnings(record=True) as caught:  # the engine has one handler for all threads
        warnings.simplefilter("always")
        mujoco.set_mju_user_warning(messages.append)
        try:
            yield messages
        finally:
            mujoco.set_mju_user_warning(None)
            messages += [str(warning.message) for warning in caught]


def name_parts(spec: mujoco.MjSpec) -> mujoco.MjSpec:
    """Give nameless bodies and joints a name: frames and coordinates are looked up by name."""
    for kind, elements in (("body", spec.bodies), ("joint", spec.joints)):
        taken = {element.name for element in elements}
        for number, element in enumerate(elements):
            if not element.name:
                element.name = unused_name(f"{kind}_{number}", taken)
    return spec


def without_gravcomp(spec: mujoco.MjSpec) -> list[str]:
    """Take gravity compensation off a spec's bodies; the names of those that had it.

    The law knows gravity and compensates it: a plant that holds itself up would be held up twice.
    """
    compensated = [body.name for body in spec.bodies if body.gravcomp != 0]
    for body in spec.bodies:
        body.gravcomp = 0.0
    return compensated


def compiled_model(spec: mujoco.MjSpec) -> mujoco.MjModel:
    """The model of a robot alone: no contacts, no limits, no actuators, friction solved to rounding."""
    try:
        with engine_warnings():
            model = spec.copy().compile()
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(f"robot {spec.modelname!r} cannot be compiled: {error}") from error
    if model.nv == 0:
        raise ModelError(f"robot {spec.modelname!r} has no moving joint")
    model.opt.disableflags |= int(_DISABLED)
    # Coulomb friction is solved to rounding: Newton steps converge quadratically, so that the last leaves about 1e-14.
    model.opt.tolerance, model.opt.iterations = 1e-10, 100
    if model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY):
        model.opt.gravity[:] = 0.0
    return model


def note(model: mujoco.MjModel, name: str) -> str | None:
    """A `<text>` of the model, or None."""
    if not isinstance(name, str):  # the engine would read at that address
        raise InvalidInput(f"the name of a note is a text, got {name!r}")
    text_id = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_TEXT, name)
    if text_id < 0:
        return None
    start, size = model.text_adr[text_id], model.text_size[text_id]
    return bytes(model.text_data[start : start + size]).rstrip(b"\0").decode(errors="replace")


def text_lines(model: mujoco.MjModel, name: str) -> tuple[str, ...]:
    """The lines of a `<text>` of the model."""
    return tuple(filter(None, (note(model, name) or "").split("\n")))


def set_note(spec: mujoco.MjSpec, name: str, data: str) -> None:
    """Write a `<text>` of a spec, or delete it where `data` is empty."""
    for text in [text for text in spec.texts if text.name == name]:
        spec.delete(text)
    if data:
        spec.add_text(name=name, data=data)


def unused_name(name: str, taken: Collection[str]) -> str:
    """`name`, with a number behind it if it is taken."""
    number, candidate = 1, name
    while candidate in taken:
        number += 1
        candidate = f"{name}{number}"
    return candidate


def weakest_motion(M: Array) -> tuple[float, Array]:
    """How close a mass matrix is to singular, and the motion it resists least.

    With D = diag(M): the smallest eigenvalue of D^(−½) M D^(−½), which no choice of units changes (1 for a diagonal
    M, 0 where some motion costs no energy), and the joint velocities of that motion, scaled to 1.
    """
    scale = 1 / np.sqrt(np.maximum(np.diag(M), 1e-300))
    values, motions = np.linalg.eigh(scale[:, None] * M * scale)
    motion = scale * motions[:, 0]
    return float(values[0]), motion / np.abs(motion).max()


# ----------------------------------------------------------------------------------------------
# A robot on its way between processes: its description as MJCF text in which no digit is lost.


_EXACT = 17  # digits that hold every float64
_precision_lock = inherited_free()  # the engine has one precision for all threads


@cache
def _library() -> ctypes.CDLL:
    folder = Path(mujoco.__file__).parent
    return ctypes.CDLL(str(next(iter(sorted(folder.glob("libmujoco*")) or sorted(folder.glob("mujoco*.dll"))))))


def exact_xml(spec: mujoco.MjSpec) -> str:
    """A spec as MJCF text that reads back bit by bit."""
    written = spec.copy()
    written.compile()
    with _precision_lock:
        before = _library()._mjPRIVATE__get_xml_precision()
        _library()._mjPRIVATE__set_xml_precision(_EXACT)
        try:
            return written.to_xml()
        finally:
            _library()._mjPRIVATE__set_xml_precision(before)


def robot_again(kind: type, xml: str, name: str, tool: Any, warnings: Sequence[Any], idle: bool) -> Any:
    """The robot of that text."""
    return kind(mujoco.MjSpec.from_string(xml), name=name, tool_frame=tool, warnings=warnings, idle=idle)
