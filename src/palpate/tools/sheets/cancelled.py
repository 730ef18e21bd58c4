"""Names that a formula uses and does not depend on: a slip in their definition cannot show in the result."""

from __future__ import annotations

from fractions import Fraction

from palpate.errors import DoesNotFit, UnluckyPoint
from palpate.tools.review.algebra.tree import Name, Ref, distinct
from palpate.tools.review.compare.compare import MatrixComparison

_MOST_WORK = 60_000  # nodes that may be evaluated to find them


def cancelled_names(one: MatrixComparison) -> list[Name]:
    """Defined names whose value does not change any entry: their terms cancel, or are multiplied by zero."""
    entries = [node for _, node in one.given.entries()]
    nodes = list(distinct(*entries))
    used = {id(node.body): node for node in nodes if isinstance(node, Ref)}
    if not used or len(used) * len(nodes) > _MOST_WORK:
        return []
    point, field = one.space.point(0), one.space.field
    try:
        values = [point.of(entry) for entry in entries]
        names = []
        for node in used.values():
            other = point.with_body(node.body, field.add(point.of(node.body), field.number(Fraction(1))))
            if all(field.equal(other.of(entry), value) for entry, value in zip(entries, values)):
                names.append(node.name)
    except (UnluckyPoint, DoesNotFit):
        return []
    return sorted(names)
