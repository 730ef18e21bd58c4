"""Waves of one run of angles, written with the angles a person would choose: c12, c23, products of two."""

from __future__ import annotations

from functools import lru_cache

from palpate.tools.derive.closed.angles import AngleSum, Part, Wave
from palpate.tools.derive.closed.trig import COS, SIN, Coefficient

Multiples = tuple[int, ...]
# cos(A + B) = cos A cos B − sin A sin B; sin(A + B) = sin A cos B + cos A sin B.
_PRODUCTS = {COS: ((COS, COS, 1), (SIN, SIN, -1)), SIN: ((SIN, COS, 1), (COS, SIN, 1))}


def in_natural_angles(
    inner: dict[Part, Coefficient], run: AngleSum, products: bool
) -> dict[tuple[Wave, ...], Coefficient]:
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
        mirror, sign = normal_wave(kind, _minus(A, B))
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


def normal_wave(kind: int, multiples: Multiples) -> tuple[Part, int]:
    """A wave with its last multiple positive, and the sign that costs."""
    if next((k for k in reversed(multiples) if k), 0) >= 0:
        return (kind, multiples), 1
    return (kind, tuple(-k for k in multiples)), -1 if kind == SIN else 1


def _product(run: AngleSum, a: Part, b: Part, value: Coefficient) -> tuple[tuple[Wave, ...], Coefficient]:
    """value · wave a · wave b."""
    (first, s1), (second, s2) = normal_wave(*a), normal_wave(*b)
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
