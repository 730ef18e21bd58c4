from __future__ import annotations

import numpy as np
import pytest

from palpate.trace import Channel, Outcome, RunFacts, Trace
from palpate.views.first_figure import leading
from palpate.views.pages.interactive import thin
from palpate.views.panels import (
    COLOURS,
    Curve,
    Figure,
    Panel,
    figures_of,
    kinds_of,
    marks_of,
    styled,
    without_flat_panels,
)

NAMES = [
    "joints", "velocities", "torques", "torque_terms", "tool_position", "tool_errors", "forces", "contact", "energy",
]  # fmt: skip


def bare(time, **channels) -> Trace:
    data = {Channel(name, "1", np.shape(values)[1:]): values for name, values in channels.items()}
    return Trace(time, data, Outcome("completed", "done", float(time[-1]), 1))


def test_a_full_trace_gives_every_figure_with_units_on_its_axes(trace: Trace) -> None:
    figures = {figure.name: figure for figure in figures_of(trace)}
    assert list(figures) == NAMES
    units = {name: [panel.unit for panel in figure.panels] for name, figure in figures.items()}
    assert units["joints"] == ["rad"]
    assert units["forces"] == ["N", "N·m"]
    assert units["contact"] == ["N", "m"]
    assert units["torque_terms"] == ["N·m"] * 7
    assert [line.label for line in figures["torque_terms"].panels[0].lines] == ["spring", "damper", "sum"]


def test_terms_add_up_to_the_sum_that_is_drawn(trace: Trace) -> None:
    for panel in next(figure for figure in figures_of(trace) if figure.name == "torque_terms").panels:
        *terms, total = (line.values for line in panel.lines)
        np.testing.assert_allclose(sum(terms), total, atol=1e-12)


def test_a_trace_without_channels_gives_no_figures() -> None:
    assert figures_of(bare(np.arange(3.0), other=np.zeros(3))) == []


def test_joints_of_different_units_get_panels_of_their_own() -> None:
    channel = Channel("q", ("rad", "m", "rad"), (3,), labels=("a", "b", "c"))
    mixed = Trace([0.0, 1.0], {channel: np.zeros((2, 3))}, Outcome("completed", "done", 1.0, 1))
    panels = figures_of(mixed)[0].panels
    assert [(panel.unit, [line.label for line in panel.lines]) for panel in panels] == [
        ("rad", ["a", "c"]),
        ("m", ["b"]),
    ]


def test_many_lines_differ_in_colour_or_dash() -> None:
    looks = {(line.colour, line.dash) for line in (styled(i, "x", np.zeros(1), np.zeros(1)) for i in range(21))}
    assert len(looks) == 21
    assert len(set(COLOURS)) == 7


def test_contact_pushes_and_guards_are_marked(trace: Trace) -> None:
    marks = marks_of(trace)
    assert kinds_of(marks) == ("contact", "push", "guard")
    found = {span.kind: (span.start, span.stop) for span in marks}
    np.testing.assert_allclose(found["contact"], (0.505, 2.0), atol=1e-9)
    np.testing.assert_allclose(found["push"], (1.005, 1.2), atol=1e-9)
    np.testing.assert_allclose(found["guard"], (1.705, 2.0), atol=1e-9)


def test_chatter_is_joined_and_a_blow_stays_visible() -> None:
    time = np.linspace(0.0, 10.0, 10001)
    force = np.where((time > 4) & (time < 6) & (np.arange(10001) % 2 == 0), 1.0, 0.0)
    force[9000] = 1.0
    spans = marks_of(bare(time, contact_force=force))
    assert len(spans) == 2
    np.testing.assert_allclose((spans[0].start, spans[0].stop), (4.002, 6.0), atol=0.03)
    assert spans[1].stop - spans[1].start >= 0.0199


def test_thinning_keeps_ends_peaks_and_order() -> None:
    time = np.linspace(0.0, 1.0, 50001)
    values = np.sin(20 * time)
    values[12345], values[40000] = 9.0, -9.0
    t, v = thin(time, values, 500)
    assert len(t) <= 500
    assert (t[0], t[-1], v.max(), v.min()) == (0.0, 1.0, 9.0, -9.0)
    assert np.all(np.diff(t) > 0)
    np.testing.assert_array_equal(v, values[np.searchsorted(time, t)])


@pytest.mark.parametrize("count", [1, 2, 100])
def test_a_constant_needs_its_ends_alone(count: int) -> None:
    t, v = thin(np.arange(float(count)), np.full(count, 3.0), 500)
    assert len(t) == min(count, 2)
    assert set(v) == {3.0}


def test_the_contact_force_leads_where_something_is_touched(trace: Trace) -> None:
    figure = leading(trace)
    assert figure is not None
    assert figure.name == "contact_force"
    assert [line.label for line in figure.panels[0].lines] == ["contact force", "measured"]  # which feels pushes too
    np.testing.assert_array_equal(figure.panels[0].lines[0].values, trace["contact_force"])


def test_without_contact_the_distance_from_the_target_leads() -> None:
    time = np.linspace(0.0, 1.0, 11)
    way, still = np.outer(time, [1.0, 0.0, 0.0]), np.zeros((11, 3))
    free = bare(time, contact_force=np.zeros(11), tool_position=way, target_position=still)
    figure = leading(free)
    assert figure is not None
    assert (figure.name, figure.panels[0].unit) == ("tool_errors", "m")
    assert leading(bare(time, other=time)) is None


