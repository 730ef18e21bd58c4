"""export: a scenario in, a folder out that runs its law anywhere."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from palpate.checks import Array
from palpate.errors import FileError, InvalidInput, NotApplicable
from palpate.exporting.code.archive import static_library, symbols
from palpate.exporting.code.native import LawSession, Native, host
from palpate.exporting.code.objects import TargetMachine
from palpate.exporting.code.records import OUTPUT_HEAD
from palpate.exporting.draft import Draft, draft
from palpate.exporting.library import Library, chosen_targets
from palpate.exporting.manifest import NAME, is_export, manifest, sealed
from palpate.exporting.texts import texts
from palpate.exporting.vectors import Played, answered, packed, play, vector_file
from palpate.files import a_path, is_there, make_folder, write_file
from palpate.scenario.file.load import load_scenario
from palpate.scenario.model import Scenario

Model = Literal["own", "given"]
MODELS: tuple[Model, ...] = ("own", "given")
MOST_TICKS = 4000
_ROUNDING = 1e-8  # between the model inside and the loop's, of the largest term


@dataclass(frozen=True)
class Exported:
    """What an export wrote.

    Attributes:
        folder: where it is.
        name: prefix of its C names.
        targets: names of the machines.
        ticks: of the run, replayed here through the exported code.
        difference: largest difference of a term from the loop's, relative to the largest term; 0 with a given model.
        frame: bytes of the largest stack frame, of the code for x86-64.
    """

    folder: Path
    name: str
    targets: tuple[str, ...]
    ticks: int
    difference: float
    frame: int


def export(
    scenario: Scenario | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    targets: Sequence[str] | None = None,
    model: Model = "own",
    ticks: int = MOST_TICKS,
) -> Exported:
    """Write a scenario's law as a C library that gives the bits of the run, on every machine.

    Args:
        scenario: what to export, a scenario or its name or file. Its law must be compiled.
        out: folder to write; an existing one only if it is empty or an export.
        targets: machines among x86-64, aarch64, riscv64, wasm32; this one by default.
        model: "given": whoever calls it passes M, bias, J …; "own": the library computes them from q and v.
        ticks: how many of the run's are kept for the replay.

    Raises:
        NotApplicable: a law in Python, exact contact, a target without its tool.
        FileError: another folder is there.
    """
    folder = _free_folder(out)
    if model not in MODELS:
        raise InvalidInput(f"model must be one of {', '.join(MODELS)}, got {model!r}")
    if not isinstance(ticks, int) or not 1 <= ticks <= 1_000_000:
        raise InvalidInput(f"ticks must be a whole number from 1 to 1000000, got {ticks!r}")
    chosen = chosen_targets([host().name] if targets is None else list(targets))
    loaded = scenario if isinstance(scenario, Scenario) else load_scenario(scenario)
    made = draft(loaded, model)
    library = Library(made)
    native = library.object_for(host())
    played = play(made, ticks)
    rows = packed(made, played)
    answers, apart = verified(made, native, played, rows)
    files = _files(made, library, chosen, {host().name: native})
    files["vectors.bin"] = vector_file(rows, answers)
    facts = {"ticks": len(rows), "difference": apart, "largest_stack_frame": library.largest_frame()}
    files |= {name: text.encode() for name, text in texts(made, chosen, len(rows)).items()}
    content = manifest(made, [target.name for target in chosen], files, facts)
    _write(folder, files, sealed(content))
    names = tuple(target.name for target in chosen)
    return Exported(folder, made.name, names, len(rows), apart, facts["largest_stack_frame"])


def _free_folder(out: str | os.PathLike[str]) -> Path:
    folder = a_path(out, "the folder of an export")
    if is_there(folder) and (not folder.is_dir() or (any(folder.iterdir()) and not is_export(folder))):
        raise FileError(
            f"{folder} exists and is not an export of palpate: nothing in it is overwritten", hint="give another folder"
        )
    return folder


def verified(made: Draft, native: bytes, played: Played, rows: Array) -> tuple[Array, float]:
    """What the exported code answers to every tick of the run, and how far from the loop's own code, relatively.

    With given terms the two have the same bits, and 0 says so; a model of its own may round otherwise than the loop's.
    """
    session = LawSession(Native(native), made.name, made.plan.state_bytes, made.plan.version)
    answers = answered(session.step, rows, made.plan.output_bytes)
    good = answers[:, 0].view(np.int64) == 0
    if not good.any():
        raise NotApplicable(f"the exported law refused every tick of the run: code {int(answers[0, 0].view(np.int64))}")
    first = OUTPUT_HEAD + sum(each.size for each in made.outputs) - played.terms[0].size
    terms = answers[good, first:].reshape(-1, *played.terms.shape[1:])
    apart = np.abs(terms - played.terms[good]).max() / max(np.abs(played.terms[good]).max(), 1e-300)
    if apart == 0.0 and terms.tobytes() != played.terms[good].tobytes():
        apart = 5e-324  # zeros of another sign
    if apart > (0.0 if made.model == "given" else _ROUNDING):
        raise NotApplicable(
            f"the exported code differs from the loop's by {apart:.2g} of its largest term: not exported",
            hint="a defect of palpate; please report it with this scenario",
        )
    return answers, float(apart)


def _files(made: Draft, library: Library, targets: list[TargetMachine], ready: dict[str, bytes]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for target in targets:
        data = ready.get(target.name) or library.object_for(target)
        files[f"{target.name}/{made.name}.o"] = data
        if target.wide:
            files[f"{target.name}/lib{made.name}.a"] = static_library(data, symbols(data)[0])
        else:
            files[f"{target.name}/{made.name}.wasm"] = library.wasm(data)
    return files


def _write(folder: Path, files: dict[str, bytes], text: str) -> None:
    """The manifest goes first away and comes last: a folder that was cut short is no export."""
    make_folder(folder)
    (folder / NAME).unlink(missing_ok=True)
    for name, data in files.items():
        make_folder((folder / name).parent)
        write_file(folder / name, data)
    write_file(folder / NAME, text)
