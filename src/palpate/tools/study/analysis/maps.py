"""Where a verdict changes over two parameters: a quadtree along the boundary, then bisection on its edges.

Verdicts are taken at the corners of coarse cells; a cell whose corners disagree is quartered, down to the finest size;
each edge of a finest cell whose ends disagree is halved until the boundary is known well enough. A region smaller than
a coarse cell may lie unseen between its corners.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, log2

import numpy as np

from palpate.checks import Array
from palpate.errors import InvalidInput, PalpateError
from palpate.run.build import build
from palpate.run.forecast.moments import LoopMoment, ask_ends
from palpate.run.forecast.variants import Variants
from palpate.scenario.file.load import overridden
from palpate.scenario.model import Scenario
from palpate.tools.study.plans.axis import Span
from palpate.tools.study.plans.override import override
from palpate.tools.study.plans.plan import Plan
from palpate.tools.study.plans.points import CELLS

Vertex = tuple[int, int]
Cell = tuple[int, int, int]  # left, bottom and size, on the finest lattice
Edge = tuple[Vertex, Vertex]
COARSE, TOLERANCE = 8, 0.004
_AFTER = 3.0  # s, in which a run that does not rest at its end may come to rest


@dataclass(frozen=True)
class BoundaryMap:
    """Verdicts over two parameters and the boundary between them.

    Attributes:
        x, y: the stretches of both.
        points: where verdicts were taken, (n, 2), in the parameters' units.
        verdicts: there, (n,).
        boundary: lines, each (k, 2), in the parameters' units.
        runs: how many verdicts were taken.
        grid_runs: how many a grid as fine as the smallest cell would take.
    """

    x: Span
    y: Span
    points: Array
    verdicts: Array
    boundary: tuple[Array, ...]
    runs: int
    grid_runs: int

    @property
    def share(self) -> float:
        """Runs as a share of the grid's."""
        return self.runs / self.grid_runs


def boundary_map(
    verdict: Callable[[float, float], bool],
    x: Span,
    y: Span,
    *,
    cells: int = CELLS,
    coarse: int = COARSE,
    tolerance: float = TOLERANCE,
) -> BoundaryMap:
    """The map of a function of two numbers.

    Args:
        verdict: whether (x, y) is good.
        x, y: the stretches.
        cells: finest cells per side; rounded up to coarse · 2ⁿ.
        coarse: cells per side at first.
        tolerance: how well the boundary is located, as a share of a side.
    """
    steps = refine(cells, coarse, tolerance, x, y)
    places = next(steps)
    try:
        while True:
            places = steps.send(np.array([bool(verdict(x.at(u), y.at(v))) for u, v in places]))
    except StopIteration as end:
        return end.value


def _in_units(places: Array, x: Span, y: Span) -> Array:
    return np.array([[x.at(float(u)), y.at(float(v))] for u, v in places]).reshape(-1, 2)


def refine(cells: int, coarse: int, tolerance: float, x: Span, y: Span) -> Generator[Array, Array, BoundaryMap]:
    """Ask for verdicts at places of the unit square, (n, 2) at a time, until the boundary over x and y is known."""
    if coarse < 1 or cells < coarse or not 0 < tolerance < 1:
        raise InvalidInput(
            f"a map needs 1 ≤ coarse ≤ cells and a tolerance between 0 and 1, got {coarse}, {cells}, {tolerance:g}"
        )
    size = 2 ** ceil(log2(cells / coarse))
    lattice = _Lattice(coarse * size)
    leaves = {(i * size, j * size, size) for i in range(coarse) for j in range(coarse)}
    yield from lattice.ask(corner for cell in leaves for corner in _corners(cell))
    while mixed := [cell for cell in sorted(leaves) if cell[2] > 1 and lattice.disagrees(cell)]:
        leaves.difference_update(mixed)
        parts = [part for cell in mixed for part in _quarters(cell)]
        leaves.update(parts)
        yield from lattice.ask(corner for cell in parts for corner in _corners(cell))
    finest = [cell for cell in sorted(leaves) if cell[2] == 1 and lattice.disagrees(cell)]
    edges = sorted({edge for cell in finest for edge in _edges(cell) if lattice.changes(edge)})
    crossings = yield from lattice.bisect(edges, tolerance)
    points, verdicts = _in_units(np.concatenate(lattice.asked), x, y), np.concatenate(lattice.verdicts)
    lines = tuple(_in_units(line, x, y) for line in _lines(finest, crossings))
    return BoundaryMap(x, y, points, verdicts, lines, len(points), (lattice.side + 1) ** 2)


