"""Derive a robot's equations of motion M(q) q'' + C(q, q') q' + g(q) = tau, and compare them with the numeric robot. Up
to three joints in closed form; longer arms by the recursive algorithms on symbols.

examples:
  palpate derive planar2                        M, C and g in textbook notation
  palpate derive planar3 --set length=0.5 mass=5 --steps
  palpate derive ur5e-3link --quantity M,J,Lambda --latex
  palpate derive ur5e --numbers --c build       C99 source, header and a test program
  palpate derive planar3 --html arm.html        one page, no network needed
  palpate derive planar3 --check mine.tex --equal L=l1,l2,l3    is my derivation right?
  palpate derive planar2 --check notes.md --html marked.html    a whole document (.md .tex .ipynb .py .m), marked
  palpate derive panda --quantity Lambda,mu,p --at=0,0.3,0,-1.8,0,2,0 --rates=0.1,0,0,0.2,0,0,0
  palpate derive pendulum --linearise=0         M, D, K, B and eigenvalues about a posture
  palpate derive pole --quantity M,bias --latex   a pole balanced on an end-effector, from its energies
  palpate derive planar2 --method all           Lagrange, Newton-Euler and projected, side by side

quantities: position, rotation, J, Ja, Jdot, drift, T, V, M, C, g, bias, tau, Lambda, mu, p;
for each link: p_c1, J_P1, J_O1, I_1, p_1, R_1
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import palpate as pp
from palpate.cli.parameters import JOINT_CHOICES, parameters_from
from palpate.cli.tables import SHARE_OF_PI, numbers
from palpate.errors import InvalidInput, SingularTask, check_names
from palpate.files import read_text
from palpate.toml import toml_data

if TYPE_CHECKING:
    from palpate.robot.robot import Robot
    from palpate.tools.derive.derivation import Derivation
    from palpate.tools.derive.verify import Verification

DIFFERS = 1
_ROBOT_OPTIONS = {"frame": None, "task": None, "names": None, "joints": None, "engine": "auto", "method": "lagrange"}


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command's own parser."""
    parser = subparsers.add_parser(
        "derive", help="derive equations of motion; print, check and export them", description=__doc__
    )
    parser.add_argument("robot", metavar="ROBOT", help="a catalogue name, a .urdf or MJCF .xml file; or the word pole")
    parser.add_argument("--method", default="lagrange", choices=["lagrange", "newton-euler", "projected", "all"],
                        help="method of derivation; all shows them side by side (lagrange)")  # fmt: skip
    parser.add_argument("--engine", default="auto", choices=["auto", "closed", "recursive"],
                        help="kind of result (auto)")  # fmt: skip
    parser.add_argument("--quantity", metavar="Q,…", help="what to print (M,C,g)")
    parser.add_argument("--numbers", action="store_true", help="use the robot's numbers instead of symbols")
    parser.add_argument("--set", nargs="+", metavar="KEY=VALUE", help="parameters of a catalogue robot, SI units")
    parser.add_argument("--joints", choices=["ideal", "as-built"],
                        help="with or without rotor inertia, which is part of M (as built)")  # fmt: skip
    parser.add_argument("--frame", metavar="F", help="frame of the pose and the Jacobian (the tool frame)")
    parser.add_argument("--task", metavar="D,…", help="directions of the task space among x, y, z, rx, ry, rz")
    parser.add_argument("--names", metavar="FILE", help='your own symbols: a TOML file with lines such as l1 = "L"')
    parser.add_argument("--at", metavar="Q,…", help="the quantities as numbers at this posture, rad and m")
    parser.add_argument("--rates", metavar="V,…", help="with --at and --linearise: joint velocities (0)")
    parser.add_argument("--linearise", metavar="Q,…", help="M, D, K and B about this posture, and the eigenvalues")
    parser.add_argument("--steps", action="store_true", help="the worked solution, step by step")
    out = parser.add_mutually_exclusive_group()
    out.add_argument("--text", action="store_true", help="plain text (the default)")
    out.add_argument("--latex", action="store_true", help="LaTeX")
    out.add_argument("--html", metavar="OUT", help="write one HTML page")
    out.add_argument("--c", metavar="OUT", help="write C99 source, header and test program into a folder")
    out.add_argument("--python", action="store_true", help="NumPy source")
    parser.add_argument("--force", action="store_true", help="with --c: replace files that were changed")


def run(args: argparse.Namespace) -> int:
    """Derive, compare with the robot, print or write."""
    if args.rates is not None and args.at is None and args.linearise is None:
        raise InvalidInput("--rates is an option of --at and --linearise", hint="write --at=0,1 --rates=1,2")
    robot = robot_asked(args)
    derivation = pole_asked(args) if robot is None else derivation_asked(robot, args)
    if args.method == "all":
        comparison = derivation.compare()
        print(comparison)
        return 0 if comparison.agree else DIFFERS
    if args.linearise is not None:
        return _linearise(derivation, args)
    if args.at is not None:
        return _numbers_at(derivation, args)
    return _show(derivation, robot, args)


def robot_asked(args: argparse.Namespace) -> Robot | None:
    """The robot of the command line; None for the pole."""
    settings: Any = parameters_from(args.set or [])
    joints: Any = JOINT_CHOICES[args.joints or "as-built"]
    return None if args.robot == "pole" else pp.load_robot(args.robot, joints=joints, **settings)


def derivation_asked(robot: Robot, args: argparse.Namespace) -> Derivation:
    """Its derivation, as the command line asks for it."""
    method = "lagrange" if args.method == "all" else args.method
    mode = "numbers" if args.numbers else "symbols"
    task = None if args.task is None else _words(args.task)
    names = names_from(args.names) if args.names else None
    return pp.derive(robot, method, mode, engine=args.engine, frame=args.frame, names=names, task=task)


