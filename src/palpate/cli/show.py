"""Print a robot's joints, limits and frames, and its terms at a posture; or a scenario's law, gains and world.
SI units, world axes.

examples:
  palpate show iiwa14
  palpate show planar2 --q 0.3 -0.5 --v 1 0
  palpate show panda --frame hand --json
  palpate show panda-wall              a scenario: robot, law, gains, world
  palpate show planar3 --set length=0.5 mass=5 --q pi/2 pi/2 0 --terms M,J,Mp,eig
  palpate show planar3 --q 0 pi/2 pi/2 --v pi pi 0 --limits 15pi 10pi 10pi --terms a,b,lambda_i,lambda,u,pdd
  palpate show planar2 --q 0.6 -1.2 --v 0.5 -1 --plane 0 0 0 0 1 0 --friction 0.3 --terms vdot,modes,forces
  palpate show planar2 --q 0.6 -1.2 --v 0 -1 --plane 0 0 0 0 1 0 --restitution 0.5 --terms vafter,impulses,loss
  palpate show planar2 --q -pi/2 0 --terms Alin,rates
  palpate show planar3 --q 0 pi/2 pi/2 --rate 10 --terms K,D
  palpate show planar2 --q 0.6 -1.2 --force 0 -10 --terms tauF
  palpate show iiwa14 --force 1 -2 12 --pole 0 0.6 0.8 --payload 1 --terms tauf
  palpate show iiwa14-pole --force 0 0 10.791 --terms tauf         a scenario's payload and pole
  palpate show cartesian2 --set mass=[3,2] --rate 7 --terms K,D
  palpate show panda --joints elastic              modes of the arm on its gears, at home
  palpate show ur10e --joints ideal --terms M      without rotor inertia, as in a URDF
  palpate show pole --set length=1 sphere_mass=0.1 --terms K7,K10
  palpate show pole --q 0.3 -0.4 --v 1.5 2 --force 1 -2 12 --terms M,C,a

terms: M (or B), C, c, g, T, V, position, rotation, J, J6, h, pdot, Mp, eig, mu, p;
of a stop: a, b, lambda_i, lambda, u, pdd; gains from λ: K, D; statics: tauF, Ftau; with a pole on the tool: tauf;
in contact with planes: vdot, modes, forces, painleve; of an impact: vafter, impulses, loss;
about an equilibrium: Alin, Blin, rates;
of a pole on an end-effector (ROBOT is the word pole): M, C, a, eig, K7, K7z, poles7, K10, K10z, poles10
"""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from palpate.cli.arm import LOADS, OF_TERMS, STATE, arm_of_scenario, joints_in_words, refuse_unused, robot_asked
from palpate.cli.check import add_model_options
from palpate.cli.judged import add_code_option
from palpate.cli.parameters import parameters_from
from palpate.cli.showing.elastic_modes import coupling_shown, modes_shown, print_coupling, print_modes
from palpate.cli.showing.joints import joint_facts, print_joint_facts
from palpate.cli.showing.lines import say_line
from palpate.cli.showing.scenario import is_scenario, show_scenario
from palpate.cli.tables import WIDTH, matrix_lines, number, numbers, print_json, print_table, short
from palpate.errors import printable

if TYPE_CHECKING:
    from palpate.checks import Array
    from palpate.robot.robot import Robot


_LIMITS = ("lower", "upper", "velocity", "acceleration", "torque", "torque_rate")
_TWIST_ROWS = ("vx", "vy", "vz", "ωx", "ωy", "ωz")


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "show", help="joints, frames and terms of a robot, or the settings of a scenario", description=__doc__
    )
    parser.add_argument("robot", metavar="ROBOT|SCENARIO",
                        help="a robot's name or .urdf or MJCF .xml file; a scenario's name or .toml file")  # fmt: skip
    parser.add_argument("--q", nargs="+", metavar="Q", help="coordinates, rad and m, in joint order (home)")
    parser.add_argument("--v", nargs="+", metavar="V", help="velocities, rad/s and m/s (zero)")
    parser.add_argument("--frame", metavar="F", help="frame of the pose and the Jacobian (the tool frame)")
    parser.add_argument("--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE",
                        help="parameters of a catalogue robot, SI units, one number or one for each link, mass=[3,2];"
                        " settings of a scenario, robot.payload.mass=2")  # fmt: skip
    parser.add_argument("--joints", choices=["ideal", "as-built", "elastic"],
                        help="without or with rotor inertia and friction, or with elastic gears too (as built; a"
                        " scenario's own)")  # fmt: skip
    parser.add_argument("--payload", type=float, metavar="KG",
                        help="a mass on the tool frame of a robot (none; with tauf 1)")  # fmt: skip
    parser.add_argument("--terms", metavar="T,…", help="only these terms, with eight digits (see below)")
    parser.add_argument("--task", metavar="D,…", help="directions of the task among x, y, z, rx, ry, rz")
    parser.add_argument("--limits", nargs="+", metavar="U", help="bounds on joint accelerations, for a stop")
    parser.add_argument("--method", metavar="M", help="of the stop: pseudoinverse (optimal)")
    parser.add_argument("--tau", nargs="+", metavar="T",
                        help="joint torques, N·m and N, of terms that need them (zero)")  # fmt: skip
    parser.add_argument("--force", nargs="+", metavar="F", help="force on the environment along the task, N and N·m")
    parser.add_argument("--rate", type=float, metavar="L", help="λ of K and D, 1/s (that of the stop)")
    parser.add_argument("--pole", nargs=3, metavar="R",
                        help="a pole on the tool: from its foot to its sphere, m (a scenario's own)")  # fmt: skip
    parser.add_argument("--sphere", type=float, metavar="KG", help="mass of its sphere (0.1)")
    add_model_options(parser)
    parser.add_argument("--json", action="store_true", help="print the same as JSON, null for an absent limit")
    add_code_option(parser, "of a scenario: units and help of its own laws")


