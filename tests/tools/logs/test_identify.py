"""A known arm is found again: regressors, intervals, pairing, friction, load, physical bodies, held-out rollouts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tools.logs.made import Faults, campaign, recording, truth

import palpate as pp
from palpate.errors import InvalidInput
from palpate.robot.catalogue.joint_facts import read_facts
from palpate.scenario.model import RobotSettings
from palpate.toml import toml_data
from palpate.tools.logs import balance
from palpate.tools.logs.balance import line
from palpate.tools.logs.cleaning import cleaned
from palpate.tools.logs.columns import Log
from palpate.tools.logs.fitted import fitted_text
from palpate.tools.logs.identify import Identification, identify, without_the_arms_errors
from palpate.tools.logs.model import (
    Arm,
    load_of,
    load_of_pseudo,
    load_regressor,
    nearest_possible,
    pseudo_inertia,
    tensor,
)
from palpate.tools.logs.suggest import suggested


@pytest.fixture(scope="module")
def arm() -> Arm:
    return Arm.of(pp.load_robot("ur5e-3link"))


@pytest.fixture(scope="module")
def told(arm: Arm) -> Identification:
    return identify(recording(arm, truth(arm), 0), arm, rollouts=False)


def test_the_regressor_of_a_load_gives_the_torques_of_the_arm_that_carries_it(arm: Arm) -> None:
    rng = np.random.default_rng(0)
    Q, V, A = rng.uniform(-1, 1, (3, 6, 3))
    mass, com, inertia = 1.3, np.array([0.02, -0.05, 0.1]), np.diag([0.01, 0.02, 0.025])
    carrying = arm.robot.with_payload(mass, com, inertia, frame=arm.frame)
    more = np.array([carrying.inverse_dynamics(*s) - arm.robot.inverse_dynamics(*s) for s in zip(Q, V, A)])
    made = load_regressor(arm.robot, Q, V, A, arm.frame) @ load_of(mass, com, inertia)
    np.testing.assert_allclose(made, more, atol=1e-12)


def test_a_pseudo_inertia_is_positive_exactly_for_bodies_that_there_are() -> None:
    body = load_of(2.0, np.array([0.1, 0.0, 0.2]), np.diag([0.02, 0.02, 0.03]))
    np.testing.assert_allclose(load_of_pseudo(pseudo_inertia(body)), body, atol=1e-15)
    assert np.linalg.eigvalsh(pseudo_inertia(body))[0] > 0
    thin = load_of(2.0, np.zeros(3), np.diag([0.01, 0.01, 0.03]))  # 0.03 > 0.01 + 0.01: no body
    assert np.linalg.eigvalsh(pseudo_inertia(thin))[0] < 0


def test_an_impossible_load_becomes_the_nearest_possible_one() -> None:
    thin = load_of(2.0, np.array([0.05, 0.0, 0.0]), np.diag([0.01, 0.01, 0.03]))
    information = np.diag([1e6, *3 * [1e6], *6 * [1.0]])
    body = nearest_possible(thin, information)
    assert np.linalg.eigvalsh(pseudo_inertia(body))[0] > -1e-9
    np.testing.assert_allclose(body[:4], thin[:4], atol=1e-4)  # what is well known stays
    moments = np.linalg.eigvalsh(tensor(body[4:]) - 2.0 * np.diag([0.0, 0.05**2, 0.05**2]))
    assert moments[2] <= moments[0] + moments[1] + 1e-6
    possible = load_of(1.0, np.zeros(3), np.diag([0.01, 0.01, 0.01]))
    assert nearest_possible(possible, information) is possible


def test_a_known_arm_is_inside_its_intervals(arm: Arm, told: Identification) -> None:
    true = dict(zip(arm.names, truth(arm)))
    known = {name: q for name, q in told.quantities.items() if not q.reason}
    inside = [q.low <= true[name] <= q.high for name, q in known.items()]
    assert len(known) >= 18
    assert sum(inside) >= len(known) - 2  # of 95 % intervals
    assert known["mass"].half < 0.02
    assert known["coulomb joint1"].half < 0.05 * known["coulomb joint1"].value


def test_what_the_torques_cannot_tell_apart_is_refused_by_name(told: Identification) -> None:
    refused = {name for name, q in told.quantities.items() if q.reason}
    assert refused == {"I_xx", "I_yy", "rotor joint1"}  # about one axis they act alike


def test_a_wrong_pairing_of_rows_is_found(arm: Arm) -> None:
    texts = {
        late: identify(recording(arm, truth(arm), 1, Faults(late_rows=late)), arm, rollouts=False).remarks
        for late in (0, 1)
    }
    assert [any("paired" in text for text in texts[late]) for late in (0, 1)] == [False, True]


def test_repeats_gaps_and_clocks_are_counted(told: Identification) -> None:
    counts = told.motion.counts
    assert counts["repeated"] / counts["rows"] == pytest.approx(0.06, abs=0.01)
    assert counts["clock_rate_ppm"] == pytest.approx(80.0, abs=0.5)


def test_a_stribeck_effect_is_found_and_none_is_invented(arm: Arm, told: Identification) -> None:
    theta = truth(arm)
    theta[arm.columns("stribeck")] = 1.5
    found = identify(recording(arm, theta, 0), arm, rollouts=False)
    assert told.stribeck is None
    assert found.stribeck == pytest.approx(0.05, rel=0.05)
    q = found.quantities["stribeck joint1"]
    assert q.low < 1.5 < q.high


def test_the_columns_of_stribeck_speeds_are_the_slopes_of_the_friction_curve(arm: Arm) -> None:
    V, strength, speed, step = (
        np.linspace(-0.3, 0.3, 40).repeat(3).reshape(-1, 3),
        np.array([1.0, 0.5, 2.0]),
        0.06,
        1e-6,
    )
    theta = np.zeros(len(arm.names))
    theta[arm.columns("stribeck")] = strength
    state = np.tile(arm.robot.home, (len(V), 1)), V, np.zeros_like(V)
    there, back = (arm.regressor(*state, speed + side * step) @ theta for side in (1, -1))
    bend = arm.bend(V, speed, strength)
    np.testing.assert_allclose(bend.sum(axis=2), (there - back) / (2 * step), atol=1e-7)
    assert not bend[:, ~np.eye(3, dtype=bool)].any()


def test_intervals_hold_the_error_of_the_stribeck_speed(arm: Arm) -> None:
    """Speeds of 0.045 to 0.055 rad/s of the three joints, which one common speed of the fit cannot all be."""
    theta, speeds = truth(arm), np.array([0.045, 0.05, 0.055])
    theta[arm.columns("stribeck")] = 1.5
    log = recording(arm, theta, 0)
    assert log.v is not None
    noisy = log.torque + (arm.bend(log.v, 0.05, np.full(3, 1.5)) @ (speeds - 0.05))
    told = identify(replace(log, tau=noisy), arm, rollouts=False).quantities
    for kind in ("stribeck", "coulomb"):
        for joint, true in zip(arm.robot.dof_names, theta[arm.columns(kind)]):
            assert told[f"{kind} {joint}"].low < true < told[f"{kind} {joint}"].high


@pytest.mark.parametrize(("factor", "word"), [(-1.0, "sign"), (1000.0, "unit")])
def test_torques_of_another_sign_or_unit_are_refused(arm: Arm, factor: float, word: str) -> None:
    log = recording(arm, arm.nominal, 0)
    assert log.tau is not None
    with pytest.raises(InvalidInput, match=word):
        identify(replace(log, tau=factor * log.tau), arm, rollouts=False)


def test_a_row_that_jumps_away_and_back_is_left_out_and_told(arm: Arm) -> None:
    log = recording(arm, truth(arm), 0, Faults(repeated=0.0, late_rows=0), duration=4.0)
    q, tau = log.q.copy(), log.torque.copy()
    q[200, 1] += 0.5
    tau[300, 0] -= 500.0
    motion = cleaned(replace(log, q=q, tau=tau))
    assert motion.counts["spikes"] == 2
    assert any("2 rows far off" in text for text in motion.remarks)
    assert cleaned(log).counts["spikes"] == 0
    whole, mended = cleaned(log).longest, motion.longest
    there = np.interp(whole.time, mended.time, mended.q[:, 1])
    np.testing.assert_allclose(there, whole.q[:, 1], atol=2e-3)  # rows are up to 9 ms apart


def test_a_long_recording_is_compared_piece_by_piece(arm: Arm, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more rows at once than a piece and its margins; what comes out is the same to rounding."""
    motion = cleaned(recording(arm, truth(arm), 0, Faults(steps=(2e-3, 2e-3)), duration=16.0))
    load, largest = np.ones(10), []
    whole = balance.rows_of(motion, arm, carrying=load, every=6)
    columns = arm.load_columns

    def counting(self: Arm, Q: np.ndarray, *rest: Any) -> np.ndarray:
        largest.append(len(Q))
        return columns(Q, *rest)

    monkeypatch.setattr(Arm, "load_columns", counting)
    monkeypatch.setattr(balance, "PIECE", 600)
    cut = balance.rows_of(motion, arm, carrying=load, every=6)
    assert len(largest) > 10
    assert max(largest) <= 600 + 2 * 24 / (motion.filter.cutoff * motion.period) + 2
    for name, scale in (("y", 1.0), ("X", 1.0), ("rate", 1.0), ("speed", 1.0)):
        np.testing.assert_allclose(getattr(cut, name), getattr(whole, name), rtol=0, atol=1e-9 * scale)
    np.testing.assert_array_equal(cut.use, whole.use)
    assert np.abs(cut.sag - whole.sag).max() < 0.01 * np.abs(whole.sag).max()


