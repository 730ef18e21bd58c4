"""SymPy expressions to light trees and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import sympy as _sympy
from sympy.core.function import AppliedUndef

from palpate.errors import InvalidInput
from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.names import SymbolTable, spelled
from palpate.tools.review.algebra.points import PI
from palpate.tools.review.algebra.tree import (
    Call,
    Grid,
    Name,
    Neg,
    Node,
    Num,
    Power,
    Prod,
    Quot,
    Ref,
    Sum,
    Sym,
    Trig,
    Value,
)

sympy: Any = _sympy  # its own types know too little of what it computes


def spellings(expressions: Iterable[Any]) -> list[str]:
    """The names of every symbol and function of time in SymPy expressions."""
    unique_names: dict[str, None] = {}
    for expression in expressions:
        applied = expression.atoms(AppliedUndef)
        inner = set().union(*(one.free_symbols for one in applied)) if applied else set()
        names = [str(one.func) for one in applied] + [one.name for one in expression.free_symbols - inner]
        unique_names.update(dict.fromkeys(sorted(names)))
    return list(unique_names)


def rates(expressions: Iterable[Any], table: SymbolTable) -> list[Name]:
    """The derivatives of functions of time in SymPy expressions, as dotted names."""
    derivatives = [one for expression in expressions for one in expression.atoms(sympy.Derivative)]
    return sorted({_function_of_time(one, table) for one in derivatives if isinstance(one.expr, AppliedUndef)})


def from_sympy(value: Any, table: SymbolTable) -> Value:
    """A SymPy expression, matrix or equation (left − right) as a light tree; equal sums are one node."""
    if isinstance(value, sympy.MatrixBase):
        return algebra.grid([[_node(value[i, j], table) for j in range(value.cols)] for i in range(value.rows)])
    if isinstance(value, sympy.Equality):
        return _node(value.lhs - value.rhs, table)
    return _node(sympy.sympify(value), table)


def _node(value: Any, table: SymbolTable) -> Node:
    if value.is_Symbol:
        return Sym(table.originals.get(value.name) or spelled(value.name))
    if value.is_Number:
        return _number(value)
    if value.is_Add:  # one node for a sum, however often it occurs
        return table.remembered(value, lambda: algebra.add([_node(part, table) for part in value.args]))
    if value.is_Mul or value.is_Pow:
        return _product(value, table)
    if value == sympy.pi:
        return Sym(PI)
    if isinstance(value, AppliedUndef | sympy.Derivative):
        return Sym(_function_of_time(value, table))
    return _function(value, table)


def _number(value: Any) -> Node:
    if value.is_Rational:
        number = Num(Fraction(int(value.p), int(value.q)))
    elif value.is_Float and value.is_finite:
        number = Num(Fraction(str(value)), len(str(value).rstrip("0").partition(".")[2]))
    else:
        raise InvalidInput(f"{value} in an expression", hint="numbers are finite")
    return Neg(Num(-number.value, number.decimals)) if number.value < 0 else number


def _function_of_time(value: Any, table: SymbolTable) -> Name:
    if isinstance(value, sympy.Derivative):
        name = _function_of_time(value.expr, table)
        return name._replace(dots=name.dots + int(sum(count for _, count in value.variable_count)))
    if not isinstance(value, AppliedUndef):
        raise InvalidInput(f"the derivative of {value}", hint="carry it out with .doit() first")
    return table.originals.get(str(value.func)) or spelled(str(value.func))


def _product(value: Any, table: SymbolTable) -> Node:
    top: list[Node] = []
    bottom: list[Node] = []
    minus = False
    for factor in sympy.Mul.make_args(value):
        if factor.is_Number and factor.is_negative:
            minus, factor = not minus, -factor
        base, exponent = factor.as_base_exp()
        if exponent.is_Rational and exponent < 0 and not base.is_Number:
            bottom.append(_power(base, -exponent, table))
        elif factor.is_Number:
            top.append(_number(factor))
        else:
            top.append(_power(base, exponent, table))
    made = algebra.multiply(top)
    if bottom:
        made = Quot(made, algebra.multiply(bottom))
    return Neg(made) if minus else made


def _power(base: Any, exponent: Any, table: SymbolTable) -> Node:
    if base == sympy.E:
        return Call("exp", _node(exponent, table))
    if not exponent.is_Rational:
        raise InvalidInput(f"the exponent {exponent}", hint="exponents are rational numbers")
    node = _node(base, table)
    return node if exponent == 1 else Power(node, Fraction(int(exponent.p), int(exponent.q)))


def _function(value: Any, table: SymbolTable) -> Node:
    if value.is_Function and len(value.args) == 1:
        argument = value.args[0]
        return algebra.function(value.func.__name__, table.remembered(argument, lambda: _node(argument, table)))
    if value == sympy.E:
        return Call("exp", Num(Fraction(1)))
    raise InvalidInput(
        f"{value!s:.60} ({type(value).__name__}) is not understood",
        hint="sums, products, powers, functions of one argument and derivatives with respect to time are",
    )


def to_sympy(value: Value, symbols: Mapping[Name, Any]) -> Any:
    """A light tree as SymPy, with the symbols it came from where they are known."""
    if isinstance(value, Grid):
        return sympy.Matrix([[to_sympy(node, symbols) for node in row] for row in value.rows])
    match value:
        case Num(value=number):
            return sympy.Rational(number.numerator, number.denominator)
        case Sym(name=name):
            return sympy.pi if name == PI else symbols.get(name, sympy.Symbol(str(name)))
        case Ref(body=body):
            return to_sympy(body, symbols)
        case Trig(function=function, angle=below) | Call(function=function, argument=below):
            return getattr(sympy, "Abs" if function == "fabs" else function)(to_sympy(below, symbols))
        case Sum(terms=parts):
            return sympy.Add(*(to_sympy(part, symbols) for part in parts))
        case Prod(factors=parts):
            return sympy.Mul(*(to_sympy(part, symbols) for part in parts))
        case Neg(operand=below):
            return -to_sympy(below, symbols)
        case Quot(top=top, bottom=bottom):
            return to_sympy(top, symbols) / to_sympy(bottom, symbols)
        case Power(base=base, exponent=exponent):
            return to_sympy(base, symbols) ** sympy.Rational(exponent.numerator, exponent.denominator)
