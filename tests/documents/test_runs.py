"""What documents print, run beside the right thing; and their figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import palpate as pp
from palpate.cli.main import main
from palpate.metrics import METRICS
from palpate_documents.as_printed import runs_as_printed
from palpate_documents.d000.runs import balanced, balanced_by_arm
from palpate_documents.d004.simulations import SCENARIOS, motion_run, off_motion
from palpate_documents.figures import FIGURES, draw_figures


def test_the_printed_law_of_001_has_no_answer_where_the_optimum_stops() -> None:
    (wrong_name, wrong), (right_name, right) = runs_as_printed("001")
    assert wrong_name.startswith("as printed")
    assert right_name.startswith("right")
    assert wrong.outcome.kind == "stopped"
    assert wrong.outcome.time == 0.0
    assert "joint 3 has a = 0, b = −36.19 and so λ_3 = −∞" in wrong.outcome.reason
    assert METRICS["stop_time"].compute(right) < 0.095
    assert METRICS["stop_deviation"].compute(right) < 0.002


def test_the_printed_correction_of_002_diverges_in_one_elbow_posture_only() -> None:
    runs = dict(runs_as_printed("002"))
    ends = {name: trace.outcome.kind for name, trace in runs.items()}
    assert ends == {
        "as printed: dT = (J^T)⁻¹ dF, θ2 = −120°": "completed",
        "as printed: dT = (J^T)⁻¹ dF, θ2 = +120°": "stopped",
        "right: dT = J^T dF, θ2 = +120°": "completed",
    }
    last = -runs["right: dT = J^T dF, θ2 = +120°"]["contact_wrench"][-1, :2]
    np.testing.assert_allclose(last, [1, 2], atol=0.02)


def test_one_tensor_for_all_links_makes_004s_arm_fall_faster() -> None:
    (_, wrong), (_, right) = runs_as_printed("004")
    k = int(np.argmin(np.abs(right.time - 0.5)))
    # The law's damping is held over each step of 1 ms.
    np.testing.assert_allclose(right["q"][k], [0.966421256235, 1.454064419961, 0.676632056386], atol=5e-3)
    assert np.abs(wrong["q"] - right["q"]).max() > 0.02


def test_the_slips_of_000_change_the_motion_and_the_right_form_balances() -> None:
    wrong, right = balanced(True), balanced(False)
    assert right["tilt"][0] == pytest.approx(np.arcsin(np.hypot(0.3, 0.25)))
    assert right["tilt"][-1] < 0.05
    assert np.abs(wrong["tool_position"] - right["tool_position"]).max() > 1e-3  # feedback hides most of it
    np.testing.assert_allclose(right["f_B"][-1], [0, 0, 0.981], atol=0.1)


@pytest.mark.slow
def test_the_slips_of_000_change_the_whole_arms_motion_too() -> None:
    wrong, right = balanced_by_arm(True), balanced_by_arm(False)
    assert right.outcome.ok
    assert wrong.outcome.ok  # feedback hides most of it
    assert METRICS["tilt_max"].compute(right) == pytest.approx(np.hypot(0.1, 0.12), abs=0.01)
    assert METRICS["tilt_end"].compute(right) < 0.05
    assert np.abs(wrong["tool_position"] - right["tool_position"]).max() > 1e-5


def test_the_command_prints_both_and_writes_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "both.html"
    assert main(["verify", "000", "--as-printed", "--html", str(out)]) == 0
    told = capsys.readouterr().out
    assert "two slips" in told
    assert f"wrote {out}" in told
    assert "two slips" in out.read_text("utf-8")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["verify", "--as-printed"], "--as-printed takes"),
        (["verify", "003", "--as-printed"], "prints nothing"),
        (["verify", "009", "--as-printed"], "unknown document"),
        (["verify", "009", "--figures", "x"], "unknown document"),
    ],
)
def test_what_cannot_be_run_is_refused(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert told in capsys.readouterr().err


def test_the_figures_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "001", "002", "--figures", str(tmp_path / "figures")]) == 0
    made = capsys.readouterr().out.split()
    assert len(made) == len(FIGURES["001"]) + len(FIGURES["002"])
    for path in made:
        picture = np.asarray(Image.open(path).convert("L"))
        assert picture.shape[0] > 300
        assert 0.005 < (picture < 128).mean() < 0.5, path
    blocker = tmp_path / "file"
    blocker.write_text("x")
    assert main(["verify", "001", "--figures", str(blocker / "x")]) == 2


def test_every_document_has_figures(tmp_path: Path) -> None:
    made = draw_figures(tmp_path, ["003", "004"])
    assert len(made) == len(FIGURES["003"]) + len(FIGURES["004"])
    assert set(FIGURES) == {"000", "001", "002", "003", "004"}


@pytest.mark.parametrize("figure", ["3", "4", "5"])
def test_the_admittance_runs_follow_one_motion_and_yield_to_the_wrench(figure: str) -> None:
    trace = motion_run(SCENARIOS[figure])
    np.testing.assert_allclose(trace["target_position"][-1] - trace["target_position"][0], [0.1, 0.1, -0.05], atol=1e-9)
    gap, turn = (dict(zip((4, 9.98, 14.9, 19.98), x[[200, 499, 745, 999]])) for x in off_motion(trace))
    assert trace.time[499] == pytest.approx(9.98)
    assert gap[4] < 1e-9
    assert 0.36 < gap[9.98] < 0.38
    assert gap[14.9] < 0.01
    assert turn[9.98] < 1e-6
    assert turn[19.98] < 1e-6 if figure == "3" else 0.14 < turn[19.98] < 0.155


def test_the_compliant_frames_euler_angles_are_those_of_its_quaternion() -> None:
    trace = motion_run(SCENARIOS["4"])
    for k in (0, 500, 900, 1200):
        R = pp.spatial.matrix_from_euler(trace["law.compliant_euler"][k], "XYZ")
        np.testing.assert_allclose(R, pp.spatial.matrix_from_quat(trace["law.compliant_quat_wxyz"][k]), atol=1e-9)
