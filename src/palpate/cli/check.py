"""`palpate check MODEL`: can this model be trusted?"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import palpate as pp
from palpate.cli.tables import key_values
from palpate.errors import FileError, UnknownName, printable
from palpate.files import is_there, write_file
from palpate.user_code import run_program

if TYPE_CHECKING:
    from palpate.robot.readers.check import ModelReport
    from palpate.scenario.model import Scenario


def add_parser(subparsers: Any) -> None:
    """Adds the command `check`."""
    parser = subparsers.add_parser("check", help="read a model file and report every problem in it")
    parser.add_argument(
        "model", metavar="MODEL", help="a .urdf or MJCF .xml file, a .toml with a DH table, or a catalogue name"
    )
    parser.add_argument("--repair", metavar="OUT", help="write a repaired copy of the model")
    parser.add_argument("--force", action="store_true", help="let --repair overwrite a file")
    add_model_options(parser)
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.set_defaults(run=run)


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """A scenario, changes of its settings and of its robot's model, for every command that takes one."""
    parser.add_argument("scenario", metavar="SCENARIO", help="a shipped name (palpate list scenarios), or a .toml file")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="overrides",
                        help="change a setting, such as run.duration=2; KEY= removes it (repeatable)")  # fmt: skip
    add_model_options(parser)


def scenario_asked(args: argparse.Namespace) -> Scenario:
    """The scenario of `add_scenario`, with the code that it names."""
    scenario = pp.load_scenario(args.scenario, [*model_overrides(args), *args.overrides])
    if (args.xacro or args.xacro_arg) and scenario.robot.model:
        run_program(scenario.robot.model, asked=True)
    return scenario.with_code()


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """The options that say how a model file is to be taken, for every command that takes one."""
    parser.add_argument("--package", metavar="DIR", action="append", default=[],
                        help="a folder of package:// files (repeatable)")  # fmt: skip
    parser.add_argument("--estimate-inertia", metavar="KG", type=float,
                        help="estimate missing masses from the shapes and this total mass")  # fmt: skip
    parser.add_argument("--lock", metavar="JOINT=Q", action="append", default=[],
                        help="weld a joint at a value, rad or m (repeatable)")  # fmt: skip
    parser.add_argument("--xacro", action="store_true", help="process the file with xacro first, which runs its code")
    parser.add_argument("--xacro-arg", metavar="NAME:=VALUE", action="append", default=[],
                        help="an argument of the xacro file (repeatable)")  # fmt: skip
    parser.add_argument("--tool", metavar="FRAME", help="the tool frame")


def model_options(args: argparse.Namespace) -> dict[str, Any]:
    """Arguments of `load_robot` from those options."""
    given = key_values(args.xacro_arg, "--xacro-arg takes NAME:=VALUE", str, ":=")
    return {
        "package_roots": args.package,
        "estimate_inertia": args.estimate_inertia,
        "lock": key_values(args.lock, "--lock takes JOINT=VALUE", float, hint="--lock finger_joint1=0.02") or None,
        "xacro": given if args.xacro or given else False,
        "tool_frame": args.tool,
    }


def model_overrides(args: argparse.Namespace) -> list[str]:
    """The same as changes of a scenario's `[robot]`, for commands that take a scenario."""
    options = model_options(args)
    changes: dict[str, Any] = {f"lock.{joint}": value for joint, value in (options["lock"] or {}).items()}
    if options["package_roots"]:
        changes["packages"] = json.dumps([str(Path(folder).resolve()) for folder in options["package_roots"]])
    if options["estimate_inertia"] is not None:
        changes["estimate_inertia"] = options["estimate_inertia"]
    if options["xacro"] is not False:
        given = ", ".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in options["xacro"].items())
        changes["xacro"] = f"{{{given}}}" if given else "true"
    if options["tool_frame"] is not None:
        changes["tool_frame"] = json.dumps(options["tool_frame"])
    return [f"robot.{key}={value}" for key, value in changes.items()]


