"""`palpate verify`: every claim of the five documents has the verdict on record, and a broken formula turns one."""

from __future__ import annotations

import ctypes
import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import palpate as pp
from palpate.cli import signals
from palpate.cli.main import main
from palpate.errors import UnknownName
from palpate_documents import DOCUMENTS, document, documents, verify
from palpate_documents.claim import VERDICTS, Claim, Comparison, verdict_of
from palpate_documents.compare import numbers
from palpate_documents.review import Result, by_cause, counts

_spec = util.spec_from_file_location("audit_rows", Path(__file__).parent / "audit_rows.py")
assert _spec is not None
assert _spec.loader is not None
_module = util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
ROWS: dict[str, tuple[str, ...]] = _module.ROWS


@pytest.fixture(scope="module", params=list(DOCUMENTS))
def results(request: pytest.FixtureRequest) -> list[Result]:
    return verify([request.param])


def test_every_claim_has_the_verdict_on_record(results: list[Result]) -> None:
    changed = [f"{one.claim.id}: {one.found}, on record {one.claim.verdict}" for one in results if one.changed]
    assert not changed


def test_what_is_wrong_is_corrected_and_the_correction_is_computed(results: list[Result]) -> None:
    for one in results:
        if one.claim.verdict in ("wrong", "typo"):
            assert one.claim.corrected, one.claim.id
            if one.computed:
                roles = {c.role for c in one.comparisons}
                assert {"printed", "corrected"} <= roles, one.claim.id


def test_nearly_everything_is_computed_and_explained(results: list[Result]) -> None:
    read = [one.claim.id for one in results if not one.computed]
    assert len(read) <= 0.12 * len(results)
    assert all(one.claim.note and one.claim.how for one in results)


def test_there_are_well_over_150_claims_with_names_of_their_own() -> None:
    names = [claim.id for one in documents() for claim in one.claims]
    assert len(names) == len(set(names)) > 250
    assert {claim.verdict for one in documents() for claim in one.claims} == set(VERDICTS)


@pytest.mark.parametrize("number", list(DOCUMENTS))
def test_every_row_of_the_audit_has_a_claim(number: str) -> None:
    wanted = {f"{number}-{place}" for place in range(1, len(ROWS[number]) + 1)}
    covered = {row for claim in document(number).claims for row in claim.rows}
    assert covered == wanted


# ------------------------------------------------------------------ a broken formula


def _flipped(name: str) -> Callable[..., Any]:
    right = getattr(pp.control.PoleModel, name)

    def wrong(self: Any, *args: Any) -> Any:
        M, C = right(self, *args)
        C[2] = -C[2]
        return M, C

    return wrong


def break_pole(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pp.control.PoleModel, "mass_and_bias", _flipped("mass_and_bias"))


def break_inertia(patch: pytest.MonkeyPatch) -> None:
    right = pp.Robot.task_inertia
    patch.setattr(pp.Robot, "task_inertia", lambda self, *a, **k: 2 * right(self, *a, **k))


def break_statics(patch: pytest.MonkeyPatch) -> None:
    right = pp.contact.torque_from_tip_force
    patch.setattr(pp.contact, "torque_from_tip_force", lambda *a, **k: -right(*a, **k), raising=False)


def break_quaternions(patch: pytest.MonkeyPatch) -> None:
    right = pp.spatial.quat_multiply
    patch.setattr(pp.spatial, "quat_multiply", lambda a, b: right(b, a))


def break_euler(patch: pytest.MonkeyPatch) -> None:
    right = pp.spatial.euler_rate_matrix
    patch.setattr(pp.spatial, "euler_rate_matrix", lambda *a: right(*a).T)


BROKEN = [
    (break_pole, "000.10"),
    (break_inertia, "001.Mp"),
    (break_inertia, "001.eigenvalues"),
    (break_statics, "002.torque-of-force"),
    (break_statics, "002.code-dT"),
    (break_quaternions, "003.qvq"),
    (break_euler, "004.35"),
    (break_quaternions, "004.epsilon"),
]


@pytest.mark.parametrize(("breaking", "claim"), BROKEN, ids=[claim for _, claim in BROKEN])
def test_a_broken_formula_turns_the_verdict_and_the_exit_code(
    breaking: Callable[[pytest.MonkeyPatch], None],
    claim: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["verify", "--claim", claim]) == 0
    breaking(monkeypatch)
    assert main(["verify", "--claim", claim]) == 1
    assert f"changed: {claim} is " in capsys.readouterr().err


def test_a_broken_formula_of_the_library_is_named_among_all_claims_of_its_document(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = pp.control.fastest_stop

    def wrong(J: Any, drift: Any, *args: Any, **settings: Any) -> Any:
        return right(J, -np.asarray(drift), *args, **settings)  # a sign of the drift

    monkeypatch.setattr(pp.control, "fastest_stop", wrong, raising=False)
    assert main(["verify", "001", "--wrong"]) == 1
    told = capsys.readouterr().err
    assert "changed: 001.b is unexplained, on record wrong" in told
    assert "001.12 " not in told


# ------------------------------------------------------------------ the command


def test_one_claim_is_shown_with_both_forms_and_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--claim", "001.J0"]) == 0
    out = capsys.readouterr().out
    assert "001.J0, exercise 1, J_0: wrong" in out
    assert r"\begin{pmatrix} -1 & -1 & 0 \\ 0 & -1 & -1 \end{pmatrix}" in out
    assert "1 claims: 1 wrong" in out


def test_a_claim_may_be_named_within_its_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "001", "--claim", "Umax"]) == 0
    assert "001.Umax" in capsys.readouterr().out


