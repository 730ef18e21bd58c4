"""Surfaces as closed meshes: held against the box and the ball they describe."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import palpate as pp
from palpate.control import PythonLaw
from palpate.errors import InvalidInput, ScenarioError
from palpate.scenario.file.load import load_scenario
from palpate.spatial.mesh import MOST_TRIANGLES, packed_mesh
from palpate.spatial.shapes import SHAPES
from palpate.world.config import FreeObject
from palpate.world.surfaces.forms import form_of

BOX = (0.25, 0.5, 0.125)  # exact in 32 bits, as an STL holds it
IDLE = PythonLaw(lambda tick, gains, memory: {"torque": 0.0 * tick.v})


def outward(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A convex cloud's triangles, turned outward."""
    hull = ConvexHull(points)
    faces = hull.simplices.copy()
    for row, (face, equation) in enumerate(zip(faces, hull.equations)):
        a, b, c = points[face]
        if np.cross(b - a, c - a) @ equation[:3] < 0:
            faces[row] = face[::-1]
    return points, faces


def box(size: tuple[float, ...] = BOX) -> tuple[np.ndarray, np.ndarray]:
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    return outward(signs * np.array(size) / 2)


def ball(count: int, radius: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    k = np.arange(count) + 0.5
    z, angle = 1 - 2 * k / count, np.pi * (3 - np.sqrt(5)) * k
    return outward(radius * np.column_stack([np.sqrt(1 - z**2) * np.cos(angle), np.sqrt(1 - z**2) * np.sin(angle), z]))


def notched() -> tuple[np.ndarray, np.ndarray]:
    """An L of two boxes pulled up: reflex edges, whose inside is told by their pseudo-normals."""
    ring = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], dtype=float) * 0.1
    low, high = np.c_[ring, np.zeros(6)], np.c_[ring, np.full(6, 0.1)]
    flat = np.array([[0, 1, 3], [1, 2, 3], [0, 3, 4], [0, 4, 5]])
    sides = [[[k, (k + 1) % 6, 6 + (k + 1) % 6], [k, 6 + (k + 1) % 6, 6 + k]] for k in range(6)]
    return np.vstack([low, high]), np.vstack([flat[:, ::-1], flat + 6, np.array(sides).reshape(-1, 3)])


def stl(vertices: np.ndarray, faces: np.ndarray) -> bytes:
    rows = [struct.pack("<12fH", 0, 0, 0, *vertices[face].ravel(), 0) for face in faces]
    return b"\0" * 80 + struct.pack("<I", len(rows)) + b"".join(rows)


def text_stl(vertices: np.ndarray, faces: np.ndarray) -> bytes:
    facets = []
    for face in faces:
        corners = "\n".join(f"vertex {float(x)!r} {float(y)!r} {float(z)!r}" for x, y, z in vertices[face])
        facets.append(f"facet normal 0 0 0\nouter loop\n{corners}\nendloop\nendfacet")
    return ("solid part\n" + "\n".join(facets) + "\nendsolid part\n").encode()


def obj(vertices: np.ndarray, faces: np.ndarray) -> bytes:
    lines = [f"v {float(x)!r} {float(y)!r} {float(z)!r}" for x, y, z in vertices]
    return ("\n".join([*lines, *(f"f {a + 1}/1/1 {b + 1}/1/1 {c - len(vertices)}/1/1" for a, b, c in faces)])).encode()


def distance(form: np.ndarray, p: np.ndarray) -> tuple[float, np.ndarray]:
    normal = np.zeros(3)
    return SHAPES["mesh"].distance(form, p, normal), normal


@pytest.mark.parametrize("write", [("stl", stl), ("stl", text_stl), ("obj", obj)], ids=["binary", "text", "obj"])
def test_a_box_as_a_mesh_is_the_box_to_rounding(write, tmp_path):
    suffix, written = write
    (tmp_path / f"box.{suffix}").write_bytes(written(*box()))
    mesh = form_of(pp.world.Surface(shape="mesh", file=str(tmp_path / f"box.{suffix}")))
    size, n = form_of(pp.world.Surface(shape="box", size=BOX)), np.zeros(3)
    for p in np.random.default_rng(4).uniform(-0.4, 0.4, (400, 3)):
        gap, normal = distance(mesh, p)
        assert gap == pytest.approx(SHAPES["box"].distance(size, p, n), abs=1e-15)
        assert normal == pytest.approx(n, abs=1e-13)