def run(args: argparse.Namespace) -> int:
    """Prints what there is to say of the model.

    Returns:
        0 if it can be used (warnings allowed), 2 if it has errors. With --repair the copy counts.
    """
    from palpate.robot.catalogue import model_xml, names

    path = Path(args.model)
    if args.model in names():
        with tempfile.TemporaryDirectory(prefix="palpate-") as folder:
            return _check(write_file(Path(folder) / f"{args.model}.xml", model_xml(args.model)), args)
    if path.name == args.model and not path.suffix and not is_there(path):
        raise UnknownName("model (neither a file nor a catalogue name)", args.model, names())
    return _check(path, args)


def _check(path: Path, args: argparse.Namespace) -> int:
    from palpate.robot.readers.check import check_model

    options = model_options(args)
    if args.repair is not None:
        _refuse_to_replace(Path(args.repair), args.force)
    report = _named(check_model(path, **options), args.model)
    changes: list[str] = []
    if args.repair is not None and report.format is not None:
        from palpate.robot.readers.repair import repair_model

        changes = [str(change) for change in repair_model(path, args.repair)]
        report = check_model(args.repair, **{**options, "xacro": False})
    if args.json:
        _print_json(report, changes)
    else:
        _print_text(report, changes, args.repair)
    return 2 if report.errors else 0


def _refuse_to_replace(out: Path, force: bool) -> None:
    if out.is_symlink():
        raise FileError(f"--repair {out} is a symbolic link", hint="give the file itself")
    if out.exists() and not force:
        raise FileError(f"--repair {out} exists already", hint="give another name, or --force to replace it")


def _named(report: ModelReport, name: str) -> ModelReport:
    """The report under the name the user gave, where the model itself came from the catalogue."""
    findings = [replace(f, file=name) if f.file == report.path else f for f in report.findings]
    return replace(report, path=name, findings=tuple(findings))


def _print_text(report: ModelReport, changes: list[str], out: str | None) -> None:
    if out is not None and report.format is not None:
        print(f"repaired {_count(changes, 'value')} in {printable(out)}")
        for change in changes:
            print(f"  {printable(change)}")
    for title, findings in (("errors", report.errors), ("warnings", report.warnings)):
        if findings:
            print(f"{title}:")
            for finding in findings:
                print(f"  {finding}")
    print(_verdict(report))
    if report.robot is not None:
        print(printable(f"tool frame: {report.robot.tool_choice}"))
    for remark in _remarks(report):
        print(printable(f"note: {remark}"))


def _remarks(report: ModelReport) -> list[str]:
    """Remarks on facts of a real machine's joints that are not known."""
    from palpate.robot.build import joint_remarks
    from palpate.robot.catalogue import is_textbook

    return [] if report.robot is None or is_textbook(report.path) else joint_remarks(report.robot)


def _verdict(report: ModelReport) -> str:
    counts = f"{_count(report.errors, 'error')}, {_count(report.warnings, 'warning')}"
    if report.summary is None:
        return f"{printable(report.path)}: {counts}"
    holds = report.summary
    weight = "kinematics only" if report.robot and report.robot.unresisted else f"{holds.mass:.4g} kg"
    if report.robot and report.robot.text("estimate"):
        weight += " (estimated)"
    parts = f"{holds.links} links, {holds.joints} joints, {holds.dof} dof, {weight}"
    return f"{printable(report.path)}: {counts}; {parts}"


def _count(items: list[Any], word: str) -> str:
    return f"{len(items)} {word}{'' if len(items) == 1 else 's'}"


def _print_json(report: ModelReport, changes: list[str]) -> None:
    summary = asdict(report.summary) if report.summary else None
    findings = [finding.as_dict() for finding in report.findings]
    answer: dict[str, Any] = {"model": report.path, "format": report.format, "usable": not report.errors}
    if report.robot is not None:
        choice = report.robot.tool_choice
        answer["tool_frame"] = {"name": choice.name, "reason": choice.reason, "others": list(choice.others)}
        answer["dynamics"] = "unknown" if report.robot.unresisted else "known"
        answer["remarks"] = _remarks(report)
        answer["estimated"] = report.robot.text("estimate") is not None
    print(json.dumps({**answer, "summary": summary, "changes": changes, "findings": findings}, indent=2))
