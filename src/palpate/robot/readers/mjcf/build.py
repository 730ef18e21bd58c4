"""The robot of an MJCF file that has been found fit: the passive machine, some joints locked, its loops named."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import mujoco

from palpate.errors import ModelError
from palpate.robot.joints.coupling import KinematicLoop, closed_loops
from palpate.robot.joints.locking import lock_joints
from palpate.robot.mechanics.compiled import compiled_model, engine_warnings, name_parts
from palpate.robot.readers.findings import Finding, collision_warning
from palpate.robot.readers.mjcf.reader import MjcfSource
from palpate.robot.readers.passive import make_passive, read_spec
from palpate.robot.readers.xmlfile import Element

if TYPE_CHECKING:
    from palpate.robot.robot import Robot


def build_mjcf(
    path: Path,
    source: MjcfSource,
    lock: Mapping[str, float] | None,
    tool_frame: str | None,
    warnings: Sequence[Finding],
) -> Robot:
    """The robot of an inspected file.

    Raises:
        ModelError: constraints make more than a tree of it (`findings` names each), the engine refuses it, or its mass
            matrix is singular.
    """
    from palpate.robot.robot import Robot

    spec = _passive_spec(path, source.missing)
    range_warnings = lock_joints(spec, compiled_model(spec), lock) if lock else []
    if loops := closed_loops(compiled_model(spec)):
        raise ModelError(f"{path.name} is not a tree", _loop_findings(path, source.root, loops))
    touching = [geom for geom in spec.geoms if geom.contype or geom.conaffinity]
    spheres = sum(geom.name == "tip" or geom.name.startswith("foot_") for geom in touching)  # taken unasked
    contact_warnings = collision_warning(str(path), len(touching) - spheres, "geoms that collide")
    return Robot(spec, name=path.stem, tool_frame=tool_frame, warnings=[*warnings, *contact_warnings, *range_warnings])


def _passive_spec(path: Path, missing: Collection[str]) -> mujoco.MjSpec:
    try:
        with engine_warnings():
            spec = read_spec(str(path), missing)
            make_passive(spec)
    except (ValueError, mujoco.FatalError) as error:
        raise ModelError(f"MuJoCo refuses it: {error}") from error
    return name_parts(spec)


def _loop_findings(path: Path, root: Element | None, loops: Sequence[KinematicLoop]) -> list[Finding]:
    """One error for each closed loop, at the line of its element where that is known."""
    blocks = root.all("equality") if root is not None else []
    elements = [e for block in blocks for e in block.children if e.attributes.get("active") != "false"]
    ties = [e for e in elements if e.tag != "joint"]
    locations = [(e.source.file, e.line, e.label) for e in ties]
    if len(ties) != len(loops):
        locations = [(str(path), 0, "equality")] * len(loops)
    rule = "a closed loop: palpate computes with trees of joints"
    return [
        Finding("error", *location, f"equality {loop.name} {loop.what}", rule, loop.hint)
        for location, loop in zip(locations, loops)
    ]
