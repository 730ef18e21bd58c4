"""The walks of docs/extending.md, done: the files that the page names are enough, and no others are touched."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("scratch", Path(__file__).with_name("scratch.py"))
assert spec is not None
assert spec.loader is not None
scratch = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scratch)

SPRING = '''
"""Springs at the joints."""

from typing import ClassVar

from palpate.config import setting
from palpate.control.law import Law, NoMemory, Tick, law_kernel
from palpate.engine.records import Record, Vector, sized


class Gains(Record):
    stiffness: float


class Terms(Record):
    spring: Vector = sized("nv")


@law_kernel
def _kernel(x: Tick, k: Gains, m: NoMemory, out: Terms) -> None:
    for i in range(x.v.size):
        out.spring[i] = k.stiffness * (x.target.q[i] - x.q[i])


class Spring(Law):
    """Springs at the joints: τ = K (q_d − q)."""

    name: ClassVar[str] = "spring"
    memoryless: ClassVar[bool] = True
    kernel = _kernel
    stiffness: float = setting(10.0, "N·m/rad", "K", ge=0)

    def gains(self, robot):
        return Gains(stiffness=self.stiffness)
'''

CAPSULE = """
@kernel
def capsule_distance(size: Vector, p: Vector, normal: Vector) -> float:
    \"\"\"size: radius, half length along z without the caps.\"\"\"
    z = p[2] - min(max(p[2], -size[1]), size[1])
    r = math.sqrt(p[0] ** 2 + p[1] ** 2 + z**2)
    normal[0], normal[1], normal[2] = p[0] / r, p[1] / r, z / r
    return r - size[0]


"""

TOP_SPEED = """
def top_speed(trace: Trace) -> float:
    \"\"\"Largest speed of a joint.\"\"\"
    return float(abs(trace["v"]).max())


"""

USE_THREE = """
import json, sys
import numpy as np
import palpate as pp
from palpate.control.laws.spring import Spring
from palpate.world import Surface, World

robot, clock = pp.load_robot("cartesian2"), pp.world.Clock(duration=1.0)
turned = (0.5**0.5, 0, 0.5**0.5, 0)
log = Surface(name="log", shape="capsule", size=(0.1, 0.4), position=(0.0, -0.2, 0.0), quat_wxyz=turned)
trace = pp.simulate(pp.Run(robot, Spring(stiffness=7.0), world=World(surfaces=[log]), clock=clock))
spring = abs(trace["tau.spring"] - 7.0 * (trace["target_q"] - trace["q_measured"])).max()
weight = 9.81 + 7.0 * trace["q"][-1, 1]
speed = {one.name: one.value for one in pp.metrics.evaluate(trace)}["top_speed"]
text = "name = 'x'\\n[robot]\\nmodel = 'cartesian2'\\n[control]\\nlaw = 'spring'\\nstiffness = 3.0\\n"
open("mine.toml", "w").write(text)
sys.path.insert(0, DOCS)
import reference
print(json.dumps({
    "spring": spring, "follows": trace.facts.follows,
    "carried": trace["contact_wrench"][-1].tolist(), "weight": weight,
    "top_speed": [speed, abs(trace["v"]).max()],
    "in_a_file": pp.load_scenario("mine.toml").control.stiffness,
    "listed": list(pp.control.LAWS), "page": reference.metrics(),
}))
"""


def add_law(package):
    package.write("control/laws/spring.py", SPRING)


def add_metric(package):
    package.add("metrics/motion.py", before="def effort(", text=TOP_SPEED.lstrip())
    line = '    Metric("top_speed", "rad/s", "largest speed of a joint", motion.top_speed),\n'
    package.add("metrics/table.py", before='    Metric("effort",', text=line)


def add_shape(package):
    package.add("spatial/shapes.py", before="@dataclass(frozen=True)\nclass Shape:", text=CAPSULE.lstrip())
    line = '    "capsule": Shape(("radius", "length"), (1,), "capsule", capsule_distance),\n'
    package.add("spatial/shapes.py", after="SHAPES = {\n", text=line)


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """Three walks, the files each touched, and what a program finds that uses them all."""
    package, touched = scratch.Scratch(tmp_path_factory.mktemp("scratch")), {}
    for walk in (add_law, add_metric, add_shape):
        walk(package)
        touched[walk.__name__] = package.touched
        package.touched = set()
    return touched, json.loads(package.python(f"DOCS = {str(scratch.ROOT / 'docs')!r}\n{USE_THREE}"))


def test_a_law_is_one_file(extended):
    touched, found = extended
    named = scratch.files_named("Contributing a law")
    assert touched["add_law"] == {name.replace("<law>", "spring") for name in named}
    assert found["spring"] < 1e-12
    assert found["follows"] == "joints"
    assert found["in_a_file"] == 3.0
    assert "spring" in found["listed"]


def test_a_metric_is_a_function_and_a_line_and_stands_in_the_docs(extended):
    touched, found = extended
    assert touched["add_metric"] == scratch.files_named("A metric")
    assert found["top_speed"][0] == found["top_speed"][1] > 0
    assert "| `top_speed` | rad/s | largest speed of a joint |" in found["page"].splitlines()


def test_a_shape_is_a_function_and_a_line_and_carries_what_lies_on_it(extended):
    touched, found = extended
    assert touched["add_shape"] == scratch.files_named("A surface shape")
    assert found["carried"][1] == pytest.approx(found["weight"], rel=1e-6)  # at rest after 1 s
    assert abs(found["carried"][0]) < 1e-9


def test_the_page_of_walks_counts_the_files_that_they_touch(extended):
    touched, _ = extended
    page = (scratch.ROOT / "docs" / "walks.md").read_text()
    rows = {"a law": "add_law", "a metric": "add_metric", "a compliant surface's shape": "add_shape"}
    for row, walk in rows.items():
        assert f"| {row} | {len(touched[walk])} |" in page
