"""Where derivations begin: from a robot, or from energies."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.parsing.sympy_parser import convert_xor, parse_expr, standard_transformations

from palpate.equations.dynamics.recursive_forms import RecursiveForms
from palpate.equations.model.naming import MODES, Mode, NamedModel
from palpate.errors import InvalidInput, check_names
from palpate.robot.load import load_robot
from palpate.robot.robot import Robot
from palpate.tools.derive.closed.energy import EnergyForms
from palpate.tools.derive.closed.forms import METHOD_NAMES, ClosedForms, Method
from palpate.tools.derive.derivation import Derivation

_FUNCTIONS = {name: getattr(sp, name) for name in ("sin", "cos", "tan", "sqrt", "exp", "log", "Abs", "pi", "Rational")}
_NAME = re.compile(r"[^\W\d]\w*")
_TIME = sp.Symbol("t")
Engine = Literal["auto", "closed", "recursive"]
# Joints, and angles in all (joints' and fixed ones), up to which closed forms are made by themselves; on demand.
READABLE, POSSIBLE = (3, 4), (6, 6)


def expression(value: Any, what: str) -> Any:
    """A SymPy expression with plain symbols: q1 for a coordinate, dq1 for its rate, ddq1 for its acceleration.

    Args:
        value: text such as "m*l**2*dtheta**2/2", a number, or SymPy, in which functions of time x(t) and their
            derivatives may stand for coordinates and rates.
        what: how a message calls it.
    """
    if isinstance(value, str):
        return _parsed(value, what)
    try:
        parsed = sp.sympify(value)
    except (sp.SympifyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{what} must be text, a number or a SymPy expression, got {value!r}") from error
    if not isinstance(parsed, sp.Expr):
        raise InvalidInput(f"{what} must be a scalar expression, got {type(parsed).__name__}")
    return plain(parsed)


def _parsed(text: str, what: str) -> Any:
    names = {name: sp.Symbol(name) for name in _NAME.findall(text) if name not in _FUNCTIONS}
    try:
        compile(text.replace("^", "**").strip(), what, "eval")
        parsed = parse_expr(text, {**names, **_FUNCTIONS}, (*standard_transformations, convert_xor))
    except SyntaxError as error:
        where = f" at character {error.offset}" if error.offset else ""
        raise InvalidInput(f"{what} cannot be read{where}: {text!r}", hint="write it as in Python: 2*m*l**2") from error
    except (tokenize.TokenError, TypeError, AttributeError) as error:
        raise InvalidInput(f"{what} cannot be read: {text!r} ({error})") from error
    if not isinstance(parsed, sp.Expr):
        raise InvalidInput(f"{what} must be a scalar expression, got {text!r}")
    return parsed


def plain(e: Any) -> Any:
    """Symbols without assumptions; x(t) becomes x, its derivatives dx and ddx."""
    rates = {d: sp.Symbol("d" * _order(d) + d.expr.func.__name__) for d in e.atoms(sp.Derivative) if _of_time(d)}
    e = e.xreplace(rates)
    positions = {f: sp.Symbol(f.func.__name__) for f in e.atoms(AppliedUndef)}
    e = e.xreplace(positions)
    return e.xreplace({s: sp.Symbol(s.name) for s in e.free_symbols if s != sp.Symbol(s.name)})


def _of_time(derivative: Any) -> bool:
    return isinstance(derivative.expr, AppliedUndef) and len(derivative.expr.args) == 1


def _order(derivative: Any) -> int:
    return sum(int(count) for _, count in derivative.variable_count)


def names_of(values: str | Sequence[Any], what: str) -> tuple[str, ...]:
    """Names of coordinates given as text, symbols or functions of time."""
    given: Iterable[Any] = re.split(r"[\s,]+", values.strip()) if isinstance(values, str) else values
    names = []
    for value in given:
        name = value if isinstance(value, str) else getattr(plain(sp.sympify(value)), "name", "")
        if not _NAME.fullmatch(name):
            raise InvalidInput(f"{what} must be names or symbols, got {value!r}")
        names.append(name)
    if len(set(names)) != len(names) or not names:
        raise InvalidInput(f"{what} must be one or more different names, got {', '.join(names) or 'none'}")
    return tuple(names)


def derive(
    robot: Robot | str | Path,
    method: Method = "lagrange",
    parameters: Mode = "symbols",
    *,
    engine: Engine = "auto",
    frame: str | None = None,
    names: Mapping[str, str] | None = None,
    task: Sequence[str] | None = None,
    euler: str = "XYZ",
) -> Derivation:
    """Derive a robot's equations of motion, M(q) q̈ + C(q, q̇) q̇ + g(q) = τ, and everything on the way.

    Args:
        robot: any chain or tree of hinges and slides, fixed or with a free base; or what `load_robot` takes, such as a
            catalogue name or the path of a model file.
        method: "lagrange", "newton-euler" or "projected" (Newton–Euler projected with the links' Jacobians).
        parameters: "symbols" names every length, mass and tensor entry that is not zero; "numbers" puts the
            robot's values in; "all" names also mass parameters that are zero.
        engine: "closed" gives expressions as a person writes them, for up to about three joints; "recursive" runs the
            recursive algorithms on symbols, for any robot; "auto" chooses and says so.
        frame: whose pose and Jacobian are derived; the tool frame by default.
        names: other names for symbols, {"l1": "L", "l2": "L", "q1": "theta1"}; one name for several needs equal values.
        task: directions of the task space among x, y, z, rx, ry, rz.
        euler: angles of the analytical Jacobian, "XYZ" or "ZYX".
    """
    check_names("method", [method], METHOD_NAMES)
    check_names("parameters", [parameters], MODES)
    check_names("engine", [engine], get_args(Engine))
    if isinstance(robot, str | Path):
        robot = load_robot(robot)
    mechanism = robot.mechanism(frame)
    if mechanism.tool.link < 0:
        raise InvalidInput(f"frame {mechanism.tool_name!r} of {robot.name} stands still; name one that a joint moves")
    model = NamedModel(mechanism, parameters, dict(names or {}))
    chosen, notes = _engine(model, engine, method)
    if chosen == "closed":
        forms: ClosedForms | RecursiveForms = ClosedForms(model, method, task, euler)
    else:
        forms, method = RecursiveForms(model, task, euler), "newton-euler"
    if mechanism.left_out:
        notes.append(f"not part of M, C and g: the model's {' and '.join(mechanism.left_out)}")
    return Derivation(robot.name, forms, method, model.parameters, notes, model=model)


def _engine(model: NamedModel, engine: Engine, method: str) -> tuple[str, list[str]]:
    """The engine to use, and what to say about it."""
    name = model.mechanism.name
    if engine == "closed":
        obstacle = _obstacle(model, POSSIBLE)
        if obstacle:
            raise InvalidInput(f"{name} {obstacle}", hint="use engine='recursive'")
        return "closed", []
    obstacle = _obstacle(model, READABLE)
    if engine == "auto" and not obstacle:
        return "closed", []
    notes = []
    if engine == "auto":
        notes.append(f"{name} {obstacle}: derived by the recursive algorithms, line by line")
    if method != "newton-euler":
        notes.append("the recursive engine goes by Newton and Euler; .compare() shows that the other methods agree")
    return "recursive", notes


def _obstacle(model: NamedModel, most: tuple[int, int]) -> str:
    """The reason why there is no closed form within given numbers of joints and angles; empty if there is one."""
    mechanism = model.mechanism
    if mechanism.floating:
        return "has a free base"
    if mechanism.coupling is not None:
        for row, link in zip(mechanism.coupling.map, mechanism.links):
            if link.kind == "revolute" and any(x != round(x) for x in row):
                return f"has a hinge ({link.joint}) that mimics another by a fraction of its angle"
    joints = len(mechanism.links)
    if joints > most[0]:
        return f"has {joints} joints, too many for a closed form (at most {most[0]})"
    fixed = sum(p.group == "angle" for p in model.parameters.values())
    if joints + fixed > most[1]:
        return f"has {joints} joints and {fixed} fixed angles, too many for a closed form (at most {most[1]} in all)"
    return ""


def derive_from_energy(
    T: Any,
    V: Any,
    coordinates: str | Sequence[Any],
    forces: Sequence[Any] | None = None,
    *,
    where: Mapping[Any, Any] | None = None,
    values: Mapping[str, float] | None = None,
    name: str = "system",
) -> Derivation:
    """Derive the equations of motion of any system from its energies by Lagrange: d/dt ∂L/∂q̇ − ∂L/∂q = Q.

    Args:
        T: kinetic energy, quadratic in the rates; text or SymPy. The rate of coordinate x is dx, or use functions of
            time x(t) and their derivatives.
        V: potential energy.
        coordinates: names in order, "x theta", or symbols.
        forces: generalised forces Q, one per coordinate, in terms of input symbols; Q1, Q2 … by default.
        where: shorthand used in T and V, {"z": "sqrt(l**2 - x**2)"}; roots get a name by themselves.
        values: numbers for the parameters. If given, a symbol without a value is an error.
        name: what to call the system.
    """
    q = names_of(coordinates, "coordinates")
    short = {str(key): expression(value, f"where[{key!s}]") for key, value in (where or {}).items()}
    for key in short:
        if key in q:
            raise InvalidInput(f"{key!r} is a coordinate, and cannot be shorthand too")
    energies = [expression(T, "T"), expression(V, "V")]
    energies, short = _named_roots(energies, short, q)
    given = None if forces is None else [expression(f, f"forces[{i}]") for i, f in enumerate(forces)]
    if given is not None and len(given) != len(q):
        raise InvalidInput(f"there must be one force per coordinate, {len(q)}, got {len(given)}")
    forms = EnergyForms(energies[0], energies[1], q, given, short, values)
    return Derivation(name, forms, "lagrange", forms.parameters, forces=forms.forces)


def _named_roots(energies: list[Any], short: dict[str, Any], q: tuple[str, ...]) -> tuple[list[Any], dict[str, Any]]:
    """Square roots of the coordinates get a name, so that their derivatives stay readable."""
    names = {sp.Symbol(name) for name in q}
    roots = {p for e in energies for p in e.atoms(sp.Pow) if (2 * p.exp).is_Integer and not p.exp.is_Integer}
    inside = sorted({p.base for p in roots if p.base.free_symbols & names}, key=str)
    for number, base in enumerate(inside, start=1):
        known = next((key for key, value in short.items() if value == sp.sqrt(base)), None)
        key = known or next(f"{letter}{number}" for letter in ("w", "r", "z") if f"{letter}{number}" not in short)
        short[key] = sp.sqrt(base)
        powers = {p: sp.Symbol(key) ** int(2 * p.exp) for p in roots if p.base == base}
        energies = [e.xreplace(powers) for e in energies]
    return energies, short


def derive_pole(
    length: float = 1.0, sphere_mass: float = 0.1, end_effector_mass: float = 1.0, gravity: float = 9.81
) -> Derivation:
    """A sphere on a massless pole on an end-effector, from their energies, in (x_A, y_A, z_A, x_AB, y_AB).

    A is the pole's foot, AB points to the sphere, upper hemisphere: z_AB = √(l² − x_AB² − y_AB²). The forces f act on
    the end-effector. `PoleModel` has the same in numbers.
    """
    speed = "(dx_A + dx_AB)**2 + (dy_A + dy_AB)**2 + (dz_A - (x_AB*dx_AB + y_AB*dy_AB)/z_AB)**2"
    return derive_from_energy(
        f"m_e*(dx_A**2 + dy_A**2 + dz_A**2)/2 + m_s*({speed})/2",
        "m_e*g*z_A + m_s*g*(z_A + z_AB)",
        "x_A y_A z_A x_AB y_AB",
        ["f_x", "f_y", "f_z", 0, 0],
        where={"z_AB": "sqrt(l**2 - x_AB**2 - y_AB**2)"},
        values={"m_e": end_effector_mass, "m_s": sphere_mass, "l": length, "g": gravity},
    )
