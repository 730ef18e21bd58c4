"""export: a scenario in, a folder out that runs its law anywhere."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from palpate.checks import Array
from palpate.errors import FileError, InvalidInput, NotApplicable
from palpate.files import a_path, is_there, make_folder, refuse_changed, write_file
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario
from palpate.tools.exporting.arm_facts import at_arm_rate
from palpate.tools.exporting.code.archive import static_library, symbols
from palpate.tools.exporting.code.native import LawSession, Native, host
from palpate.tools.exporting.code.objects import TargetMachine
from palpate.tools.exporting.code.protection import LIMIT_RATE, LIMIT_TORQUE
from palpate.tools.exporting.code.records import OUTPUT_HEAD, Code
from palpate.tools.exporting.commissioning import expectations
from palpate.tools.exporting.draft import Draft, draft as make_draft
from palpate.tools.exporting.guarding import GUARDS
from palpate.tools.exporting.library import Library, chosen_targets
from palpate.tools.exporting.vectors import RecordedRun, packed, record_run, step_answers, vector_file
from palpate.tools.exporting.writing.manifest import NAME, exported_files, manifest, sealed
from palpate.tools.exporting.writing.sheet import commissioning_sheet
from palpate.tools.exporting.writing.texts import texts, values_of

Model = Literal["own", "given"]
Rate = Literal["arm", "scenario"]
RATES: tuple[Rate, ...] = ("arm", "scenario")
MODELS: tuple[Model, ...] = ("own", "given")
MOST_TICKS = 4000
_ROUNDING = 1e-8  # between the model inside and the loop's, of the largest term


@dataclass(frozen=True)
class Exported:
    """Result of an export.

    Attributes:
        folder: where it is.
        name: prefix of its C names.
        targets: names of the machines.
        ticks: of the run, replayed here through the exported code.
        difference: largest difference of a term from the loop's, relative to the largest term; 0 with a given model.
        stopped: the code with which a guard ended the scenario's own run in the replay, and when; empty if none did.
        limited: ticks of it at which torques, rates or set points were cut at the arm's limits.
        off: names of the guards that are off.
        note: whether the arm's rate replaced the scenario's.
        frame: bytes of the largest stack frame, of the code for x86-64.
    """

    folder: Path
    name: str
    targets: tuple[str, ...]
    ticks: int
    difference: float
    frame: int
    stopped: str = ""
    limited: int = 0
    off: tuple[str, ...] = ()
    note: str = ""


def export(
    scenario: Scenario | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    targets: Sequence[str] | None = None,
    model: Model = "own",
    ticks: int = MOST_TICKS,
    force: bool = False,
    without: Collection[str] = (),
    sheet: bool = True,
    rate: Rate = "arm",
) -> Exported:
    """Write a scenario's law as a C library that gives the bits of the run, on every machine.

    Args:
        scenario: what to export, a scenario or its name or file. Its law must be compiled.
        out: folder to write; an existing one only if it is empty or an export.
        targets: machines among x86-64, aarch64, riscv64, wasm32; this one by default.
        model: "given": the caller passes M, bias, J …; "own": the library computes them from q and v.
        ticks: how many of the run's are kept for the replay.
        force: also replace files of an older export that were changed since.
        without: names of guards to turn off; all are on (docs: export, guards).
        sheet: whether to run the steps of a commissioning and write their sheet.
        rate: "arm": where the arm's interface has a rate, the scenario is run and exported at it; "scenario": as it is.

    Raises:
        NotApplicable: a law in Python, exact contact, a target without its tool.
        FileError: another folder is there, or an export in which a file was changed.
    """
    folder, written = _free_folder(out, force)
    _refuse_other("model", model, MODELS)
    _refuse_other("rate", rate, RATES)
    if not isinstance(ticks, int) or not 1 <= ticks <= 1_000_000:
        raise InvalidInput(f"ticks must be a whole number from 1 to 1000000, got {ticks!r}")
    chosen = chosen_targets([host().name] if targets is None else list(targets))
    loaded = scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
    loaded, note = at_arm_rate(loaded.with_code()) if rate == "arm" else (loaded.with_code(), "")
    draft = make_draft(loaded, model, without)
    recorded = record_run(draft, ticks)
    draft = draft.with_target_jumps(recorded.inputs)
    library = Library(draft)
    native = library.object_for(host())
    rows = packed(draft, recorded)
    answers, difference = verify_replay(draft, native, recorded, rows)
    files = _files(draft, library, chosen, {host().name: native})
    files["vectors.bin"] = vector_file(rows, answers)
    facts = {"ticks": len(rows), "difference": difference, "largest_stack_frame": library.largest_frame()}
    facts |= _guarded(recorded, answers)
    files |= {name: text.encode() for name, text in texts(draft, chosen, len(rows), note).items()}
    steps = expectations(loaded) if sheet else []
    if sheet:
        page = commissioning_sheet(draft, steps, files, facts, values_of(draft, note))
        files["commissioning.html"] = page.encode()
    names = [target.name for target in chosen]
    if not force:
        refuse_changed(folder, files, written)
    _write(folder, files, sealed(manifest(draft, names, files, facts | {"note": note}, steps)))
    off = tuple(name for name in GUARDS if name not in draft.on)
    told = {"note": note, "stopped": facts["stopped"], "limited": facts["limited_ticks"], "off": off}
    return Exported(folder, draft.name, tuple(names), len(rows), difference, facts["largest_stack_frame"], **told)


def _refuse_other(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise InvalidInput(f"{name} must be one of {', '.join(known)}, got {value!r}")


def _guarded(recorded: RecordedRun, answers: Array) -> dict[str, Any]:
    """Guards in the replay of the scenario's own run: where one ended it, and ticks with cut commands."""
    codes, bits = answers[:, 0].view(np.int64), answers[:, 1].view(np.int64)
    ended = np.flatnonzero(codes)
    stopped = f"{Code(int(codes[ended[0]])).name} at {recorded.times[ended[0]]:.6g} s" if ended.size else ""
    return {"stopped": stopped, "limited_ticks": int(np.count_nonzero(bits & (LIMIT_TORQUE | LIMIT_RATE)))}


