"""Expressions as people give them: text, SymPy with any assumptions, functions of time; errors with the position."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterable, Sequence
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.parsing.sympy_parser import convert_xor, parse_expr, standard_transformations

from palpate.errors import InvalidInput

_FUNCTIONS = {name: getattr(sp, name) for name in ("sin", "cos", "tan", "sqrt", "exp", "log", "Abs", "pi", "Rational")}
_NAME = re.compile(r"[^\W\d]\w*")
_TIME = sp.Symbol("t")


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
