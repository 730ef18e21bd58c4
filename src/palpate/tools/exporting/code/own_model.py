"""The model inside an exported library: the tree's derived program in place of terms that the caller gives."""

from __future__ import annotations

from palpate.control.tick import Tick, sizes_of
from palpate.engine.kernels import kernel
from palpate.engine.records import Record, Vector
from palpate.equations.code.tree_code import TreeGraph
from palpate.equations.code.tree_program import FrameTerms, TreeCode, TreePlace, TreeTerms, compute_frame, compute_terms
from palpate.equations.model.symbols import TreeSymbols
from palpate.errors import InvalidInput, NotApplicable
from palpate.robot.robot import Robot

PREFIX = "own"
TERMS, FRAME, CONSTANTS = 10, 11, 2  # arguments of the program's functions


class OwnModel(Record):
    """A tree's program and where it reads and writes: the arrays of the tick."""

    code: TreeCode
    tree: TreeTerms
    tool: TreePlace
    frame: FrameTerms
    q: Vector
    v: Vector


@kernel
def fill_terms(own: OwnModel, a: int, b: int, c: int) -> None:
    """M, C v + g, g, pose, Jacobian and J̇ v of the tool at the tick's q and v."""
    compute_terms(own.code, own.q, own.v, own.tree)
    compute_frame(own.code, own.tree, own.tool, own.frame)


def own_model(robot: Robot, tick: Tick) -> OwnModel:
    """The model of a robot that fills a tick.

    Raises:
        NotApplicable: with what no equations are derived for, or masses that are not known.
    """
    if robot.unresisted:
        raise NotApplicable(
            f"{robot.name} has no masses, so that its library has no model of its own", hint="--model given"
        )
    try:
        program = robot.program
    except InvalidInput as error:
        raise NotApplicable(f"no model of {robot.name} can be exported: {error}", hint="--model given") from error
    sizes = program.record_sizes
    x, nv = tick, sizes_of(robot)["nv"]
    tree = TreeTerms(sizes, M=x.M, bias=x.bias, gravity=x.gravity)
    frame = FrameTerms({"nv": nv}, position=x.position, rotation=x.rotation, J=x.J, drift=x.drift)
    tool = program.place(program.mechanism.placed(robot.frame().record))
    code = TreeCode({"links": program.sizes.links}, constants=0, terms=0, p=program.code.p, k=program.code.k)
    return OwnModel(code=code, tree=tree, tool=tool, frame=frame, q=x.q, v=x.v)


def program_text(robot: Robot) -> str:
    """The program's functions as LLVM code."""
    return TreeGraph(TreeSymbols(robot.mechanism())).emit(PREFIX, 1)
