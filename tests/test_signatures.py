"""Settings have signatures that a type checker reads: misspelt keys and wrong types are seen before anything runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from house_rules import ROOT

# Each line that is wrong says what pyright finds.
SNIPPET = """\
import palpate as pp
from palpate.control import CartesianImpedance, HybridForce, JointImpedance, design
from palpate.control.references import Hold
from palpate.scenario.model import Payload
from palpate.spatial import Pose
from palpate.world import Clock, Surface

Surface(stiffness=3.0, position=[0, 0, 1], normal=(0, 0, 1))
Surface(stifness=3.0)  # No parameter named "stifness"
Surface(stiffness="soft")  # "Literal['soft']" is not assignable to "float"
Surface(contact="soft")  # "Literal['soft']" is not assignable to type "Literal['compliant']"
Surface(position=0.3)  # "float" is not assignable to "Sequence[float]"
CartesianImpedance(stiffness=[400, 400, 400, 20, 20, 20])
CartesianImpedance(stiffness=[[400.0] * 6] * 6, damping_ratio=0.7)
CartesianImpedance(stiffness=400)  # "Literal[400]" is not assignable to "Sequence[float]"
JointImpedance(stiffness=400.0)
HybridForce(force=("z",))
HybridForce(force="up")  # "Literal['up']" is not assignable to "tuple[
Payload(com=[0, 0, 0.1])  # Argument missing for parameter "mass"
Hold(wrench=[0, 0, 5, 0, 0, 0])
Clock(duration=2, rate=1000)
Clock(duration=2).seed = 3  # Attribute "seed" is read-only
Pose([0, 0, 1], [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
design.coincident_poles(stiffness=3)  # No parameter named "stiffness"
pp.simulate(pp.load_scenario("panda-wall"), duration=3)  # No parameter named "duration"
pp.derive("planar2")
"""


def test_a_type_checker_knows_the_settings(tmp_path: Path) -> None:
    (tmp_path / "snippet.py").write_text(SNIPPET, encoding="utf-8")
    config = {"include": ["snippet.py"], "extraPaths": [str(ROOT / "src")], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seen: dict[int, str] = {}
    for one in json.loads(done.stdout)["generalDiagnostics"]:
        line = one["range"]["start"]["line"]
        seen[line] = f"{seen.get(line, '')}{one['message']}\n"
    wrong = {k: m[1] for k, text in enumerate(SNIPPET.splitlines()) if (m := re.search(r"  # (.*)", text))}
    assert seen.keys() == wrong.keys(), seen
    for line, words in wrong.items():
        assert words in seen[line], (line, seen[line])