def _free_folder(out: str | os.PathLike[str], force: bool) -> tuple[Path, dict[str, str]]:
    """The folder to write into, and the checksums of what an older export wrote there."""
    folder = a_path(out, "the folder of an export")
    if not is_there(folder) or (folder.is_dir() and not any(folder.iterdir())):
        return folder, {}
    written = exported_files(folder)
    if written is None:
        raise FileError(
            f"{folder} exists and is not an export of palpate; nothing was overwritten", hint="give another folder"
        )
    if not force:  # before anything is computed
        inside = [name for name in written if not Path(name).is_absolute() and ".." not in Path(name).parts]
        refuse_changed(folder, [NAME, *inside], written)
    return folder, written


def verify_replay(draft: Draft, native: bytes, recorded: RecordedRun, rows: Array) -> tuple[Array, float]:
    """Answers of the exported code to every tick of the run, and their largest relative difference from the loop's.

    With given terms the two have the same bits, and 0 says so; a model of its own may round otherwise than the loop's.
    """
    session = LawSession(Native(native), draft.name, draft.plan.state_bytes, draft.plan.version)
    answers = step_answers(session.step, rows, draft.plan.output_bytes)
    good = answers[:, 0].view(np.int64) == 0
    if not good.any():
        raise NotApplicable(f"the exported law refused every tick of the run: code {int(answers[0, 0].view(np.int64))}")
    first = OUTPUT_HEAD + sum(each.size for each in draft.outputs) - recorded.terms[0].size
    terms = answers[good, first:].reshape(-1, *recorded.terms.shape[1:])
    difference = np.abs(terms - recorded.terms[good]).max() / max(np.abs(recorded.terms[good]).max(), 1e-300)
    if difference == 0.0 and terms.tobytes() != recorded.terms[good].tobytes():
        difference = 5e-324  # zeros of another sign
    if difference > (0.0 if draft.model == "given" else _ROUNDING):
        raise NotApplicable(
            f"the exported code differs from the loop's by {difference:.2g} of its largest term: not exported",
            hint="a defect of palpate; please report it with this scenario",
        )
    return answers, float(difference)


def _files(draft: Draft, library: Library, targets: list[TargetMachine], ready: dict[str, bytes]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for target in targets:
        data = ready.get(target.name) or library.object_for(target)
        files[f"{target.name}/{draft.name}.o"] = data
        if target.wide:
            files[f"{target.name}/lib{draft.name}.a"] = static_library(data, symbols(data)[0])
        else:
            files[f"{target.name}/{draft.name}.wasm"] = library.wasm(data)
    return files


def _write(folder: Path, files: dict[str, bytes], text: str) -> None:
    """The manifest is removed first and written last: a folder that was cut short is not an export."""
    make_folder(folder)
    (folder / NAME).unlink(missing_ok=True)
    for name, data in files.items():
        make_folder((folder / name).parent)
        write_file(folder / name, data)
    write_file(folder / NAME, text)
