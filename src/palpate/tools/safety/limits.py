"""Permitted contact forces and pressures per body region: a file with edition and source, and the speeds they allow.

None comes with palpate: the openly licensed studies (Behrens et al. 2022, doi 10.3389/frobt.2021.667818; Han et al.
2022, doi 10.3390/s22082996; Park et al. 2019) could not be read in full with their tables where this was written, and
the tables of standards are not free. `template` writes a file to fill in.
"""

from __future__ import annotations

import math
import os
import tomllib
from dataclasses import dataclass

from numpy.typing import ArrayLike

from palpate.config import Config, required, setting
from palpate.errors import InvalidInput
from palpate.files import read_text
from palpate.robot.robot import Robot
from palpate.tools.safety.impact import Partner, reflected_mass


class Region(Config):
    """Permitted force and pressure of one body region."""

    name: str = required("1", "the region, as the source calls it", min_length=1, max_length=80)
    table: str = required("1", "table and row of the source", min_length=1, max_length=80)
    force_clamped: float | None = setting(None, "N", "permitted force where the part is clamped", gt=0)
    force_free: float | None = setting(None, "N", "permitted force where the part can recoil", gt=0)
    pressure_clamped: float | None = setting(None, "Pa", "permitted pressure where the part is clamped", gt=0)
    pressure_free: float | None = setting(None, "Pa", "permitted pressure where the part can recoil", gt=0)
    mass: float | None = setting(None, "kg", "effective mass of the part", gt=0)
    stiffness: float | None = setting(None, "N/m", "effective stiffness of the part", gt=0)


class LimitFile(Config):
    """A file of permitted contact limits."""

    title: str = required("1", "of the source", min_length=1)
    edition: str = required("1", "edition or year", min_length=1)
    source: str = required("1", "where it was published: DOI, number of the standard", min_length=1)
    licence: str = required("1", "under which its numbers may be used", min_length=1)
    region: tuple[Region, ...] = required("1", "the regions", min_length=1)


@dataclass(frozen=True)
class PermittedSpeed:
    """Largest relative speed at which a region's limits are kept, m/s; None where the file has no number for it.

    Attributes:
        region: its name.
        free: by the force, where the part recoils.
        clamped: by the force, where it cannot.
        pressure: by the pressure over the contact area, where the part recoils.
        pressure_clamped: the same where it cannot.
        energy: taken up at the smallest of them, J, in the way that it is the smallest.
        rule: `free` with the mass M/2 + m_L instead of the reflected one.
    """

    region: str
    free: float | None
    clamped: float | None
    pressure: float | None
    pressure_clamped: float | None
    energy: float | None
    rule: float | None


def load_limits(path: str | os.PathLike[str]) -> LimitFile:
    """Read a file of limits; everything that is wrong with it in one message."""
    try:
        data = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{path} is not TOML: {error}") from None
    return LimitFile.model_validate(data)


def permitted_speeds(
    limits: LimitFile, robot: Robot, q: ArrayLike, direction: ArrayLike, area: float | None = None, load: float = 0.0
) -> list[PermittedSpeed]:
    """The speeds that each region's limits allow at a posture along a direction.

    Args:
        limits: the file.
        robot: the arm; its reflected mass with rotors counts.
        q: posture.
        direction: of the contact, world axes.
        area: of the contact, m², for pressures.
        load: carried at the tool's point beyond the model, kg.
    """
    mass = reflected_mass(robot, q, direction, load=load)
    return [_speed(region, mass.with_rotors, mass.rule, area) for region in limits.region]


def _speed(region: Region, mass: float, rule: float, area: float | None) -> PermittedSpeed:
    if region.stiffness is None:
        return PermittedSpeed(region.name, None, None, None, None, None, None)
    free, clamped = Partner(region.mass or math.inf, region.stiffness), Partner(math.inf, region.stiffness)

    def speed(partner: Partner, force: float | None, share: float | None = 1.0) -> float | None:
        return None if force is None or share is None else partner.speed_for_force(mass, force * share)

    speeds = {
        "free": speed(free, region.force_free),
        "clamped": speed(clamped, region.force_clamped),
        "pressure": speed(free, region.pressure_free, area),
        "pressure_clamped": speed(clamped, region.pressure_clamped, area),
    }
    energies = [
        (v, partner.energy(mass, v))
        for v, partner in zip(speeds.values(), (free, clamped, free, clamped))
        if v is not None
    ]
    by_rule = None if region.force_free is None else free.speed_for_force(rule, region.force_free)
    return PermittedSpeed(region.name, **speeds, energy=min(energies)[1] if energies else None, rule=by_rule)


def template() -> str:
    """A file of limits to fill in."""
    return """\
# Permitted contact forces and pressures, with their source. SI units: N, Pa (1 N/cm² = 10 000 Pa), kg, N/m.
title = ""    # of the study or standard
edition = ""  # edition or year
source = ""   # DOI, or number of the standard
licence = ""  # under which its numbers may be used

[[region]]
name = ""            # as the source calls it
table = ""           # table and row of the source
# force_clamped =    # N, where the part cannot recoil
# force_free =       # N, where it can
# pressure_clamped = # Pa
# pressure_free =    # Pa
# mass =             # kg, effective mass of the part
# stiffness =        # N/m, effective stiffness of the part
"""
