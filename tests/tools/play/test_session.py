"""Runs for the page: the same numbers as `simulate`, refused as it refuses, and told by run and poles together."""

from __future__ import annotations

import base64
import json
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palpate.errors import PalpateError, UnknownName
from palpate.metrics.table import MetricResult
from palpate.run.simulate import simulate_quietly
from palpate.run.tangent.along import Moment
from palpate.run.tangent.loop_poles import LoopPoles, poles
from palpate.scenario.file.load import load_scenario
from palpate.tools.play.forecast import Line, forecast, headline, worst
from palpate.tools.play.session import Session, State
from palpate.trace import Outcome
from palpate.views.pages.interactive import MOST_POINTS, thin

SOFT = {"control.stiffness": [200.0, 200.0, 200.0, 20.0, 20.0, 20.0], "world.surfaces.wall.stiffness": 5000.0}
SHORT = ["run.duration=1.5"]


@pytest.fixture(scope="module")
def session() -> Session:
    return Session(load_scenario("panda-wall", SHORT), "panda-wall", ("--set", *SHORT))


def numbers(packed: dict[str, str]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["bdata"]), "<f4")


def test_curves_and_metrics_are_those_of_simulate(session: Session) -> None:
    session.update({"page": "a", "number": 1})  # so that the next one is made in place
    answer = session.update({"page": "a", "number": 2, "settings": SOFT})
    words = [f"{key}={value}" for key, value in SOFT.items()]
    trace = simulate_quietly(load_scenario("panda-wall", [*SHORT, *words]))
    lines = {one["label"]: one for one in answer["charts"][0]["series"]}
    time, force = thin(trace.time, -trace["contact_wrench"][:, 0], MOST_POINTS)  # the wall pushes along −x
    line = lines["contact force along the desired force"]
    np.testing.assert_array_equal(numbers(line["x"]), time.astype("f4"))
    np.testing.assert_array_equal(numbers(line["y"]), force.astype("f4"))
    values = {one["name"]: one["value"] for one in answer["metrics"]}
    assert values["force_peak"] == trace["contact_force"].max()


def test_the_command_makes_the_same_run(session: Session) -> None:
    answer = session.update({"page": "a", "number": 3, "settings": SOFT | {"world.driver.delay": 2}})
    words = shlex.split(answer["command"])
    assert words[:3] == ["palpate", "run", "panda-wall"]
    overrides = [text for word, text in pairwise(words) if word == "--set"]
    trace = simulate_quietly(load_scenario(words[2], overrides))
    values = {one["name"]: one["value"] for one in answer["metrics"]}
    assert values["force_peak"] == trace["contact_force"].max()


def test_a_page_that_has_the_scene_is_sent_frames_alone(session: Session) -> None:
    first = session.update({"page": "b", "number": 1})
    assert "geoms" in first["replay"]
    then = session.update({"page": "b", "number": 2, "scene": first["scene"], "settings": SOFT})
    assert "replay" not in then
    assert len(then["frames"]["bodies"]) == len(first["replay"]["bodies"])
    assert "replay" in session.update({"page": "c", "number": 1})  # another page has none


def test_the_forecast_is_that_of_the_loop(session: Session) -> None:
    late = {"world.driver.delay": 22}
    answer = session.update({"page": "d", "number": 1, "settings": late})
    known = poles(load_scenario("panda-wall", [*SHORT, "world.driver.delay=22"]), finer=False)
    assert known.stable is False
    assert answer["level"] == "bad"
    assert f"|λ| = {known.largest:.5f}" in " ".join(line["text"] for line in answer["forecast"])
    rested = session.update({"page": "d", "number": 2, "settings": late, "resting": True})
    names = [line["name"] for line in rested["forecast"]]
    assert names[:2] == ["run", "loop, start"]
    assert "loop, touching wall" in names


def test_the_edge_of_a_slider_is_confirmed_by_runs_on_both_sides(session: Session) -> None:
    key, own = "control.stiffness", np.array(session.data["control"]["stiffness"])
    edge = session.edges({"page": "i", "number": 0, "key": key})["low"]  # a factor of all six
    sides = (edge["inside"], edge["beyond"])
    inside, beyond = (session.update({"page": str(x), "settings": {key: (x * own).tolist()}}) for x in sides)
    assert inside["level"] != "bad"
    assert beyond["level"] == "bad"
    assert beyond["headline"] == edge["headline"] == "Beyond a bound: force_steady_error"
    assert 0.95 * edge["inside"] < edge["beyond"] < edge["inside"] < 1.0
    with pytest.raises(UnknownName):
        session.edges({"page": "i", "number": 1, "key": "control.form"})
    session._page("i", 5)
    assert session.edges({"page": "i", "number": 4, "key": key}) == {"superseded": True}


def test_a_diverged_run_is_shown_up_to_there(session: Session) -> None:
    answer = session.update({"page": "e", "number": 1, "settings": {"run.max_speed": 0.05}})
    assert answer["outcome"]["kind"] == "diverged"
    assert answer["level"] == "bad"
    assert answer["charts"]
    json.dumps(answer, allow_nan=False)
    again = session.update({"page": "e", "number": 2})
    assert again["outcome"]["ok"]