class _Lattice:
    """Verdicts so far: at the vertices of the finest lattice, and at points on its edges."""

    def __init__(self, side: int) -> None:
        self.side = side
        self.known: dict[Vertex, bool] = {}
        self.asked: list[Array] = []
        self.verdicts: list[Array] = []

    def ask(self, vertices: Iterator[Vertex]) -> Generator[Array, Array, None]:
        wanted = sorted({vertex for vertex in vertices if vertex not in self.known})
        if wanted:
            verdicts = yield from self._at(np.array(wanted) / self.side)
            self.known.update(zip(wanted, verdicts.tolist()))

    def _at(self, places: Array) -> Generator[Array, Array, Array]:
        verdicts = np.asarray((yield places), dtype=bool)
        self.asked.append(places)
        self.verdicts.append(verdicts)
        return verdicts

    def disagrees(self, cell: Cell) -> bool:
        """Whether known vertices on the cell's border differ; those of finer neighbours count."""
        i, j, size = cell
        border = [(i + k, j + m) for k in range(size + 1) for m in (0, size)]
        border += [(i + k, j + m) for k in (0, size) for m in range(size + 1)]
        return len({self.known[vertex] for vertex in border if vertex in self.known}) > 1

    def changes(self, edge: Edge) -> bool:
        return self.known[edge[0]] != self.known[edge[1]]

    def bisect(self, edges: list[Edge], tolerance: float) -> Generator[Array, Array, dict[Edge, Array]]:
        """Where each edge crosses the boundary, in the unit square."""
        if not edges:
            return {}
        starts, ends = (np.array([edge[k] for edge in edges]) / self.side for k in (0, 1))
        low, high = np.zeros(len(edges)), np.ones(len(edges))
        first = np.array([self.known[edge[0]] for edge in edges])
        for _ in range(max(0, ceil(log2(0.5 / self.side / tolerance)))):
            middle = (low + high) / 2
            same = (yield from self._at(starts + middle[:, None] * (ends - starts))) == first
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        crossings = starts + ((low + high) / 2)[:, None] * (ends - starts)
        return dict(zip(edges, crossings))


def _corners(cell: Cell) -> tuple[Vertex, ...]:
    i, j, size = cell
    return (i, j), (i + size, j), (i + size, j + size), (i, j + size)


def _quarters(cell: Cell) -> list[Cell]:
    i, j, half = cell[0], cell[1], cell[2] // 2
    return [(i, j, half), (i + half, j, half), (i, j + half, half), (i + half, j + half, half)]


def _edges(cell: Cell) -> list[Edge]:
    """Bottom, right, top, left; each from its smaller vertex, so that neighbours name it alike."""
    a, b, c, d = _corners(cell)
    return [(a, b), (b, c), (d, c), (a, d)]


def _lines(cells: list[Cell], crossings: dict[Edge, Array]) -> Iterator[Array]:
    """The crossings joined through the cells into lines, the longest run at a time."""
    links: dict[Edge, list[Edge]] = {edge: [] for edge in crossings}
    for cell in cells:
        crossed = [edge for edge in _edges(cell) if edge in crossings]
        for a, b in zip(crossed[::2], crossed[1::2]):
            links[a].append(b)
            links[b].append(a)
    ends = [edge for edge, others in links.items() if len(others) == 1]
    for start in [*ends, *links]:
        path = list(_walk(start, links))
        if len(path) > 1:
            yield np.array([crossings[edge] for edge in path])


def _walk(here: Edge, links: dict[Edge, list[Edge]]) -> Iterator[Edge]:
    """From edge to edge, each link once."""
    yield here
    while links[here]:
        there = links[here].pop(0)
        links[there].remove(here)
        yield there
        here = there


Refuse = Callable[[Scenario], str | None]


def refuse(scenario: Scenario) -> str | None:
    """Why the loop of a scenario is unstable where its arm stands, at its start or end; None where it is not.

    The loop's own poles say so. Dry friction may hold such a loop; what a push does then is left to a run.
    """
    variants = Variants(build(scenario), _AFTER)
    return _unstable(ask_ends(variants, variants.base).moments)


def _unstable(moments: Sequence[LoopMoment]) -> str | None:
    for moment in moments:
        if moment.stands and moment.poles.stable is False:
            mode = moment.poles.modes[0] if moment.poles.modes else None
            which = f", {mode.joint} at {mode.frequency:.3g} Hz" if mode else ""
            where = f"{moment.name}, {moment.state}"
            return f"the loop is unstable ({where}): largest pole {moment.poles.largest:.6f}{which}"
    return None


def refusal(plan: Plan, values: Sequence[object], judge: Refuse) -> str | None:
    """The reason for which `judge` refuses a point of a plan; errors of an impossible one are left to the run."""
    texts = [override(axis, value, plan.scenario) for axis, value in zip(plan.axes, values)]
    try:
        return judge(overridden(plan.scenario, texts))
    except PalpateError:
        return None


def map_spans(plan: Plan) -> tuple[Span, Span]:
    """The stretches of the two parameters of a map."""
    spans = [axis.span for axis in plan.axes if axis.span is not None]
    if len(spans) != 2 or len(plan.axes) != 2:
        raise InvalidInput(
            "a map needs exactly two parameters, each with a range of numbers",
            hint="--vary control.stiffness.0=100:2000 --vary world.surfaces.wall.stiffness=1e3:1e5:33:log --method map",
        )
    return spans[0], spans[1]


def predicted_boundary(plan: Plan, judge: Refuse = refuse, cells: int = 32) -> list[Array]:
    """The lines over a map's two parameters where poles pass 1; each (k, 2), in the parameters' units."""
    x, y = map_spans(plan)
    return list(boundary_map(lambda x, y: refusal(plan, (x, y), judge) is None, x, y, cells=cells).boundary)
