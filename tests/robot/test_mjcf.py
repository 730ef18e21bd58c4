"""MJCF beyond single values: includes, defaults, sub-models, and compilation under guard."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from palpate.robot.catalogue import model_xml, names
from palpate.robot.readers.compile_child import _stiffest
from palpate.robot.readers.findings import Finding
from palpate.robot.readers.guarded import CompileLimits, compile_guarded
from palpate.robot.readers.mjcf.reader import inspect_mjcf, load_mjcf
from palpate.robot.readers.mjcf.rules import check_rules
from palpate.robot.readers.xmlfile import Report

BODY = '<body name="b"><joint name="j" axis="0 1 0"/><geom size="0.1"/></body>'
ENDLESS = (
    '<mujoco><worldbody><replicate count="100000000" offset="1 0 0">'
    "<body><joint/><geom size='0.1'/></body></replicate></worldbody></mujoco>"
)


def write(folder: Path, text: str, name: str = "model.xml") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def check_mjcf(path: Path, limits: CompileLimits | None = None) -> list[Finding]:
    return list(inspect_mjcf(path, limits=limits).findings)


@pytest.mark.parametrize("name", names())
def test_the_catalogue_has_no_findings(tmp_path, name):
    assert check_mjcf(write(tmp_path, model_xml(name))) == []


def test_a_fault_in_an_included_file_is_told_with_that_files_name_and_line(tmp_path):
    write(tmp_path, f'<mujoco>\n<worldbody>{BODY}</worldbody>\n<option timestep="0"/></mujoco>', "parts/arm.xml")
    main = write(tmp_path, '<mujoco>\n<include file="parts/arm.xml"/></mujoco>')
    (finding,) = check_mjcf(main)
    assert (finding.file, finding.line, finding.element) == (os.path.join("parts", "arm.xml"), 3, "option")


def test_a_ring_of_includes_is_told_as_a_chain(tmp_path):
    write(tmp_path, '<mujoco><include file="c.xml"/></mujoco>', "b.xml")
    write(tmp_path, '<mujoco><include file="model.xml"/></mujoco>', "c.xml")
    (finding,) = check_mjcf(write(tmp_path, '<mujoco><include file="b.xml"/></mujoco>'))
    assert "model.xml → b.xml → c.xml → model.xml" in finding.found


def test_a_broken_or_missing_include_is_told_and_nothing_is_compiled(tmp_path):
    write(tmp_path, "<mujoco><worldbody>", "broken.xml")
    text = '<mujoco>\n<include file="broken.xml"/>\n<include file="none.xml"/></mujoco>'
    missing, broken = check_mjcf(write(tmp_path, text))
    assert (broken.file, "well-formed" in broken.rule) == ("broken.xml", True)
    assert (missing.line, missing.rule) == (3, "file not found")


def test_the_files_of_a_sub_model_are_looked_at_too(tmp_path):
    inner = '<mujoco>\n<asset><mesh name="m" file="../../secret.stl"/></asset></mujoco>'
    write(tmp_path, inner, "parts/inner.xml")
    main = write(
        tmp_path, f'<mujoco><asset><model file="parts/inner.xml"/></asset><worldbody>{BODY}</worldbody></mujoco>'
    )
    (finding,) = check_mjcf(main)
    assert finding.file == os.path.join("parts", "inner.xml")
    assert (finding.line, "escapes" in finding.rule) == (2, True)


def test_default_classes_decide_what_a_range_means(tmp_path):
    default = '<default><default class="rail"><joint type="slide"/></default></default>'
    slide = '<body childclass="rail"><joint name="j" range="-1 1"/><geom size="0.1"/></body>'
    text = f"<mujoco>{default}<worldbody>{slide}</worldbody></mujoco>"
    assert check_mjcf(write(tmp_path, text)) == []
    (finding,) = check_mjcf(write(tmp_path, text.replace(' childclass="rail"', "")))
    assert "±1°" in finding.rule


def test_euler_angles_of_half_pi_without_a_unit_are_suspicious(tmp_path):
    text = f'<mujoco><worldbody><body euler="1.5708 0 0">{BODY}</body></worldbody></mujoco>'
    (finding,) = check_mjcf(write(tmp_path, text))
    assert finding.level == "warning"
    assert "degrees" in finding.rule


def test_explicit_inertias_are_a_warning_where_mujoco_is_told_to_balance_them(tmp_path):
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/>'
    body = f'<body name="b"><joint name="j"/>{inertial}</body>'
    text = f'<mujoco><compiler balanceinertia="true"/><worldbody>{body}</worldbody></mujoco>'
    (finding,) = check_mjcf(write(tmp_path, text))
    assert finding.level == "warning"
    (finding,) = check_mjcf(write(tmp_path, text.replace("true", "false")))
    assert finding.level == "error"


def test_a_spring_too_stiff_for_the_timestep_is_a_warning_and_a_servo_that_is_taken_off_is_none(tmp_path):
    text = f'<mujoco><worldbody>{BODY}</worldbody><actuator><position joint="j" kp="1e7"/></actuator></mujoco>'
    assert check_mjcf(write(tmp_path, text)) == []
    (finding,) = check_mjcf(write(tmp_path, text.replace('name="j"', 'name="j" stiffness="1e7"', 1)))
    # A ball of density 1000 and radius r: I = 2/5 m r².
    inertia = 0.4 * 1000 * 4 / 3 * np.pi * 0.1**5
    assert f"dt·ω_max = {0.002 * np.sqrt(1e7 / inertia):.2g}" in finding.rule


def test_the_highest_frequency_is_that_of_the_eigenvalue_problem():
    import mujoco

    joint = '<joint name="s" type="slide" stiffness="90"/>'
    text = f'<mujoco><worldbody><body><geom size="0.1" mass="10"/>{joint}</body></worldbody></mujoco>'
    assert _stiffest(mujoco.MjModel.from_xml_string(text)) == pytest.approx(3.0)


def test_a_model_that_would_never_end_is_stopped_at_the_limit(tmp_path):
    (finding,) = check_mjcf(write(tmp_path, ENDLESS), limits=CompileLimits(seconds=1.0))
    assert (finding.level, finding.line) == ("error", 0)
    assert "longer than 1 s" in finding.found


@pytest.mark.skipif(os.name != "posix", reason="address space is limited on POSIX systems only")
def test_a_model_that_wants_too_much_memory_is_stopped(tmp_path):
    text = f'<mujoco><size memory="20G"/><worldbody>{BODY}</worldbody></mujoco>'
    made = compile_guarded(write(tmp_path, text))
    assert made.accident is not None
    assert "more than 4 GiB" in made.accident


def test_a_crash_of_the_engine_becomes_a_finding(tmp_path, monkeypatch):
    child = write(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "child.py")
    monkeypatch.setattr("palpate.robot.readers.guarded._CHILD", child)
    (finding,) = check_mjcf(write(tmp_path, f"<mujoco><worldbody>{BODY}</worldbody></mujoco>"))
    assert finding.level == "error"
    assert "SIGSEGV" in finding.found


def test_no_log_file_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = '<mujoco><worldbody><body><joint stiffness="nan"/><geom size="1"/></body></worldbody></mujoco>'
    assert check_mjcf(write(tmp_path, text))
    assert [path.name for path in tmp_path.iterdir()] == ["model.xml"]


def test_a_garbled_file_gives_findings_and_nothing_else(tmp_path):
    """Without compiling, which costs a process each time and is guarded anyway."""
    rng = np.random.default_rng(5)
    good, path = model_xml("panda").encode(), tmp_path / "model.xml"
    for _ in range(300):
        data = bytearray(good)
        for _ in range(rng.integers(1, 4)):
            start, length = int(rng.integers(len(data))), int(rng.integers(1, 40))
            if rng.integers(2):
                del data[start : start + length]
            else:
                data[start:start] = [b"nan", b"0 ", b"-", b'"', b"<", b"/>", b"\xff", b"include"][rng.integers(8)]
        path.write_bytes(data)
        report = Report(str(path))
        source = load_mjcf(path, report)
        root = source.root
        assert root is not None or report.has_errors
        assert root is not None or not source.safe
        if root is not None:
            check_rules(root, report)