def test_swapped_columns_of_torques_are_refused_by_name(arm: Arm) -> None:
    theta = arm.nominal.copy()
    theta[arm.columns("rotor")] = 0.0
    log = recording(arm, theta, 0, Faults(late_rows=0), duration=6.0)
    with pytest.raises(InvalidInput, match=r"joint2 follow.*joint3.*swapped"):
        identify(replace(log, tau=log.torque[:, [0, 2, 1]]), arm, rollouts=False)


def test_an_arm_that_stands_is_told_as_such(arm: Arm) -> None:
    time = 0.01 * np.arange(200)
    q = arm.robot.home + 1e-4 * np.sin(time)[:, None] * np.ones(3)
    names = {name: arm.robot.dof_names for name in ("q", "v", "tau")}
    log = Log("still", "made", "", time, q, np.gradient(q, 0.01, axis=0), 10 * q, names=names)
    told = identify(log, arm)
    assert told.judgement is None
    assert all("stands still" in q.reason for q in told.quantities.values())
    assert any("cannot be told: the arm stands still" in text for text in told.remarks)


def test_a_body_that_is_not_there_is_named() -> None:
    panda = Arm.of(pp.load_robot("panda"))
    theta = panda.nominal.copy()
    theta[:10] = -panda.welded["hand"]
    log = recording(panda, theta, 0, Faults(late_rows=0), duration=12.0)
    told = identify(log, panda, rollouts=False)
    assert told.quantities["mass"].low < -0.73 < told.quantities["mass"].high
    assert any("hand (0.73 kg) is not" in text for text in told.remarks)


