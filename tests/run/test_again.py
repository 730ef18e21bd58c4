"""A scenario simulated again: what is kept of its last run changes nothing, and fewer looks tell the same."""

from __future__ import annotations

import gc
from dataclasses import fields

import mujoco
import numpy as np
import pytest

import palpate as pp
from palpate.run import again, simulate as simulating
from palpate.run.after import inside
from palpate.run.assemble.assemble import assemble
from palpate.run.build import as_run
from palpate.world.surfaces.contact_points import geom_points


def _equal(a: pp.Trace, b: pp.Trace) -> bool:
    """Whether two traces are equal to the last bit and word."""
    bits = all(a[name].tobytes() == b[name].tobytes() for name in (*a.units, "time"))
    told = all(repr(getattr(a.facts, field.name)) == repr(getattr(b.facts, field.name)) for field in fields(a.facts))
    return bits and told and a.units == b.units and repr((a.outcome, a.events)) == repr((b.outcome, b.events))


@pytest.mark.parametrize("name", ["panda-wall", "planar2-singular", "iiwa14-push", "pendulum-swing"])
def test_a_second_run_tells_the_same_to_the_bit(name, monkeypatch):
    scenario = pp.load_scenario(name)
    first = pp.simulate(scenario)
    built = []
    monkeypatch.setattr(again, "Renewable", lambda run: built.append(run))
    second = pp.simulate(scenario)
    assert not built
    assert _equal(first, second)
    monkeypatch.undo()
    assert _equal(first, pp.simulate(pp.load_scenario(name)))


def test_the_first_trace_is_not_written_by_the_second_run():
    scenario = pp.load_scenario("panda-wall").replace(run__duration=0.5)
    first = pp.simulate(scenario)
    before = {name: first[name].copy() for name in first.units}
    pp.simulate(scenario)
    assert all(np.array_equal(first[name], before[name]) for name in before)


def test_another_scenario_is_another_assembly_and_a_scenario_that_is_gone_keeps_none():
    scenario = pp.load_scenario("planar2-singular")
    stiffer = scenario.replace(run__duration=0.5)
    pp.simulate(scenario)
    assert pp.simulate(stiffer)["time"][-1] == pytest.approx(0.5)
    assert len(again._last._slot) == 1
    del stiffer
    gc.collect()
    assert not again._last._slot


def test_what_names_a_file_or_code_or_failed_is_built_anew(tmp_path, monkeypatch):
    heights = tmp_path / "heights.csv"
    heights.write_text("0,0,0,0\n" * 4)
    surface = {"name": "field", "shape": "height-field", "size": (1.0, 1.0), "file": str(heights)}
    for changes in ({"world__surfaces": [surface]}, {"metrics": {"palpate.metrics.motion:no_such": {"least": 0}}}):
        scenario = pp.load_scenario("planar2-singular").replace(**changes)
        assert again._names_files(scenario)
    scenario = pp.load_scenario("planar2-singular")
    pp.simulate(scenario)
    monkeypatch.setattr(simulating, "execute", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pp.simulate(scenario)
    assert not again._last._slot


@pytest.mark.parametrize("name", ["panda", "ur5e", "iiwa14", "fr3"])
def test_a_geoms_points_lie_within_its_ball(name):
    model = pp.load_robot(name).model
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for g in range(model.ngeom):
        away = np.linalg.norm(geom_points(model, g) - model.geom_pos[g], axis=1)
        assert away.max() <= model.geom_rbound[g] * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("shape", ["plane", "box", "sphere", "cylinder"])
def test_links_inside_a_surface_are_found_by_their_balls_as_by_all_their_points(shape, monkeypatch):
    sizes = {"plane": (), "box": (0.1, 0.3, 0.5), "sphere": (0.2,), "cylinder": (0.1, 0.6)}
    rng, found = np.random.default_rng(8), 0
    for _ in range(6):
        at = (0.45 + rng.uniform(-0.15, 0.1), rng.uniform(-0.1, 0.1), rng.uniform(0.2, 0.6))
        turned = rng.normal(size=4)
        surface = {"name": "wall", "shape": shape, "size": sizes[shape], "position": at, "stiffness": 1e3}
        surface["quat_wxyz"] = (turned / np.linalg.norm(turned)).tolist()
        assembly = assemble(as_run(pp.load_scenario("panda-joint-impedance").replace(world__surfaces=[surface])))
        q = assembly.run.start()[0] + rng.uniform(-0.3, 0.3, (5, 7))
        few = inside.links_inside(assembly, {"q": q})
        with monkeypatch.context() as patch:
            patch.setattr(inside, "_reaching", lambda model, *_: set(range(model.nbody)))
            assert inside.links_inside(assembly, {"q": q}) == few
        found += len(few)
    assert found > 0