def run(args: argparse.Namespace) -> int:
    """Load the robot, gather the facts, print them."""
    names = (args.terms or "").replace(",", " ").split()
    if args.robot == "pole":
        from palpate.cli.showing.pole_terms import show_pole

        others = {"frame": "--frame", "joints": "--joints", "payload": "--payload", **OF_TERMS}
        refuse_unused(args, {name: option for name, option in others.items() if name != "force"},
                      "is an option of robots; those of the pole are --set, --q, --v, --force and --terms")  # fmt: skip
        settings: Any = parameters_from(args.set)
        xy, rates = (numbers(words or ["0", "0"], option) for words, option in ((args.q, "--q"), (args.v, "--v")))
        show_pole(settings, (xy, rates, numbers(args.force or ["0"] * 3, "--force")), names, args.json)
        return 0
    scenario = is_scenario(args.robot)
    if names:
        from palpate.cli.showing.terms import Question, show_terms

        arm = arm_of_scenario(args, names) if scenario else robot_asked(args, names)
        show_terms(Question(arm, args), names, args.json)
        return 0
    refuse_unused(args, OF_TERMS, "is an option of terms: name them with --terms")
    if scenario:
        refuse_unused(args, STATE | LOADS, "is an option of terms: name them with --terms")
        return show_scenario(args)
    arm = robot_asked(args, ())
    facts = gather(arm.robot, arm.q, arm.v, args.frame)
    facts["joint_facts"] = joint_facts(arm.robot, args.robot) if args.joints != "ideal" else []
    facts["elastic_modes"] = modes_shown(arm.robot, arm.q)
    facts["rotor_coupling"] = coupling_shown(arm.robot, args.robot, arm.q)
    if args.json:
        print_json(facts)
    else:
        _print_description(facts)
        _print_terms(facts)
        print_modes(facts["elastic_modes"])
        print_coupling(facts["rotor_coupling"])
    return 0


def gather(robot: Robot, q: Array | Sequence[float], v: Array | Sequence[float], frame: str | None) -> dict[str, Any]:
    """Everything the command shows, as plain data in SI units; None for terms that need unknown masses."""
    from palpate.robot.build import joint_remarks
    from palpate.robot.readers.findings import without_meshes

    pose, known = robot.pose(q, frame), not robot.unresisted
    terms = robot.terms(q, v, frame) if known else None
    doubts, meshes = without_meshes(robot.warnings)
    return {
        "robot": robot.name,
        "summary": robot.text("summary"),
        "estimate": robot.text("estimate"),
        "warnings": [*map(str, doubts), *meshes],
        "degrees_of_freedom": robot.nv,
        "mass": robot.mass if known else None,
        "unresisted": list(robot.unresisted),
        "tool_frame": str(robot.tool_choice),
        "joints": _joints(robot),
        "joints_used": joints_in_words(robot),
        "remarks": joint_remarks(robot),
        "frames": list(robot.frame_names),
        "frame": frame or robot.tool_frame,
        "home": robot.home.tolist(),
        "q": [float(x) for x in q],
        "v": [float(x) for x in v],
        "position": pose.position.tolist(),
        "quat_wxyz": pose.quat_wxyz.tolist(),
        "mass_matrix": terms.M.tolist() if terms else None,
        "gravity": terms.gravity.tolist() if terms else None,
        "bias": terms.bias.tolist() if terms else None,
        "jacobian": robot.jacobian(q, frame).tolist(),
        "jacobian_drift": robot.jacobian_drift(q, v, frame).tolist(),
        "smallest_singular_value": robot.smallest_singular_value(q, frame),
    }


def _joints(robot: Robot) -> list[dict[str, Any]]:
    """One entry per degree of freedom."""
    joints = []
    for i, (name, unit) in enumerate(zip(robot.dof_names, robot.dof_units)):
        bounds = {limit: float(getattr(robot.limits, limit)[i]) for limit in _LIMITS}
        finite = {limit: bound if math.isfinite(bound) else None for limit, bound in bounds.items()}
        joints.append({"name": name, "unit": unit, **finite})
    return joints


