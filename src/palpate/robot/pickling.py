"""A robot on its way between processes: its description as MJCF text in which no digit is lost."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import mujoco

_EXACT = 17  # digits that hold every float64
_pen = threading.Lock()  # the engine has one precision for all threads


@cache
def _library() -> ctypes.CDLL:
    folder = Path(mujoco.__file__).parent
    return ctypes.CDLL(str(next(iter(sorted(folder.glob("libmujoco*")) or sorted(folder.glob("mujoco*.dll"))))))


def exact_xml(spec: mujoco.MjSpec) -> str:
    """A spec as MJCF text that reads back bit by bit."""
    written = spec.copy()
    written.compile()
    with _pen:
        before = _library()._mjPRIVATE__get_xml_precision()
        _library()._mjPRIVATE__set_xml_precision(_EXACT)
        try:
            return written.to_xml()
        finally:
            _library()._mjPRIVATE__set_xml_precision(before)


def robot_again(kind: type, xml: str, name: str, tool: Any, warnings: Sequence[Any], idle: bool) -> Any:
    """The robot of that text."""
    return kind(mujoco.MjSpec.from_string(xml), name=name, tool_frame=tool, warnings=warnings, idle=idle)
