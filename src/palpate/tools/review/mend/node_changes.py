"""Changes of a node: another factor, divisor, term, sign or exponent, put where a person would put it."""

from __future__ import annotations

from fractions import Fraction

from palpate.tools.review.algebra import tree as algebra
from palpate.tools.review.algebra.tree import Neg, Node, Num, Power, Prod, Quot, Sum


def with_factor(node: Node, factor: Node) -> Node:
    """node · factor, the factor put where a person would: a number in front, a symbol at the end, above the line."""
    match node:
        case Neg(operand=inner):
            return Neg(with_factor(inner, factor), node.span)
        case Quot(top=top, bottom=bottom):
            return Quot(with_factor(top, factor), bottom, node.span)
        case Prod(factors=(Num(value=value), *others)) if isinstance(factor, Num):
            return Prod((algebra.number(value * factor.value), *others), node.span)
        case Prod(factors=factors) if isinstance(factor, Num):
            return Prod((factor, *factors), node.span)
        case Prod(factors=factors):
            return Prod((*factors, factor), node.span)
        case Num(value=value) if value == 1:
            return factor
        case Num(value=value) if isinstance(factor, Num):
            return algebra.number(value * factor.value)
    return Prod((factor, node) if isinstance(factor, Num) else (node, factor))


def with_divisor(node: Node, divisor: Node) -> Node:
    """node / divisor."""
    match node:
        case Neg(operand=inner):
            return Neg(with_divisor(inner, divisor), node.span)
        case Quot(top=top, bottom=bottom):
            return Quot(top, with_factor(bottom, divisor), node.span)
    return Quot(node, divisor)


def with_term(node: Node, term: Node) -> Node:
    """node + term."""
    return Sum((*node.terms, term), node.span) if isinstance(node, Sum) else Sum((node, term))


def without_sign(node: Node) -> Node:
    """The operand of a minus, a minus otherwise; of a sum, every term's."""
    if isinstance(node, Sum):
        return Sum(tuple(without_sign(term) for term in node.terms), node.span)
    return node.operand if isinstance(node, Neg) else Neg(node)


def powered(node: Node, exponent: Fraction) -> Node:
    """node^e, without a needless exponent."""
    return algebra.ONE if exponent == 0 else node if exponent == 1 else Power(node, exponent)


def times_number(node: Node, size: Fraction) -> Node:
    """node · number, the number in front; the node itself for 1."""
    return node if size == 1 else with_factor(node, algebra.number(size))