def test_a_load_lighter_than_nothing_is_the_models_error_and_nothing_stays_inside(arm: Arm) -> None:
    """The model is 0.3 kg too heavy at the flange; as much to the other side is as likely."""
    theta = truth(arm)
    theta[:10] = -load_of(0.3, np.array([0.0, 0.02, 0.03]), np.diag([1e-3, 1e-3, 5e-4]))
    told = identify(recording(arm, theta, 3), arm, rollouts=False)
    mass = told.quantities["mass"]
    assert mass.value == pytest.approx(-0.3, abs=0.03)
    assert mass.low < -0.55
    assert 0.0 < mass.high < 0.05
    assert any("lighter than nothing" in text for text in told.remarks)


def test_the_block_bootstrap_covers_a_line_with_correlated_noise() -> None:
    """Independent witness: an AR(1) error of known size; naive intervals would cover half of the time."""
    inside, x = 0, np.sin(np.linspace(0, 25, 1500))
    for seed in range(60):
        rng = np.random.default_rng(seed)
        noise = np.zeros(1500)
        for k in range(1, 1500):
            noise[k] = 0.95 * noise[k - 1] + 0.1 * rng.normal()
        values, deviation, t = line(2.0 * x + noise, x[:, None], np.ones(1500, dtype=bool))
        inside += abs(values[0] - 2.0) < t * deviation[0]
    assert inside >= 54


