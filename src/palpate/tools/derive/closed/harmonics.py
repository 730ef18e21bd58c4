"""From whole multiples of angles to what people write: cos(q1 + q2 + q3) + cos(q1 − q2 − q3) becomes 2 c1 c23.

Angles of joints that turn about one direction, one after the other, belong together (a run): their partial sums
φ1 = q1, φ2 = q1 + q2, … are the angles one sees in a drawing. Waves of different runs are written as products; within a
run, cos(φa − φb) is a natural angle sum (c2, c23), while cos(φa + φb) is joined with it to a product (cφa cφb).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from palpate.tools.derive.closed.angles import AngleSum, Part, Wave
from palpate.tools.derive.closed.natural_waves import in_natural_angles, normal_wave
from palpate.tools.derive.closed.trig import COS, SIN, Coefficient, TrigPolynomial

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
            for made, value in in_natural_angles(inner, run, products).items():
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
            normal, flips = zip(*(normal_wave(*part) for part in parts))
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
