"""On which line a key stands."""

from __future__ import annotations

from palpate.scenario.file.key_lines import key_lines

TEXT = '''\
name = "x"   # [not.a.header]
description = """
[robot]
model = 1
"""
"odd key" = 1
a.b = 2

[robot]
parameters = {length = 1.0, mass = 2}
q = [
    1,
    2,
]
[[world.surfaces]]
name = "wall"
  [world.surfaces.motion]
  start = 1
[[world.surfaces]]
stiffness = 3
[ world . sensors ]
delay = 1
'''


def test_every_key_is_found_on_its_line() -> None:
    assert key_lines(TEXT) == {
        ("name",): 1,
        ("description",): 2,
        ("odd key",): 6,
        ("a", "b"): 7,
        ("robot",): 9,
        ("robot", "parameters"): 10,
        ("robot", "parameters", "length"): 10,
        ("robot", "parameters", "mass"): 10,
        ("robot", "q"): 11,
        ("world", "surfaces", 0): 15,
        ("world", "surfaces", 0, "name"): 16,
        ("world", "surfaces", 0, "motion"): 17,
        ("world", "surfaces", 0, "motion", "start"): 18,
        ("world", "surfaces", 1): 19,
        ("world", "surfaces", 1, "stiffness"): 20,
        ("world", "sensors"): 21,
        ("world", "sensors", "delay"): 22,
    }