@pytest.fixture(scope="module")
def driven() -> tuple[Log, Identification]:
    log, robot = campaign("planar2", 9.0)
    return log, identify(log, Arm.of(robot))


def test_rollouts_of_the_identified_model_follow_the_plant(driven: tuple[Log, Identification]) -> None:
    judged = driven[1].judgement
    assert judged is not None
    assert judged.horizons[-1] == 2.0
    assert judged.errors["identified"][-1] < 1e-3
    assert judged.errors["nominal"][-1] > 100 * judged.errors["identified"][-1]


@pytest.mark.slow
def test_an_fr3_is_identified_from_a_campaign_of_palpate() -> None:
    log, robot = campaign("fr3", 15.0, seed=1)
    judged = identify(log, Arm.of(robot)).judgement
    assert judged is not None
    assert judged.errors["identified"][-1] < 1e-3
    assert judged.errors["nominal"][-1] > 100 * judged.errors["identified"][-1]


def test_the_fitted_file_has_grade_interval_and_hash(driven: tuple[Log, Identification]) -> None:
    log, told = driven
    text = fitted_text(log, told, "planar2")
    facts = read_facts(text, told.arm.robot.dof_names, "planar2")
    assert {fact.grade for fact in facts} == {"identified"}
    data = toml_data(text)
    assert all(
        low <= value <= high
        for fact in data["fact"]
        for low, value, high in zip(fact["low"], fact["values"], fact["high"])
    )
    assert data["log"]["sha256"] == log.sha256
    settings = RobotSettings.model_validate(data["robot"])
    assert settings.payload is not None
    assert settings.payload.mass == pytest.approx(0.5, rel=1e-3)


def test_a_model_that_does_not_beat_the_nominal_one_is_not_written(
    driven: tuple[Log, Identification], tmp_path: Path
) -> None:
    log, told = driven
    assert told.judgement is not None
    worse = replace(told.judgement, errors=told.judgement.errors | {"identified": (1.0, 1.0, 1.0)})
    with pytest.raises(InvalidInput, match="not beat"):
        fitted_text(log, replace(told, judgement=worse), "planar2")
    with pytest.raises(InvalidInput, match="not judged"):
        fitted_text(log, replace(told, judgement=None), "planar2")


def test_a_suggested_motion_keeps_the_limits_and_tells_more() -> None:
    panda = Arm.of(pp.load_robot("panda"))
    log = recording(panda, panda.nominal, 0, Faults(late_rows=0), duration=6.0)
    told = identify(log, panda, rollouts=False)
    missing = {name: replace(q, reason="asked") for name, q in told.quantities.items()}
    motion = suggested(replace(told, quantities=missing))
    limits, step = panda.robot.limits, motion.time[1]
    assert np.all((motion.q > limits.lower) & (motion.q < limits.upper))
    assert np.all(np.abs(np.diff(motion.q, axis=0) / step) < limits.velocity)
    assert np.all(np.abs(np.diff(motion.q, 2, axis=0) / step**2) < limits.acceleration)
    np.testing.assert_allclose(motion.q[0], motion.q[-1])
    assert {"mass", "coulomb joint7", "rotor joint1"} <= set(motion.told)
    assert motion.condition < 50


def test_what_the_model_gets_wrong_of_the_arm_cancels_in_two_recordings(arm: Arm) -> None:
    """Both arms carry 0.8 kg that the model does not have; one carries 1.5 kg more."""
    wrong, load = truth(arm), load_of(1.5, np.array([0.0, 0.02, 0.05]), np.diag([2e-3, 2e-3, 1e-3]))
    wrong[:10] = load_of(0.8, np.array([0.03, 0.0, 0.02]), np.diag([1e-3, 1e-3, 1e-3]))
    carrying = wrong.copy()
    carrying[:10] += load
    loaded, bare = (identify(recording(arm, t, k), arm, rollouts=False) for k, t in ((4, carrying), (5, wrong)))
    mass = without_the_arms_errors(loaded, bare, "bare.csv").quantities["mass"]
    assert loaded.quantities["mass"].value == pytest.approx(2.3, abs=0.1)
    assert mass.low < 1.5 < mass.high
    assert mass.value == pytest.approx(1.5, abs=0.05)