def _print_description(facts: dict[str, Any]) -> None:
    summary = (
        f": {textwrap.shorten(printable(facts['summary']), WIDTH - 30, placeholder=' …')}" if facts["summary"] else ""
    )
    say_line(f"{short(facts['robot'])}{summary}")
    count, mass = facts["degrees_of_freedom"], facts["mass"]
    weight = "kinematics only" if mass is None else f"{number(mass)} kg{' (estimated)' if facts['estimate'] else ''}"
    print(f"{count} degree{'s' if count > 1 else ''} of freedom, {weight}\n")
    for warning in facts["warnings"]:
        say_line(printable(warning))
    if facts["warnings"]:
        print()
    rows = [[short(joint["name"]), *_limit_cells(joint)] for joint in facts["joints"]]
    print_table(["joint", "lower", "upper", "velocity", "torque"], rows, "lrrrr")
    print_joint_facts(facts.get("joint_facts", ()), [joint["name"] for joint in facts["joints"]], facts["remarks"])
    say_line("\nframes: " + ", ".join(map(short, facts["frames"])))
    say_line("tool frame: " + printable(facts["tool_frame"]))


def _limit_cells(joint: dict[str, Any]) -> list[str]:
    """Lower, upper, velocity and torque limit, each with its unit."""
    unit = joint["unit"]
    units = {"lower": unit, "upper": unit, "velocity": f"{unit}/s", "torque": _force_unit(unit)}
    return [number(None) if joint[limit] is None else f"{number(joint[limit])} {units[limit]}" for limit in units]


def _print_terms(facts: dict[str, Any]) -> None:
    names, units = [j["name"] for j in facts["joints"]], [j["unit"] for j in facts["joints"]]
    frame = short(facts["frame"])
    moving = any(facts["v"])
    print()
    _say_vector("q", facts["q"], " (home)" if facts["q"] == facts["home"] else "")
    if moving:
        _say_vector("v", facts["v"])
    _print_beyond_limits(facts)
    print(f"\npose of frame {frame} in the world")
    print(f"  position   {_row(facts['position'])}   m")
    print(f"  quat_wxyz  {_row(facts['quat_wxyz'])}")
    _print_dynamics(facts, names, units, moving)
    title = f"Jacobian of frame {frame}, m/s and rad/s per joint velocity, world axes"
    _print_matrix(title, facts["jacobian"], _TWIST_ROWS, names)
    if moving:
        print(f"\ndrift J̇ v, m/s² and rad/s²: {_row(facts['jacobian_drift'])}")
    remark = "mixes m and rad" if len(names) >= 6 else f"{len(names)} joints cannot move all 6 directions"
    say_line(f"\nsmallest singular value of the Jacobian: {number(facts['smallest_singular_value'])} ({remark})")


def _print_dynamics(facts: dict[str, Any], names: Sequence[str], units: Sequence[str], moving: bool) -> None:
    if facts["mass_matrix"] is None:
        idle = ", ".join(map(short, facts["unresisted"][:6]))
        text = f"no mass matrix and no gravity: the file gives no mass to what moves with {idle}"
        say_line(f"\n{text}; --estimate-inertia KG estimates them")
        return
    _print_matrix(f"mass matrix M(q), {_inertia_units(units)}", facts["mass_matrix"], names, names)
    say_line(facts["joints_used"])
    forces = {"g(q)": facts["gravity"], **({"C(q,v) v + g(q)": facts["bias"]} if moving else {})}
    title = f"gravity{' and bias' if moving else ''}, {' and '.join(sorted({_force_unit(u) for u in units}))}"
    _print_matrix(title, list(forces.values()), list(forces), names)


def _print_beyond_limits(facts: dict[str, Any]) -> None:
    if len(facts["q"]) != len(facts["joints"]):
        return  # a free base: coordinates and limits do not pair up one to one
    for joint, value in zip(facts["joints"], facts["q"]):
        lower, upper = joint["lower"], joint["upper"]
        if (lower is not None and value < lower) or (upper is not None and value > upper):
            message = f"{number(value)} {joint['unit']} is beyond its limits [{number(lower)}, {number(upper)}]"
            say_line(f"note: {short(joint['name'])} = {message}")


def _print_matrix(title: str, matrix: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str]) -> None:
    say_line(f"\n{title}")
    print("\n".join(matrix_lines(matrix, rows, columns)))


def _say_vector(name: str, values: Sequence[float], remark: str = "") -> None:
    say_line(f"{name} = [{', '.join(map(number, values))}]{remark}", indent=" " * (len(name) + 4))


def _row(values: Sequence[float]) -> str:
    return " ".join(f"{number(x):>10}" for x in values)


def _force_unit(unit: str) -> str:
    return "N·m" if unit == "rad" else "N"


def _inertia_units(units: Sequence[str]) -> str:
    if len(set(units)) == 1:
        return "kg·m²" if units[0] == "rad" else "kg"
    return "kg·m² (rad, rad), kg·m (rad, m), kg (m, m)"