def brute(corners: np.ndarray, p: np.ndarray) -> float:
    """The distance to the nearest triangle, each by itself: on its plane if its foot is inside, else on its sides."""
    best = np.inf
    for a, b, c in corners:
        n = np.cross(b - a, c - a)
        s, t = np.linalg.lstsq(np.column_stack([b - a, c - a]), p - a, rcond=None)[0]
        if s >= 0 and t >= 0 and s + t <= 1:
            best = min(best, abs(float(n @ (p - a))) / float(np.linalg.norm(n)))
        for u, w in ((a, b), (b, c), (c, a)):
            k = np.clip((p - u) @ (w - u) / ((w - u) @ (w - u)), 0, 1)
            best = min(best, float(np.linalg.norm(p - u - k * (w - u))))
    return best


def test_the_tree_finds_what_a_search_over_all_triangles_finds():
    vertices, faces = ball(150)
    form = packed_mesh(vertices, faces)
    for p in np.random.default_rng(5).uniform(-0.15, 0.15, (60, 3)):
        gap, _ = distance(form, p)
        assert abs(gap) == pytest.approx(brute(vertices[faces], p), abs=1e-14)


def test_a_triangle_without_an_area_changes_nothing():
    """One side of an edge is divided and the other is not: a triangle of three corners on a line closes the mesh."""
    vertices, faces = box()
    a, b, c = faces[0]
    split = np.vstack([vertices, (vertices[a] + vertices[b]) / 2])
    m = len(vertices)
    divided = np.vstack([faces[1:], [[a, m, c], [m, b, c], [a, b, m]]])
    plain, with_it = packed_mesh(vertices, faces), packed_mesh(split, divided)
    assert np.isfinite(with_it).all()
    points = np.random.default_rng(5).uniform(-0.4, 0.4, (300, 3))
    for p in [*points, *(1.1 * split), *(0.9 * split), split[m] + 1e-9 * split[m]]:
        assert distance(with_it, p)[0] == pytest.approx(distance(plain, p)[0], abs=1e-15)


def test_inside_of_a_notched_block_is_told_rightly():
    form = packed_mesh(*notched())
    for p in np.random.default_rng(6).uniform(-0.05, 0.25, (500, 3)):
        x, y, z = p
        inside = 0 < z < 0.1 and 0 < x < 0.2 and 0 < y < 0.2 and not (x > 0.1 and y > 0.1)
        gap, n = distance(form, p)
        assert (gap < 0) == inside
        h = 1e-7
        gradient = [(distance(form, p + h * e)[0] - distance(form, p - h * e)[0]) / (2 * h) for e in np.eye(3)]
        if np.linalg.norm(gradient) > 0.999:  # not where two faces are equally near
            assert n == pytest.approx(np.array(gradient), abs=1e-5)


def test_a_mesh_of_a_ball_becomes_the_ball_with_second_order():
    def worst(count: int) -> float:
        form, random = packed_mesh(*ball(count)), np.random.default_rng(7)
        points = random.normal(size=(200, 3))
        points *= 0.12 / np.linalg.norm(points, axis=1)[:, None]
        return max(abs(distance(form, p)[0] - 0.02) for p in points)

    coarse, fine = worst(500), worst(8000)  # edges a quarter as long
    assert fine < 2e-4
    assert coarse / fine > 10


def drop(surface: pp.world.Surface, *, height: float = 0.02, duration: float = 0.5) -> pp.Trace:
    place = (2.02, 0.01, -1.0 + BOX[2] / 2 + 0.02 + height)
    things = (FreeObject(name="ball", size=(0.02,), mass=1.0, position=place),)
    world = pp.World(surfaces=(surface,), objects=things, gravity=(0, 0, -9.81))
    clock = pp.world.Clock(duration=duration, timestep=2e-4, integrator="rk4")
    return pp.simulate(pp.Run(pp.load_robot("planar2"), IDLE, world, clock=clock))


def test_a_ball_on_a_mesh_of_a_box_moves_as_on_the_box(tmp_path):
    (tmp_path / "box.stl").write_bytes(stl(*box()))
    still = {
        "position": (2.0, 0.0, -1.0),
        "friction": 0.3,
        "quat_wxyz": (0.9961946980917455, 0.0, 0.08715574274765817, 0),
    }
    found = drop(pp.world.Surface(shape="mesh", file=str(tmp_path / "box.stl"), **still))
    expected = drop(pp.world.Surface(shape="box", size=BOX, **still))
    assert found["rest_q"] == pytest.approx(expected["rest_q"], abs=1e-11)
    body = next(body for body in found.facts.scene if body["name"] == "wall")
    assert body["geoms"][0]["shape"] == "mesh"


def test_a_bouncing_ball_keeps_its_energy_on_a_frictionless_mesh(tmp_path):
    (tmp_path / "box.stl").write_bytes(stl(*box()))
    found = drop(pp.world.Surface(shape="mesh", file=str(tmp_path / "box.stl"), position=(2, 0, -1), damping=0.0))
    assert np.ptp(found["rest_q"][:, 2]) > 0.02
    energy = sum(found[f"energy.{kind}"] for kind in ("kinetic", "potential", "stored"))
    assert np.ptp(energy) < 1e-4 * 9.81 * 0.02  # of rk4 at 0.2 ms, which meets the surface within a step


