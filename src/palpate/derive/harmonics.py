"""From whole multiples of angles to what people write: cos(q1 + q2 + q3) + cos(q1 − q2 − q3) becomes 2 c1 c23.

Angles of joints that turn about one direction, one after the other, belong together (a run): their partial sums
φ1 = q1, φ2 = q1 + q2, … are the angles one sees in a drawing. Waves of different runs are written as products; within a
run, cos(φa − φb) is a natural angle sum (c2, c23), while cos(φa + φb) is joined with it to a product (cφa cφb).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from palpate.derive.trig import COS, SIN, Coefficient, Trig

Angle = tuple[tuple[str, int], ...]  # (name, multiple), in the order of the run
Wave = tuple[int, Angle]  # COS or SIN of an angle


@dataclass(frozen=True)
class Run:
    """Angles that add up, in order, each with the sense in which it counts."""

    names: tuple[str, ...]
    senses: tuple[int, ...]


Part = tuple[int, tuple[int, ...]]  # COS or SIN, multiples of the run's partial sums
Terms = dict[tuple[int, tuple[Wave, ...]], Coefficient]  # monomial, waves → coefficient


def in_waves(trig: Trig, runs: Sequence[Run], products: bool) -> Terms:
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
        for (m, waves, rest), inner in groups.items():
            for made, value in _natural(inner, run, products).items():
                key = (m, tuple(sorted((*waves, *made))), rest)
                current[key] = current.get(key, 0) + value
    return {(m, waves): value for (m, waves, _), value in current.items() if value}


def _split(trig: Trig, runs: Sequence[Run]) -> dict[tuple[int, tuple[Part, ...]], Coefficient]:
    """Every wave as a sum of products, one factor per run."""
    if not runs:
        return {(m, ()): value for (m, _, _), value in trig.terms.items()}
    found: dict[tuple[int, tuple[Part, ...]], Coefficient] = {}
    for (m, K, o), value in trig.terms.items():
        multiples = trig.ring.combination(K)
        angles = [_partial_sums(multiples, run) for run in runs]
        for parts, sign in _unfolded(angles, o):
            normal, flip = _positive(parts)
            key = (m, normal)
            found[key] = found.get(key, 0) + value * sign * flip
    return {key: value for key, value in found.items() if value and _alive(key[1])}


def _alive(parts: tuple[Part, ...]) -> bool:
    return not any(kind == SIN and not any(multiples) for kind, multiples in parts)


def _partial_sums(multiples: dict[str, int], run: Run) -> tuple[int, ...]:
    """Σ k q in terms of the run's partial sums: coefficient of φ_j is k_j − k_{j+1} (senses counted)."""
    k = [multiples.get(name, 0) * sense for name, sense in zip(run.names, run.senses)]
    return tuple(a - b for a, b in zip(k, [*k[1:], 0]))


def _unfolded(angles: list[tuple[int, ...]], kind: int) -> list[tuple[tuple[Part, ...], int]]:
    """cos or sin of a sum over runs, as products: cos(a + b) = cos a cos b − sin a sin b."""
    if len(angles) == 1:
        return [(((kind, angles[0]),), 1)]
    rest_cos, rest_sin = _unfolded(angles[1:], COS), _unfolded(angles[1:], SIN)
    here = angles[0]
    if not any(here):
        return [(((COS, here), *parts), sign) for parts, sign in _unfolded(angles[1:], kind)]
    if kind == COS:
        first, second, sign2 = rest_cos, rest_sin, -1
        heads = (COS, SIN)
    else:
        first, second, sign2 = rest_cos, rest_sin, 1
        heads = (SIN, COS)
    return [(((heads[0], here), *parts), s) for parts, s in first] + [
        (((heads[1], here), *parts), s * sign2) for parts, s in second
    ]


def _positive(parts: tuple[Part, ...]) -> tuple[tuple[Part, ...], int]:
    """Each angle with its last multiple positive, and the sign that costs."""
    flip, found = 1, []
    for kind, multiples in parts:
        last = next((k for k in reversed(multiples) if k), 0)
        if last < 0:
            multiples = tuple(-k for k in multiples)
            flip *= -1 if kind == SIN else 1
        found.append((kind, multiples))
    return tuple(found), flip


# ---------------------------------------------------------------------- one run


def _natural(inner: dict[Part, Coefficient], run: Run, products: bool) -> dict[tuple[Wave, ...], Coefficient]:
    """Waves of one run, of one monomial and one set of other waves, rewritten."""
    left = dict(inner)
    found: dict[tuple[Wave, ...], Coefficient] = {}

    def put(waves: tuple[Wave, ...], value: Coefficient) -> None:
        if value:
            key = tuple(sorted(waves))
            found[key] = found.get(key, 0) + value

    for part in sorted(inner, key=repr):
        kind, multiples = part
        if part in left and _is_sum(multiples):
            value = left.pop(part)
            a, b = _pair(multiples)
            other = left.pop((kind, _difference(a, b, len(multiples))), 0)
            _put_pair(put, run, kind, (a, b), (value, other), products)
    for (kind, multiples), value in left.items():
        put(_wave(run, kind, multiples), value)
    return {waves: value for waves, value in found.items() if value}


def _is_sum(multiples: tuple[int, ...]) -> bool:
    """φa + φb, or 2 φa."""
    return sum(multiples) == 2 and all(k >= 0 for k in multiples)


def _pair(multiples: tuple[int, ...]) -> tuple[int, int]:
    places = [i for i, k in enumerate(multiples) for _ in range(k)]
    return places[0], places[1]


def _difference(a: int, b: int, n: int) -> tuple[int, ...]:
    """φb − φa, b the later one; 0 if they are one."""
    return tuple((i == b) - (i == a) for i in range(n))


def _put_pair(
    put: Callable[[tuple[Wave, ...], Coefficient], None],
    run: Run,
    kind: int,
    places: tuple[int, int],
    values: tuple[Coefficient, Coefficient],
    products: bool,
) -> None:
    """value · wave(φa + φb) + other · wave(φb − φa)."""
    (a, b), (value, other) = places, values
    n = len(run.names)
    one = {p: tuple(1 if i == p else 0 for i in range(n)) for p in (a, b)}
    ca, sa = _wave(run, COS, one[a]), _wave(run, SIN, one[a])
    cb, sb = _wave(run, COS, one[b]), _wave(run, SIN, one[b])
    difference = _difference(a, b, n)
    straight = ca + cb if kind == COS else ca + sb  # joined where value = other
    crossed = sa + sb if kind == COS else sa + cb  # joined where value = −other
    if value == other:
        put(straight, 2 * value)
    elif value == -other:
        put(crossed, -2 * value if kind == COS else 2 * value)
    elif a == b and kind == COS:
        put(straight, 2 * value)
        put((), other - value)
    elif a == b or (products and not other):
        put(straight, value)
        put(crossed, -value if kind == COS else value)
    elif products:
        put(straight, 2 * value)
        put(_wave(run, kind, difference), other - value)
    else:
        total = tuple(x + y for x, y in zip(one[a], one[b]))
        put(_wave(run, kind, total), value)
        put(_wave(run, kind, difference), other)


def _wave(run: Run, kind: int, multiples: tuple[int, ...]) -> tuple[Wave, ...]:
    """A wave as an atom; none for cos 0. Partial sums turn back into joint angles: k_j = Σ_{i ≥ j} multiple_i."""
    if not any(multiples):
        return ()
    total, angle = 0, []
    for name, sense, k in reversed(list(zip(run.names, run.senses, multiples))):
        total += k
        if total:
            angle.append((name, total * sense))
    return ((kind, tuple(reversed(angle))),)