def pole_asked(args: argparse.Namespace) -> Derivation:
    """A pole on an end-effector, from its energies."""
    from palpate.tools.derive.start import derive_pole

    for option, default in _ROBOT_OPTIONS.items():
        if getattr(args, option) != default:
            raise InvalidInput(f"--{option} is an option of robots; the pole is derived by Lagrange from its energies")
    settings: Any = parameters_from(args.set or [])
    check_names("parameter of the pole", settings, inspect.signature(derive_pole).parameters)
    return derive_pole(**settings)


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def names_from(path: str) -> dict[str, str]:
    """The reader's own symbols, {"l1": "L"}, from a TOML file."""
    try:
        names = toml_data(read_text(path))
    except InvalidInput as error:
        raise InvalidInput(f"{path} is no table of names: {error}", hint='write lines such as  l1 = "L"') from error
    wrong = [key for key, value in names.items() if not isinstance(value, str)]
    if wrong:
        raise InvalidInput(f"{path}: the name for {wrong[0]} must be text", hint=f'write {wrong[0]} = "L"')
    return names


def _vector(text: str | None, count: int, option: str) -> list[float]:
    """Numbers of an option, as many as there are joints; zeros where it was not given."""
    values = [0.0] * count if text is None else numbers([text], option)
    if len(values) != count:
        zeros = ",".join(["0"] * count)
        raise InvalidInput(f"{option} takes {count} numbers, got {text!r}", hint=f"write {option}={zeros}")
    return values


def _exact(text: str) -> list[Any]:
    """Coordinates with shares of π as they are: the sine of π/2 is 1, its cosine 0."""
    import sympy as sp

    shares = [(word, SHARE_OF_PI.fullmatch(word)) for word in _words(text)]
    return [
        sp.Rational(match[1] + ("1" if match[1] in ("", "+", "-") else "")) * sp.pi / sp.Rational(match[2] or 1)
        if match
        else float(word)
        for word, match in shares
    ]


def _linearise(derivation: Derivation, args: argparse.Namespace) -> int:
    count = len(derivation.names.v)
    _vector(args.linearise, count, "--linearise")
    q, v = _exact(args.linearise), _vector(args.rates, count, "--rates")
    linearisation = derivation.linearise(q, v, parameters="numbers" if args.numbers else "symbols")
    print(linearisation)
    print("\nEigenvalues, 1/s: " + ", ".join(f"{value + 0.0:.6g}" for value in linearisation.eigenvalues()))
    return 0


def _refuse_singular(derivation: Derivation, q: list[float], frame: str | None) -> None:
    """Refuse a posture at which the task has no inertia, by the rule of `Robot.task_inertia`."""
    import numpy as np

    from palpate.robot.mechanics import motion

    rows = list(derivation.forms.rows)  # pyright: ignore[reportAttributeAccessIssue] - Lambda is of a robot
    J, M = np.asarray(derivation.function("J")(q))[rows], np.asarray(derivation.function("M")(q))
    if motion.task_inertia(M, J, 0.0) is None:
        raise SingularTask(frame or "tool frame", float(motion.singular_values(J)[-1]))


def _numbers_at(derivation: Derivation, args: argparse.Namespace) -> int:
    """Quantities as numbers at one state.

    Raises:
        SingularTask: a quantity of the task space is asked for where the task has no inertia.
    """
    import numpy as np

    count = len(derivation.names.q)
    state = [_vector(args.at, count, "--at"), _vector(args.rates, len(derivation.names.v), "--rates")]
    state.append([0.0] * len(derivation.names.a))
    names = _words(args.quantity) if args.quantity else ["M", "C", "g"]
    if {"Lambda", "mu", "p"} & set(names):
        _refuse_singular(derivation, state[0], args.frame)
    for name in names:
        program = derivation.program(name)
        value = derivation.function(name)(*state[: len(program.inputs)])
        print(f"{name} =\n{np.array2string(np.asarray(value), precision=9, suppress_small=True)}")
    return 0


def _show(derivation: Derivation, robot: Robot | None, args: argparse.Namespace) -> int:
    names = _words(args.quantity) if args.quantity else []
    for name in names:
        derivation.quantity(name)
    verification = derivation.check(robot, states=20)
    if args.html:
        derivation.html(args.html, steps=args.steps, verification=verification)
        print(args.html)
    elif args.c:
        for path in derivation.c(Path(args.c), robot=robot, numbers=args.numbers, force=args.force):
            print(path)
    else:
        print(_text(derivation, names, args))
    return _verdict(robot, verification)


def _text(derivation: Derivation, names: Sequence[str], args: argparse.Namespace) -> str:
    if args.python:
        return derivation.python(*(names or ("M", "C", "g")))
    if args.latex:
        return derivation.steps_latex() if args.steps else derivation.latex(*names)
    return derivation.steps_text() if args.steps else derivation.text(*names)


def _verdict(robot: Robot | None, verification: Verification) -> int:
    """One line about the comparison, on stderr so that output can be piped; the whole table if it went wrong."""
    if not verification.ok:
        print(verification, file=sys.stderr)
        return DIFFERS
    worst = max(finding.error for finding in verification.findings)
    against = "for symmetry, skew-symmetry and power" if robot is None else "against the numeric robot"
    states = f"{verification.states} random states"
    print(f"checked {against} at {states}: largest error {worst:.1e}", file=sys.stderr)
    return 0