def test_a_file_in_millimetres_is_scaled(tmp_path):
    vertices, faces = box()
    (tmp_path / "box.stl").write_bytes(stl(vertices * 1000, faces))
    form = form_of(pp.world.Surface(shape="mesh", file=str(tmp_path / "box.stl"), scale=1e-3))
    assert distance(form, np.array([0, 0, 1.0]))[0] == pytest.approx(1 - BOX[2] / 2, abs=1e-12)


def spoilt() -> dict[str, tuple[bytes, str]]:
    vertices, faces = box()
    nan = vertices.copy()
    nan[3, 1] = np.nan
    turned = faces.copy()
    turned[0] = turned[0][::-1]
    many, whole = np.zeros((3, 3)), MOST_TRIANGLES + 1
    return {
        "open": (stl(vertices, faces[1:]), "not closed: 3 edges"),
        "turned": (stl(vertices, turned), "not closed"),
        "inside out": (stl(vertices, faces[:, ::-1]), "inside out"),
        "nan": (stl(nan, faces), "no number"),
        "point": (stl(vertices * 0, faces), "0 m long"),
        "endless": (stl(vertices * 1e30, faces), "reaches"),
        "flat": (stl(vertices * [1, 1, 0], faces), "not closed|inside out"),
        "many": (stl(many, np.tile([0, 1, 2], (whole, 1))), f"{whole} triangles"),
        "short": (stl(vertices, faces)[:-10], "does not hold"),
        "empty": (b"", "does not hold"),
        "no text": (b"solid part\nvertex a b c\n" + b" " * 90, "cannot read"),
    }


@pytest.mark.parametrize("name", spoilt())
def test_what_has_no_inside_is_refused_by_name(name, tmp_path):
    content, words = spoilt()[name]
    (tmp_path / "part.stl").write_bytes(content)
    with pytest.raises(ScenarioError, match=words):
        load_scenario(scenario(tmp_path, 'file = "part.stl"'))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ('file = "missing.stl"', "No such file"),
        ('file = "../../../../../../../../../../../etc/part.stl"', "lies outside"),
        ('file = "part.dae"', "an .stl or .obj"),
        ('file = "part.obj"', "names corner"),
        ('file = "part.obj"\ncontact = "exact"', "compliant contact"),
        ("", "needs.*triangles"),
    ],
)
def test_files_that_are_no_mesh_are_refused_by_name(keys, words, tmp_path):
    (tmp_path / "part.dae").write_bytes(b"x")
    (tmp_path / "part.obj").write_bytes(b"v 0 0 0\nf 1 2 3\n")
    with pytest.raises(ScenarioError, match=words):
        load_scenario(scenario(tmp_path, keys))


def scenario(folder: Path, keys: str) -> Path:
    text = f"""name = "own"
[robot]
model = "planar2"
[control]
law = "gravity-compensation"
[[world.surfaces]]
shape = "mesh"
position = [5, 0, 0]
{keys}
"""
    (folder / "own.toml").write_text(text)
    return folder / "own.toml"


def test_links_on_a_rigid_surface_are_refused_by_name():
    with pytest.raises(InvalidInput, match=r"touches.*'table' is rigid"):
        pp.World(surfaces=(pp.world.Surface(name="table", contact="rigid"),), contact_links=("hand",))


def test_a_corner_is_outside_whatever_triangles_meet_there():
    """A sharp spike, one side of which is cut into 40 slivers: they count by their angle, not by their number."""
    ring = [np.array([0.05, y, 0.0]) for y in np.linspace(-0.05, 0.05, 41)]
    vertices = np.array([*ring, [-0.05, 0.05, 0.0], [-0.05, -0.05, 0.0], [0.0, 0.0, 0.3]])
    around = tip = len(vertices) - 1
    sides = [[k, (k + 1) % around, tip] for k in range(around)]
    bottom = [[around - 1, k + 1, k] for k in range(around - 2)]
    form, apex = packed_mesh(vertices, np.array([*sides, *bottom])), vertices[tip]
    for way in np.random.default_rng(8).normal(size=(200, 3)) * [1, 1, 0.3]:
        p = apex + 0.02 * np.array([way[0], way[1], abs(way[2]) + 0.25 * np.hypot(way[0], way[1])])
        gap, n = distance(form, p)  # so steep that the apex is nearest
        assert gap == pytest.approx(np.linalg.norm(p - apex), rel=1e-12)
        assert n == pytest.approx((p - apex) / gap, abs=1e-9)