def test_refused_settings_are_refused_as_a_file_is(session: Session) -> None:
    with pytest.raises(PalpateError, match=r"stiffness.*positive semidefinite"):
        session.update({"page": "f", "number": 1, "settings": {"control.stiffness": [-1.0] * 6}})
    for bad in ({"modules.x": "y"}, {"robot.model": "/etc/passwd"}, {"control.law": "os:system"}, {"nothing": 1}):
        with pytest.raises(UnknownName):
            session.update({"page": "f", "number": 2, "settings": bad})
    with pytest.raises(UnknownName):
        session.update({"page": "f", "number": 3, "control": {"law": "my_module:Law"}})
    for value in (float("nan"), None, {"a": 1}, "x" * 5000):
        with pytest.raises(PalpateError):
            session.update({"page": "f", "number": 4, "settings": {"control.damping_ratio": value}})
    assert session.update({"page": "f", "number": 5})["outcome"]["ok"]


def test_a_later_request_of_a_page_ends_the_run_before_it(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    at_work = session._stopping

    def later(page: Any, number: int, assembly: Any) -> Any:
        look = at_work(page, number, assembly)

        def after_another() -> None:
            session._page("g", 2)
            look()

        return after_another

    monkeypatch.setattr(session, "_stopping", later)
    assert session.update({"page": "g", "number": 1}) == {"superseded": True}
    monkeypatch.undo()
    assert session.update({"page": "g", "number": 3})["outcome"]["text"].startswith("completed at 1.5 s")


def test_another_law_runs_with_its_own_sliders(session: Session) -> None:
    moved = State(settings={"control.damping_ratio": 0.5, "world.surfaces.wall.stiffness": 5000.0})
    with pytest.raises(UnknownName):
        session.swapped(moved, "os:system")
    swapped = session.swapped(moved, "joint-impedance")
    assert swapped["control"]["damping_ratio"] == 0.5
    assert swapped["settings"] == {"world.surfaces.wall.stiffness": 5000.0}
    assert "control.stiffness" in swapped["first"]
    state = {"control": swapped["control"], "settings": {"control.stiffness": 300.0}}
    session.update({"page": "h", "number": 0, "settings": {"world.driver.delay": 22}})
    answer = session.update({"page": "h", "number": 1, **state})
    assert answer["outcome"]["ok"]
    assert answer["forecast"][1]["name"] == "loop, end"  # not the poles of the law before
    assert session.scenario_of(State.read(state)).control.name == "joint-impedance"


def test_a_law_in_python_is_run_and_said_to_be_slower(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(_LAW)
    scenario = tmp_path / "mine.toml"
    scenario.write_text(
        'name = "mine"\n[robot]\nmodel = "planar2"\n[control]\nlaw = "mine:Damper"\n[run]\nduration = 0.05\n'
    )
    session = Session(load_scenario(scenario).with_code())
    assert session.offered(State())["laws"][0] == "mine:Damper"
    answer = session.update({"page": "a", "number": 1, "settings": {"control.damping": 3.0}})
    assert answer["outcome"]["ok"]
    assert not answer["compiled"]


_LAW = """
from typing import ClassVar

from palpate.config import setting
from palpate.control.plain_law import PlainLaw


class Damper(PlainLaw):
    terms: ClassVar[tuple[str, ...]] = ("damper",)
    damping: float = setting(2.0, "N·m·s/rad", "of every joint", ge=0)

    def decide(self, tick, memory):
        return {"damper": -self.damping * tick.v}
"""


def told(kind: str, **parts: Any) -> MetricResult:
    return MetricResult(kind, parts.pop("value"), "N", "", **parts)


def test_the_headline_is_that_of_the_worst() -> None:
    good, bad = Outcome("completed", "done", 1.0, 1), Outcome("diverged", "too fast", 0.5, 1)
    assert worst(forecast(bad, [], [])) == "bad"
    kept = told("force_peak", value=20.0, most=40.0, passed=True)
    near, over = (
        told("force_peak", value=39.0, most=40.0, passed=True),
        told("force_peak", value=41.0, most=40.0, passed=False),
    )
    assert headline(forecast(good, [], [kept])) == "Stability not known, bounds kept"
    assert headline(forecast(good, [], [near])) == "Near a bound: force_peak"
    assert headline(forecast(good, [], [over])) == "Beyond a bound: force_peak"
    assert headline(forecast(bad, [], [over])) == "Failed"


def test_what_is_unstable_at_first_alone_is_near_the_edge() -> None:
    good = Outcome("completed", "done", 1.0, 1)
    growing = Moment("start", LoopPoles(0.0, 1e-3, 1e-3, poles=np.array([1.01 + 0j])))
    settling = Moment("end", LoopPoles(0.0, 1e-3, 1e-3, poles=np.array([0.9 + 0j])))
    assert worst(forecast(good, [growing, settling], [])) == "near"
    assert worst(forecast(good, [settling, growing], [])) == "bad"
    unknown = Moment("end", LoopPoles(0.0, 1e-3, 1e-3, not_known="exact contact"))
    assert worst(forecast(good, [unknown], [])) == "good"
    assert [line.level for line in forecast(good, [unknown], [])] == ["good", "unknown"]
    assert Line("good", "run", "x").as_data() == {"level": "good", "name": "run", "text": "x"}
