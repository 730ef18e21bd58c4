"""From whole multiples of angles to what people write: cos(q1 + q2 + q3) + cos(q1 − q2 − q3) becomes 2 c1 c23.

Angles of joints that turn about one direction, one after the other, belong together (a run): their partial sums
φ1 = q1, φ2 = q1 + q2, … are the angles one sees in a drawing. Waves of different runs are written as products; within a
run, cos(φa − φb) is a natural angle sum (c2, c23), while cos(φa + φb) is joined with it to a product (cφa cφb).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from palpate.checks import Array
from palpate.equations.model.mechanism import Mechanism
from palpate.equations.model.naming import CoordinateNames
from palpate.tools.derive.closed.trig import COS, SIN, Coefficient, TrigPolynomial

Angle = tuple[tuple[str, int], ...]  # (name, multiple), in the order of the run
Wave = tuple[int, Angle]  # COS or SIN of an angle


@dataclass(frozen=True)
class AngleSum:
    """Angles that add up, in order, each with the sense in which it counts."""

    names: tuple[str, ...]
    senses: tuple[int, ...]


Part = tuple[int, tuple[int, ...]]  # COS or SIN, multiples of the run's partial sums
Terms = dict[tuple[int, tuple[Wave, ...]], Coefficient]  # monomial, waves → coefficient


def in_waves(trig: TrigPolynomial, runs: Sequence[AngleSum], products: bool) -> Terms:
    """The polynomial with products of natural waves; `products` also writes cos(φa + φb) as cφa cφb − sφa sφb."""
    split = _split(trig, runs)
    current: dict[tuple[int, tuple[Wave, ...], tuple[Part, ...]], Coefficient] = {
        (m, (), parts): value for (m, parts), value in split.items()
    }
    for run in runs:
        groups: dict[tuple[int, tuple[Wave, ...], tuple[Part, ...]], dict[Part, Coefficient]] = {}
        for (m, waves, parts), value in current.items():
            groups.setdefault((m, waves, parts[1:]), {})[parts[0]] = value
        current = {}
        for (m, waves, remaining), inner in groups.items():
            for made, value in _natural(inner, run, products).items():
                key = (m, tuple(sorted((*waves, *made))), remaining)
                current[key] = current.get(key, 0) + value
    return {(m, waves): value for (m, waves, _), value in current.items() if value}


def _split(trig: TrigPolynomial, runs: Sequence[AngleSum]) -> dict[tuple[int, tuple[Part, ...]], Coefficient]:
    """Every wave as a sum of products, one factor per run."""
    if not runs:
        return {(m, ()): value for (m, _, _), value in trig.terms.items()}
    coefficients: dict[tuple[int, tuple[Part, ...]], Coefficient] = {}
    for (m, K, o), value in trig.terms.items():
        multiples = trig.ring.combination(K)
        angles = [_partial_sums(multiples, run) for run in runs]
        for parts, sign in _unfolded(angles, o):
            normal, flips = zip(*(_normal(*part) for part in parts))
            key = (m, normal)
            coefficients[key] = coefficients.get(key, 0) + value * sign * prod(flips)
    return {key: value for key, value in coefficients.items() if value and _alive(key[1])}


def _alive(parts: tuple[Part, ...]) -> bool:
    return not any(kind == SIN and not any(multiples) for kind, multiples in parts)


def _partial_sums(multiples: dict[str, int], run: AngleSum) -> tuple[int, ...]:
    """Σ k q in terms of the run's partial sums: coefficient of φ_j is k_j − k_{j+1} (senses counted)."""
    k = [multiples.get(name, 0) * sense for name, sense in zip(run.names, run.senses)]
    return tuple(a - b for a, b in zip(k, [*k[1:], 0]))


def _unfolded(angles: list[tuple[int, ...]], kind: int) -> list[tuple[tuple[Part, ...], int]]:
    """cos or sin of a sum over runs, as products: cos(a + b) = cos a cos b − sin a sin b."""
    if len(angles) == 1:
        return [(((kind, angles[0]),), 1)]
    rest_cos, rest_sin = _unfolded(angles[1:], COS), _unfolded(angles[1:], SIN)
    first_angle = angles[0]
    if not any(first_angle):
        return [(((COS, first_angle), *parts), sign) for parts, sign in _unfolded(angles[1:], kind)]
    head, other, sign = (COS, SIN, -1) if kind == COS else (SIN, COS, 1)
    first = [(((head, first_angle), *parts), s) for parts, s in rest_cos]
    return first + [(((other, first_angle), *parts), s * sign) for parts, s in rest_sin]


# ---------------------------------------------------------------------- one run

Multiples = tuple[int, ...]
# cos(A + B) = cos A cos B − sin A sin B; sin(A + B) = sin A cos B + cos A sin B.
_PRODUCTS = {COS: ((COS, COS, 1), (SIN, SIN, -1)), SIN: ((SIN, COS, 1), (COS, SIN, 1))}


def _natural(inner: dict[Part, Coefficient], run: AngleSum, products: bool) -> dict[tuple[Wave, ...], Coefficient]:
    """Waves of one run, of one monomial and one set of other waves, rewritten."""
    left = dict(inner)
    terms: list[tuple[tuple[Wave, ...], Coefficient]] = []
    angles = _natural_angles(len(run.names))
    for part in sorted((p for p in inner if p[1] not in angles and any(p[1])), key=repr):
        if part in left:
            terms += _rewritten(part, left, run, products)
    terms += [(_wave(run, kind, multiples), value) for (kind, multiples), value in left.items()]
    coefficients: dict[tuple[Wave, ...], Coefficient] = {}
    for waves, value in terms:
        key = tuple(sorted(waves))
        coefficients[key] = coefficients.get(key, 0) + value
    return {waves: value for waves, value in coefficients.items() if value}


