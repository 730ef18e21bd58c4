"""Kinds of command that a law can give."""

from __future__ import annotations

from typing import Literal

CommandKind = Literal["torque", "acceleration", "velocity", "position"]
COMMANDS: tuple[CommandKind, ...] = ("torque", "acceleration", "velocity", "position")