def test_panels_that_do_not_move_are_left_out_and_said() -> None:
    time = np.linspace(0.0, 1.0, 5)

    def panel(title: str, size: float) -> Panel:
        zero = Curve("zero", time, 0 * time, "#000000")
        return Panel(title, "m", (Curve(title, time, size * time, "#000000"), zero))

    shown, note = without_flat_panels(Figure("f", "F", (panel("x", 1.0), panel("y", 0.5), panel("z", 1e-3))))
    assert [p.title for p in shown.panels] == ["x", "y"]
    assert [line.label for line in shown.panels[0].lines] == ["x"]
    assert "z (changes by 0.001 m)" in note
    assert "Zero throughout: zero." in note
    nothing, _ = without_flat_panels(Figure("f", "F", (panel("x", 1e-12),)))
    assert nothing.panels == ()


def test_a_sensor_that_says_what_is_so_is_not_drawn_twice(trace: Trace) -> None:
    def labels(measured: np.ndarray) -> list[str]:
        data = {trace.channels["contact_wrench"]: trace["contact_wrench"], trace.channels["measured_wrench"]: measured}
        figure = figures_of(Trace(trace.time, data, trace.outcome))[0]
        return [line.label.split(" ")[0] for line in figure.panels[0].lines]

    assert set(labels(trace["contact_wrench"])) == {"contact"}
    assert set(labels(trace["measured_wrench"])) == {"contact", "measured"}


def test_a_pole_shows_its_tilt() -> None:
    hinge = {"kind": "hinge", "axis": [1.0, 0.0, 0.0], "position": [0.0] * 3, "coordinate": 1, "reference": 0.0}
    look = {"position": [0.0] * 3, "quat_wxyz": [1.0, 0.0, 0.0, 0.0], "surface": None, "geoms": [], "joints": []}
    scene = [{**look, "name": "world", "parent": 0}, {**look, "name": "pole", "parent": 0, "joints": [hinge]}]
    angles = np.array([0.0, 0.1, -0.3])
    AB = np.stack([np.zeros(3), np.sin(angles), np.cos(angles)], axis=1)
    data = {Channel("q", "rad", (1,)): np.zeros((3, 1)), Channel("rest_q", "rad", (1,)): angles[:, None]}
    data |= {Channel("pole.tilt", "rad"): np.abs(angles), Channel("pole.AB", "m", (3,)): AB}
    pole = Trace([0.0, 1.0, 2.0], data, Outcome("completed", "done", 2.0, 2), facts=RunFacts(scene=scene))
    figure = leading(pole)
    assert figure is not None
    np.testing.assert_allclose(figure.panels[0].lines[0].values, np.abs(angles), atol=1e-12)


def test_what_a_law_shows_gets_panels_of_its_own() -> None:
    data = {
        Channel("law.tank", "J"): np.arange(3.0),
        Channel("law.foot", "N", (2,), labels=("left", "right")): np.ones((3, 2)),
    }
    figures = figures_of(Trace([0.0, 1.0, 2.0], data, Outcome("completed", "done", 2.0, 2)))
    assert [(f.name, f.group) for f in figures] == [("law", "law")]
    assert [(p.title, p.unit, [line.label for line in p.lines]) for p in figures[0].panels] == [
        ("tank", "J", ["tank"]),
        ("foot", "N", ["left", "right"]),
    ]


def test_friction_across_the_wanted_force_is_no_error_on_the_first_figure() -> None:
    """10 N wanted along z, met exactly, with friction 0.3 along x: √(1 + 0.3²) · 10 = 10.44 N is the size alone."""
    time = np.arange(6.0)
    wrench = np.tile([3.0, 0, 10, 0, 0, 0], (6, 1))
    target = np.tile([0.0, 0, 10, 0, 0, 0], (6, 1))
    target[:2], wrench[0] = 0.0, 0.0  # before it is wanted the direction is known already
    size = np.linalg.norm(wrench[:, :3], axis=1)
    found = leading(bare(time, contact_force=size, contact_wrench=wrench, target_wrench=target))
    assert found is not None
    lines = {line.label: line.values for line in found.panels[0].lines}
    np.testing.assert_allclose(lines["contact force along the desired force"], [0, 10, 10, 10, 10, 10])
    np.testing.assert_allclose(lines["desired"], [0, 0, 10, 10, 10, 10])
    np.testing.assert_allclose(lines["magnitude, with friction"][1:], 10.4403, atol=1e-4)
    plain = leading(bare(time, contact_force=size, contact_wrench=wrench))
    assert plain is not None
    assert [line.label for line in plain.panels[0].lines] == ["contact force"]


def test_the_direction_of_the_wanted_force_changes_with_its_step() -> None:
    """10 N along z, from the third sample on along x: at that very sample the force along it is the one along x."""
    wrench = np.tile([2.0, 0, 7, 0, 0, 0], (6, 1))
    target = np.tile([0.0, 0, 10, 0, 0, 0], (6, 1))
    target[3:, :3] = 10.0, 0.0, 0.0
    size = np.linalg.norm(wrench[:, :3], axis=1)
    figure = leading(bare(np.arange(6.0), contact_force=size, contact_wrench=wrench, target_wrench=target))
    assert figure is not None
    lines = {line.label: line.values for line in figure.panels[0].lines}
    np.testing.assert_allclose(lines["contact force along the desired force"], [7, 7, 7, 2, 2, 2])
