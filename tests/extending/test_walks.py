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

ALTIMETER = """
class Altimeter(Record):
    \"\"\"How high the tool is, late and noisy.\"\"\"

    noise: float
    signal: Delayed


@kernel
def read_height(s: Altimeter, height: float, seed: int, count: int) -> None:
    \"\"\"The height that has arrived.\"\"\"
    s.signal.fresh[0] = height + s.noise * normal(seed, 9000, count)
    arrive(s.signal, count)
"""

USE_THREE = """
import json, sys
import numpy as np
import palpate as pp
from palpate.control.laws.spring import Spring
from palpate.world import Surface, World

robot, clock = pp.load_robot("cartesian2"), pp.Clock(duration=1.0)
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

USE_SENSOR = """
import json
import numpy as np
import palpate as pp
from palpate.control import PythonLaw
from palpate.world import World

robot, seen = pp.load_robot("cartesian2"), []
world = World(sensors={"altimeter": {"noise": 0.0, "delay": 2}})

def watch(tick, gains, memory):
    seen.append(tick.seen.altimeter.height)
    return {"none": 0 * tick.v}

late = pp.simulate(pp.Run(robot, PythonLaw(watch, terms=("none",)), world=world, clock=pp.Clock(duration=1.0)))
lag = abs(np.array(seen)[2:200] - late["tool_position"][:198, 1]).max()
print(json.dumps({"lag": lag, "channel": abs(late["height"][-1] - late["tool_position"][-1, 1])}))
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


def add_sensor(package):
    package.add(
        "control/law.py",
        before="class Seen(Record):",
        text="class AltimeterView(Record):\n    height: float = 0.0\n\n\n",
    )
    package.add("control/law.py", after="    pole: PoleView\n", text="    altimeter: AltimeterView\n")
    package.add(
        "world/config.py",
        before="class Sensors(Late):",
        text="class AltimeterSettings(Config):\n"
        '    noise: float = setting(0.0, "m", "standard deviation per sample", ge=0)\n'
        '    delay: int = setting(0, "samples", "control periods until a reading arrives", ge=0, le=1000)\n\n\n',
    )
    package.add(
        "world/config.py",
        after='    wrench: WrenchSensor = setting(WrenchSensor(), "1", "the wrist sensor")\n',
        text='    altimeter: AltimeterSettings = setting(AltimeterSettings(), "1", "height of the tool")\n',
    )
    package.add("world/sensors.py", before="@kernel\ndef read_joints(", text=ALTIMETER.lstrip() + "\n\n")
    package.add("run/loop/state.py", after="    wrist: Wrist\n", text="    altimeter: Altimeter\n")
    package.add("run/loop/state.py", after="import Delayed", text=", Altimeter")
    package.add("run/loop/measure.py", after="from palpate.world.sensors import (\n", text="    read_height,\n")
    package.add(
        "run/loop/measure.py",
        before="    put(x.wrench, 0, L.wrist.signal.seen)\n",
        text="    read_height(L.altimeter, L.row.tool_position[1], L.seed, count)\n"
        "    x.seen.altimeter.height = L.altimeter.signal.seen[0]\n"
        "    L.row.height[0] = L.row.tool_position[1]\n",
    )
    package.add("run/assemble/assemble.py", after="import bodies_beyond", text=", Altimeter")
    package.add(
        "run/assemble/assemble.py",
        before='        "wrist": wrist_sensor(',
        text='        "altimeter": Altimeter(\n'
        "            noise=sensors.altimeter.noise, signal=delayed(sensors.altimeter.delay, 1)\n"
        "        ),\n",
    )
    package.add(
        "run/loop/row.py",
        before="    push_wrench: Vector",
        text='    height: Vector = recorded(1, unit="m", help="height")\n',
    )


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
    named = scratch.files_named("A law for everybody")
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


@pytest.mark.slow  # compiles the whole loop anew
def test_a_sensor_is_seen_late_by_every_law_and_recorded(tmp_path):
    package = scratch.Scratch(tmp_path, whole=True)
    add_sensor(package)
    assert package.touched == scratch.files_named("A sensor")
    found = json.loads(package.python(USE_SENSOR, PALPATE_CACHE_DIR=str(tmp_path / "cache")))
    assert found["lag"] == 0
    assert found["channel"] < 1e-12
