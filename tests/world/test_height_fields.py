"""Surfaces as height fields: held against the spheres, cylinders and planes they are sampled from."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.control import GravityCompensation, PythonLaw
from palpate.errors import FileError, InvalidInput, ScenarioError
from palpate.scenario.file.load import load_scenario
from palpate.spatial.height_field import _newton_step, heights_on, packed_heights, tightest_hollow
from palpate.spatial.shapes import SHAPES
from palpate.world.config import FreeObject
from palpate.world.surfaces.forms import drawn_mesh, form_of

R, LONG = 0.3, 0.24  # radius, and length of the field
IDLE = PythonLaw(lambda tick, gains, memory: {"torque": 0.0 * tick.v})
HEIGHTS = {
    "sphere": lambda x, y: np.sqrt(R**2 - x**2 - y**2) - R,
    "cylinder": lambda x, y: np.sqrt(R**2 - x**2) - R + 0 * y,
    "tilted": lambda x, y: 0.3 * x - 0.2 * y + 0.01,
}


def field(kind: str, count: int, **settings: Any) -> pp.world.Surface:
    x = np.linspace(-LONG / 2, LONG / 2, count)
    heights = HEIGHTS[kind](x[None, :], x[:, None])
    return pp.world.Surface(
        shape="height-field", size=(LONG, LONG), heights=tuple(map(tuple, heights.tolist())), **settings
    )


def truth(kind: str, p: np.ndarray) -> tuple[float, np.ndarray]:
    """Distance and normal of the surface that was sampled."""
    if kind == "tilted":
        n = np.array([-0.3, 0.2, 1.0]) / np.sqrt(1.13)
        return float(n @ (p - [0, 0, 0.01])), n
    out = p + np.array([0, 0, R]) if kind == "sphere" else np.array([p[0], 0.0, p[2] + R])
    return float(np.linalg.norm(out)) - R, out / np.linalg.norm(out)


def distance(surface: pp.world.Surface, p: np.ndarray) -> tuple[float, np.ndarray]:
    normal = np.zeros(3)
    return SHAPES[surface.shape].distance(form_of(surface), p, normal), normal


def near(kind: str, count: int = 60) -> list[np.ndarray]:
    """Points up to 2 cm below and 5 cm above the middle of the surface."""
    random, found = np.random.default_rng(5), []
    for _ in range(count):
        x, y = random.uniform(-0.06, 0.06, 2)
        foot = np.array([x, y, HEIGHTS[kind](x, y)])
        found.append(foot + random.uniform(-0.02, 0.05) * truth(kind, foot)[1])
    return found


def worst(kind: str, count: int) -> tuple[float, float]:
    gaps, turns = [], []
    for p in near(kind):
        gap, n = distance(field(kind, count), p)
        expected, normal = truth(kind, p)
        gaps.append(abs(gap - expected))
        turns.append(float(np.linalg.norm(n - normal)))
    return max(gaps), max(turns)


@pytest.mark.parametrize("kind", ["sphere", "cylinder"])
def test_depth_and_normal_become_those_of_the_sampled_surface_with_fourth_and_third_order(kind):
    coarse, fine = worst(kind, 13), worst(kind, 49)  # a quarter of the step
    assert fine[0] < 1e-8  # m
    assert fine[1] < 5e-6
    assert coarse[0] / fine[0] > 4**3.5
    assert coarse[1] / fine[1] > 4**2.5


def test_a_tilted_plane_is_exact():
    gap, turn = worst("tilted", 5)
    assert gap < 1e-15
    assert turn < 1e-14


def test_the_spline_repeats_cubics_exactly_with_its_derivatives():
    x, y = np.linspace(-0.3, 0.3, 7), np.linspace(-0.2, 0.2, 6)
    cubic = lambda x, y: 1 + 2 * x - y + 3 * x * y + x**3 - 2 * x**2 * y + 5 * y**3  # noqa: E731
    form = packed_heights((0.6, 0.4), cubic(x[None, :], y[:, None]))
    at, to = np.array([-0.27, 0.01, 0.3]), np.array([-0.2, 0.13])
    X, Y = np.meshgrid(at, to)
    assert heights_on(form, at, to) == pytest.approx(cubic(X, Y), abs=1e-14)
    assert heights_on(form, at, to, 1, 0) == pytest.approx(2 + 3 * Y + 3 * X**2 - 4 * X * Y, abs=1e-12)
    assert heights_on(form, at, to, 1, 1) == pytest.approx(3 - 4 * X, abs=1e-11)
    assert heights_on(form, at, to, 0, 2) == pytest.approx(30 * Y, abs=1e-10)


def test_the_search_for_the_nearest_place_takes_newtons_step_with_the_whole_second_derivative():
    """−H⁻¹ g of ½|p − (u, v, h)|² by differences, on a twisted surface, where ∂²h/∂x∂y is large."""
    x = np.linspace(-0.3, 0.3, 13)
    form, p, d = packed_heights((0.6, 0.6), 2 * x[None, :] * x[:, None]), np.array([0.05, -0.04, 0.2]), 1e-4

    def half_square(u, v):
        h = heights_on(form, np.array([u]), np.array([v]))[0, 0]
        return 0.5 * float((p - [u, v, h]) @ (p - [u, v, h]))

    def slope(u, v):
        return np.array([half_square(u + d, v) - half_square(u - d, v), half_square(u, v + d) - half_square(u, v - d)])

    at, steps = (0.03, 0.02), d * np.eye(2)
    H = np.column_stack([slope(*(at + e)) - slope(*(at - e)) for e in steps]) / (4 * d * d)
    assert abs(H[0, 1]) > 0.3
    assert _newton_step(form, p, *at) == pytest.approx(-np.linalg.solve(H, slope(*at) / (2 * d)), rel=1e-5)


def test_the_normal_is_the_gradient_of_the_distance_also_beside_and_at_the_edges():
    surface, h = field("sphere", 20), 1e-6
    random = np.random.default_rng(2)
    for p in random.uniform(-0.2, 0.2, (150, 3)) * [1, 1, 0.3]:
        _, n = distance(surface, p)
        gradient = [(distance(surface, p + h * e)[0] - distance(surface, p - h * e)[0]) / (2 * h) for e in np.eye(3)]
        assert np.linalg.norm(n) == pytest.approx(1, abs=1e-12)
        assert n == pytest.approx(np.array(gradient), abs=2e-5)


def test_the_distance_is_that_to_the_nearest_place_of_the_block():
    """Samples of the top and of its walls; below the top and beside the walls it is a solid."""
    surface = field("sphere", 20)
    grid = np.linspace(-LONG / 2, LONG / 2, 241)
    X, Y = np.meshgrid(grid, grid)
    top = np.column_stack([X.ravel(), Y.ravel(), heights_on(form_of(surface), grid, grid).ravel()])
    random = np.random.default_rng(3)
    for p in random.uniform(-0.2, 0.2, (200, 3)) * [1, 1, 0.2]:
        gap, _ = distance(surface, p)
        nearest = float(np.sqrt(((top - p) ** 2).sum(axis=1).min()))
        inside = np.abs(p[:2]).max() < LONG / 2
        x, y = np.clip(p[:2], -LONG / 2, LONG / 2)
        under = p[2] < heights_on(form_of(surface), np.array([x]), np.array([y]))[0, 0]
        wall = LONG / 2 - np.abs(p[:2]).max() if inside and under else np.inf
        if not inside and under:
            assert gap == pytest.approx(np.linalg.norm(np.maximum(np.abs(p[:2]) - LONG / 2, 0)), abs=1e-15)
        else:
            assert abs(gap) <= min(nearest, wall) + 1e-9
            assert abs(gap) >= min(nearest - 1e-3, wall) - 1e-12
            assert (gap < 0) == bool(inside and under)


def test_a_hollow_is_as_tight_as_the_bowl_it_is_sampled_from():
    x = np.linspace(-0.1, 0.1, 41)
    bowl = packed_heights((0.2, 0.2), R - np.sqrt(R**2 - x[None, :] ** 2 - x[:, None] ** 2))
    assert tightest_hollow(bowl) == pytest.approx(R, rel=1e-3)
    assert tightest_hollow(form_of(field("sphere", 20))) == np.inf


# ------------------------------------------------------------------------------------------------ in the loop


def drop(
    surface: pp.world.Surface, *, radius: float = 0.02, height: float = 0.01, at: float = 0.03, duration: float = 1.0
):
    """A ball of 1 kg let go above a place of a surface that lies below the arm."""
    place = (2.0 + at, 0.01, -1.0 + radius + height)
    ball = FreeObject(name="ball", size=(radius,), mass=1.0, position=place)
    world = pp.World(surfaces=(surface,), objects=(ball,), gravity=(0, 0, -9.81))
    clock = pp.world.Clock(duration=duration, timestep=2e-4, integrator="rk4")
    return pp.simulate(pp.Run(pp.load_robot("planar2"), IDLE, world, clock=clock))


def test_a_ball_on_a_sampled_sphere_moves_as_on_the_sphere():
    still = {"position": (2.0, 0.0, -1.0), "stiffness": 1e4, "damping": 20.0, "friction": 0.3}
    found = drop(field("sphere", 40, **still), duration=0.3)
    ball = pp.world.Surface(shape="sphere", size=(R,), **{**still, "position": (2.0, 0.0, -1.0 - R)})
    expected = drop(ball, duration=0.3)
    assert float(np.abs(found["rest_q"] - expected["rest_q"])[:, :3].max()) < 1e-7
    assert found["rest_q"][-1, 0] > expected["rest_q"][0, 0]  # it runs down


def test_a_bouncing_ball_keeps_its_energy_on_a_frictionless_height_field():
    found = drop(field("sphere", 12, position=(2.0, 0.0, -1.0), damping=0.0), height=0.02, duration=0.5)
    energy = sum(found[f"energy.{kind}"] for kind in ("kinetic", "potential", "stored"))
    assert np.ptp(found["rest_q"][:, 2]) > 0.02  # it was in contact and off again
    assert np.ptp(energy) < 1e-4 * 9.81 * 0.02  # of rk4 at 0.2 ms, which meets the surface within a step


def test_a_ball_wider_than_a_hollow_is_warned_of():
    x = np.linspace(-0.1, 0.1, 20)
    heights = 0.02 * (1 - np.cos(2 * np.pi * x / 0.1))[None, :] + 0 * x[:, None]
    wavy = pp.world.Surface(
        shape="height-field", size=(0.2, 0.2), heights=tuple(map(tuple, heights.tolist())), position=(2, 0, -1)
    )
    trace = drop(wavy, radius=0.05, height=0.05, at=0.0, duration=0.01)
    assert any("hollow of 'wall'" in warning for warning in trace.warnings)
    assert not any("hollow" in warning for warning in drop(field("sphere", 12, position=(2, 0, -1))).warnings)


def test_it_is_drawn_as_a_closed_block_through_its_heights():
    vertices, faces = drawn_mesh(field("sphere", 20))
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    assert {tuple(e) for e in edges.tolist()} == {tuple(e[::-1]) for e in edges.tolist()}  # closed
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    assert np.einsum("ij,ij->i", a, np.cross(b, c)).sum() > 0  # and outward
    trace = drop(field("sphere", 12, position=(2, 0, -1)), duration=0.01)
    body = next(body for body in trace.facts.scene if body["name"] == "wall")
    assert body["geoms"][0]["shape"] == "mesh"
    assert len(body["geoms"][0]["faces"]) // 3 <= 1200


# ------------------------------------------------------------------------------------------------ files


def write_scenario(folder: Path, surface: str) -> Path:
    text = f"""name = "own"