@lru_cache
def _natural_angles(n: int) -> frozenset[Multiples]:
    """φa and φb − φa, b the later: angles with a name of their own (c12, c23)."""
    unit = [tuple(int(i == a) for i in range(n)) for a in range(n)]
    return frozenset(unit) | {_minus(unit[b], unit[a]) for a in range(n) for b in range(a + 1, n)}


def _rewritten(
    part: Part, left: dict[Part, Coefficient], run: AngleSum, products: bool
) -> list[tuple[tuple[Wave, ...], Coefficient]]:
    """Join a wave of A + B with its mirror A − B to a product, where both are there in equal measure; or write it by
    itself. What is used up is taken from `left`."""
    kind, multiples = part
    value = left.pop(part)
    splittings = _splittings(multiples, len(run.names))
    for A, B in splittings:
        mirror, sign = _normal(kind, _minus(A, B))
        other = left.get(mirror, 0) * sign
        if abs(other) == abs(value):
            left.pop(mirror)
            first, second, side = _PRODUCTS[kind][value != other]  # one of the two products stays, twice
            return [_product(run, (first, A), (second, B), 2 * value * side)]
    double = next((A for A, B in splittings if A == B), None)
    if double is not None and kind == COS:  # cos 2A = 2 cos² A − 1 = 1 − 2 sin² A, whichever square counts positively
        wave, constant = _wave(run, COS if value > 0 else SIN, double), (COS, (0,) * len(run.names))
        left[constant] = left.get(constant, 0) - abs(value)
        return [((*wave, *wave), 2 * abs(value))]
    if splittings and (double is not None or products):
        A, B = splittings[0]
        return [_product(run, (one, A), (two, B), value * side) for one, two, side in _PRODUCTS[kind]]
    return [(_wave(run, kind, multiples), value)]


@lru_cache(maxsize=4096)
def _splittings(multiples: Multiples, n: int) -> list[tuple[Multiples, Multiples]]:
    """Every A + B = multiples of natural angles, the later or longer first; partial sums before differences."""
    angles = _natural_angles(n)
    pairs = []
    for A in sorted(angles, key=lambda m: (sum(map(abs, m)), m)):
        B = _minus(multiples, A)
        if B in angles and A <= B:
            pairs.append((B, A))
        elif tuple(-k for k in B) in angles:
            pairs.append((A, B))
    return pairs


def _minus(a: Multiples, b: Multiples) -> Multiples:
    return tuple(x - y for x, y in zip(a, b))


def _normal(kind: int, multiples: Multiples) -> tuple[Part, int]:
    """A wave with its last multiple positive, and the sign that costs."""
    if next((k for k in reversed(multiples) if k), 0) >= 0:
        return (kind, multiples), 1
    return (kind, tuple(-k for k in multiples)), -1 if kind == SIN else 1


def _product(run: AngleSum, a: Part, b: Part, value: Coefficient) -> tuple[tuple[Wave, ...], Coefficient]:
    """value · wave a · wave b."""
    (first, s1), (second, s2) = _normal(*a), _normal(*b)
    return (*_wave(run, *first), *_wave(run, *second)), value * s1 * s2


def _wave(run: AngleSum, kind: int, multiples: tuple[int, ...]) -> tuple[Wave, ...]:
    """A wave as an atom; none for cos 0. Partial sums turn back into joint angles: k_j = Σ_{i ≥ j} multiple_i."""
    if not any(multiples):
        return ()
    total, angle = 0, []
    for name, sense, k in reversed(list(zip(run.names, run.senses, multiples))):
        total += k
        if total:
            angle.append((name, total * sense))
    return ((kind, tuple(reversed(angle))),)


def runs_of(mechanism: Mechanism, names: CoordinateNames) -> list[AngleSum]:
    """Runs of parallel hinges from the base outwards; each hinge is in one run."""
    if mechanism.coupling is not None:
        return [AngleSum((name,), (1,)) for name in names.angles]
    axes = mechanism.axes
    last: dict[int, int] = {}  # link at the end of a run → the run's number
    runs: list[tuple[list[str], list[int], Array]] = []
    offset = len(names.q) - len(mechanism.links)
    for index, link in enumerate(mechanism.links):
        if link.kind != "revolute":
            continue
        before = _hinge_before(mechanism, index)
        name = names.q[index + offset]
        run = last.pop(before, None) if before is not None else None
        if run is not None and abs(abs(axes[index] @ runs[run][2]) - 1) < 1e-9:
            runs[run][0].append(name)
            runs[run][1].append(int(np.sign(axes[index] @ runs[run][2])))
            last[index] = run
        else:
            runs.append(([name], [1], axes[index]))
            last[index] = len(runs) - 1
    return [AngleSum(tuple(names_), tuple(senses)) for names_, senses, _ in runs]


def _hinge_before(mechanism: Mechanism, index: int) -> int | None:
    """The nearest hinge that carries a link."""
    at = mechanism.links[index].parent
    while at >= 0 and mechanism.links[at].kind != "revolute":
        at = mechanism.links[at].parent
    return at if at >= 0 else None