def test_json_holds_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--claim", "001.ex3-lambdas", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert one["verdict"] == one["found"] == "wrong"
    assert one["evidence"][0]["given"][2] == "-inf"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["verify", "005"], "unknown document '005'"),
        (["verify", "--claim", "001.J9"], "unknown claim '001.J9'"),
        (["verify", "001", "--claim", "002.T1"], "unknown claim"),
        (["verify", "001", "--json", "--html", "x.html"], "exclude each other"),
    ],
)
def test_bad_input_is_told_with_code_2(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert told in capsys.readouterr().err


def test_an_unknown_document_is_refused_by_the_nearest_names() -> None:
    with pytest.raises(UnknownName, match="document"):
        document("1")


# ------------------------------------------------------------------ judging


def _one(role: Any, holds: bool) -> Comparison:
    return Comparison(role, "", 0, 0, holds)


@pytest.mark.parametrize(
    ("record", "evidence", "found"),
    [
        ("agrees", [("printed", True)], "agrees"),
        ("agrees", [("printed", False)], "wrong"),
        ("wrong", [("printed", False), ("corrected", True)], "wrong"),
        ("typo", [("printed", False), ("corrected", True)], "typo"),
        ("wrong", [("printed", True), ("corrected", True)], "agrees"),
        ("wrong", [("printed", False), ("corrected", False)], "unexplained"),
        ("wrong", [("printed", False), ("corrected", True), ("arithmetic", False)], "unexplained"),
        ("ambiguous", [("reading", True), ("reading", False)], "ambiguous"),
        ("ambiguous", [("reading", True), ("reading", True)], "agrees"),
        ("ambiguous", [("reading", False), ("reading", False)], "unexplained"),
        ("typo", [], "typo"),
    ],
)
def test_a_verdict_follows_from_the_comparisons(record: Any, evidence: list[tuple[str, bool]], found: str) -> None:
    assert verdict_of(record, [_one(*pair) for pair in evidence]) == found


def test_numbers_agree_within_their_tolerance_only_and_infinities_exactly() -> None:
    assert numbers("printed", "", [1.0, -np.inf], [1.0 + 5e-5, -np.inf], 1e-4).holds
    assert not numbers("printed", "", [1.0], [1.01], 1e-4).holds
    assert not numbers("printed", "", [np.inf], [-np.inf], 1e9).holds
    assert not numbers("printed", "", [1.0], [np.inf], 1e9).holds
    assert not numbers("printed", "", [np.nan], [np.nan], 1e9).holds
    assert not numbers("printed", "", [1.0, 2.0], [1.0], 1e9).holds


def test_a_claim_that_cannot_be_computed_is_told_as_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pp.Robot, "task_inertia", lambda *a, **k: 1 / 0)
    (one,) = verify(["001"], "Mp")
    assert one.found == "failed"
    assert one.changed
    assert counts([one])["failed"] == 1
    assert "ZeroDivisionError" in one.comparisons[-1].told


def test_a_document_is_listed_with_its_scenarios_and_claims(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "004", "--list"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("document 004: Hand-in exercise")
    assert "\nur5e-admittance" in out
    assert "palpate verify 004" in out
    assert "panda-wall" not in out
    assert main(["verify", "7", "--list"]) == 2
    assert "unknown document '7'" in capsys.readouterr().err


def test_the_evidence_holds_no_latex() -> None:
    for result in verify(["000"]):
        for one in result.comparisons:
            assert "\\" not in one.told + one.label, result.claim.id


def test_what_is_not_right_is_grouped_by_its_root_cause(capsys: pytest.CaptureFixture[str]) -> None:
    groups = {cause: [one.claim.id for one in found] for cause, found in by_cause(verify(["001"]))}
    assert [len(found) for found in groups.values()] == [4, 19, 7]
    assert "001.J0" in next(found for cause, found in groups.items() if "J_0" in cause)
    assert main(["verify", "--claim", "001.ex3-exceed"]) == 0
    assert "root cause: the second row of J_0 has the wrong sign" in capsys.readouterr().out


def test_every_cause_has_claims_and_every_claims_cause_is_named() -> None:
    for one in documents():
        assert {claim.cause for claim in one.claims} - {""} == set(one.causes)
        assert all(claim.verdict in ("wrong", "typo") for claim in one.claims if claim.cause)


def test_every_check_belongs_to_a_claim_and_only_what_is_read_has_none() -> None:
    for one in documents():
        for claim in one.claims:
            assert (claim.check is None) == claim.how.startswith("read"), claim.id


def test_what_cannot_be_judged_keeps_its_verdict_unless_a_reference_fails() -> None:
    good, bad = (Comparison("reference", "x", 1, 1, holds) for holds in (True, False))
    assert verdict_of("cannot be judged", [good]) == "cannot be judged"
    assert verdict_of("cannot be judged", [good, bad]) == "unexplained"


def test_ctrl_c_inside_a_callback_ends_the_verification(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(claim: Claim) -> Iterator[Comparison]:
        # What is raised in a callback of compiled code is thrown away.
        ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()
        yield Comparison("printed", "x", 1, 1, True)

    def endless(claim: Claim) -> Iterator[Comparison]:
        signal.pause()  # until it is raised again
        yield Comparison("printed", "x", 1, 1, True)

    monkeypatch.setattr(signals, "GRACE", 0.2)  # s until it is raised again
    claims = [replace(one, check=check) for one, check in zip(document("003").claims, (interrupted, endless))]
    monkeypatch.setattr(document("003"), "claims", claims)
    assert main(["verify", "003"]) == 130
    assert "interrupted" in capsys.readouterr().err