[robot]
model = "planar2"
[control]
law = "gravity-compensation"
[run]
duration = 0.01
[[world.surfaces]]
position = [5, 0, 0]
{surface}
"""
    (folder / "own.toml").write_text(text)
    return folder / "own.toml"


GRID = HEIGHTS["sphere"](np.linspace(-0.1, 0.1, 6)[None, :], np.linspace(-0.1, 0.1, 5)[:, None])


@pytest.mark.parametrize("kind", ["npy", "csv", "png"])
def test_heights_come_from_a_file_beside_the_scenario(kind, tmp_path):
    (tmp_path / "data").mkdir()
    file, scale, expected = tmp_path / "data" / f"part.{kind}", 1.0, GRID
    if kind == "npy":
        np.save(file, GRID)
    elif kind == "csv":
        np.savetxt(file, GRID, delimiter=",")
    else:
        from PIL import Image

        grey = np.round((GRID - GRID.min()) / np.ptp(GRID) * 65535).astype(np.uint16)
        Image.fromarray(grey[::-1]).save(file)  # the top of the picture is the largest y
        scale, expected = float(np.ptp(GRID)), GRID - GRID.min()
    keys = f'shape = "height-field"\nsize = [0.2, 0.2]\nfile = "data/part.{kind}"\nscale = {scale!r}'
    scenario = load_scenario(write_scenario(tmp_path, keys))
    form = form_of(scenario.world.surfaces[0])
    found = heights_on(form, np.linspace(-0.1, 0.1, 6), np.linspace(-0.1, 0.1, 5))
    assert found == pytest.approx(expected, abs=1e-14 if kind != "png" else 1e-6)
    trace = pp.simulate(scenario)
    assert trace.outcome.ok
    assert str(tmp_path) not in str(trace.facts.as_data())
    file.unlink()  # a trace needs it no more
    assert any(body["name"] == "wall" and body["geoms"] for body in trace.facts.scene)


def test_an_edited_file_is_read_again(tmp_path):
    surface = pp.world.Surface(shape="height-field", size=(1, 1), file=str(tmp_path / "a.npy"))
    np.save(tmp_path / "a.npy", np.zeros((4, 4)))
    assert distance(surface, np.array([0.0, 0, 1]))[0] == pytest.approx(1)
    np.save(tmp_path / "a.npy", np.full((4, 5), 0.5))
    assert distance(surface, np.array([0.0, 0, 1]))[0] == pytest.approx(0.5)


BAD = {
    "rows": ('shape = "height-field"\nsize = [1, 1]\nheights = [[0, 0, 0, 0]]', "4 to 512 rows of 4 to 512"),
    "ragged": ('shape = "height-field"\nsize = [1, 1]\nheights = [[0,0,0,0],[0,0,0,0],[0,0,0,0],[0,0,0]]', "3 or 4"),
    "nan": (
        'shape = "height-field"\nsize = [1, 1]\nheights = [[0,0,0,nan],[0,0,0,0],[0,0,0,0],[0,0,0,0]]',
        "found nan",
    ),
    "endless": ('shape = "height-field"\nsize = [1, 1e9]\nfile = "good.npy"', "lengths from"),
    "high": ('shape = "height-field"\nsize = [1, 1]\nfile = "high.npy"', "heights up to"),
    "nothing": ('shape = "height-field"\nsize = [1, 1]', "needs its heights or a file"),
    "size": ('shape = "height-field"\nfile = "good.npy"', "has 2 sizes"),
    "misplaced": ('shape = "box"\nsize = [1, 1, 1]\nfile = "good.npy"', "a file is for a height-field or a mesh"),
    "heights of a plane": ("heights = [[0]]", "heights are for a height-field"),
    "rigid": ('shape = "height-field"\nsize = [1, 1]\nfile = "good.npy"\ncontact = "rigid"', "compliant contact only"),
    "missing": ('shape = "height-field"\nsize = [1, 1]\nfile = "no.npy"', "No such file"),
    "outside": ('shape = "height-field"\nsize = [1, 1]\nfile = "/dev/zero"', "lies outside"),
    "kind": ('shape = "height-field"\nsize = [1, 1]\nfile = "good.txt"', "one of .npy, .csv, .png"),
    "nan file": ('shape = "height-field"\nsize = [1, 1]\nfile = "nan.npy"', "row 2, column 3 is nan"),
    "broken": ('shape = "height-field"\nsize = [1, 1]\nfile = "broken.npy"', "cannot read broken.npy"),
    "objects": ('shape = "height-field"\nsize = [1, 1]\nfile = "objects.npy"', "an array of numbers"),
    "huge": ('shape = "height-field"\nsize = [1, 1]\nfile = "huge.npy"', "an array of numbers"),
    "text": ('shape = "height-field"\nsize = [1, 1]\nfile = "text.csv"', "cannot read text.csv"),
    "picture": ('shape = "height-field"\nsize = [1, 1]\nfile = "no.png"', "cannot read no.png"),
    "many": ('shape = "height-field"\nsize = [1, 1]\nfile = "many.npy"', "4 to 512 heights"),
    "folder": ('shape = "height-field"\nsize = [1, 1]\nfile = "f.npy"', "a folder"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_height_field_is_refused_by_name(name, tmp_path):
    np.save(tmp_path / "good.npy", np.zeros((4, 4)))
    spoilt = np.zeros((4, 4))
    spoilt[1, 2] = np.nan
    np.save(tmp_path / "nan.npy", spoilt)
    np.save(tmp_path / "high.npy", np.full((4, 4), 1e300))
    np.save(tmp_path / "many.npy", np.zeros((4, 600)))
    np.save(tmp_path / "objects.npy", np.array([[None] * 4] * 4), allow_pickle=True)
    head = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }"
    (tmp_path / "huge.npy").write_bytes(head.ljust(127) + b"\n")
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY\x01\x00")
    (tmp_path / "text.csv").write_text("a,b\nc,d\n")
    (tmp_path / "no.png").write_bytes(b"\x89PNG but not really")
    (tmp_path / "good.txt").write_text("0 0 0 0")
    (tmp_path / "f.npy").mkdir()
    keys, words = BAD[name]
    with pytest.raises(ScenarioError, match=words):
        load_scenario(write_scenario(tmp_path, keys))


def test_bad_heights_are_refused_from_python_too(tmp_path):
    with pytest.raises(InvalidInput, match="finite"):
        pp.world.Surface(shape="height-field", size=(1, 1), heights=((0.0, 0.0, 0.0, float("inf")),) * 4)
    with pytest.raises(FileError, match="No such file"):
        form_of(pp.world.Surface(shape="height-field", size=(1, 1), file=str(tmp_path / "x.npy")))


def test_an_assembly_is_not_reused_for_other_heights():
    from palpate.run.assemble.renew import Renewable

    def run(kind: str) -> pp.Run:
        world = pp.World(surfaces=(field(kind, 8, position=(5, 0, 0)),))
        return pp.Run(pp.load_robot("planar2"), GravityCompensation(), world, clock=pp.world.Clock(duration=0.01))

    first = run("sphere")
    assert Renewable(first).renew(first)
    assert not Renewable(first).renew(dataclasses.replace(first, world=run("cylinder").world))
