"""Environments in one compiled batch: move each one's target, run its loop, gather what its agent sees."""

from __future__ import annotations

from palpate.engine.fatal import Rescue, call_guarded
from palpate.engine.kernels import address_of_record, kernel, put
from palpate.engine.records import Integers, Matrix, ReadMatrix, ReadVector, Record, Vector, sized
from palpate.engine.views import part
from palpate.run.loop.state import RUNNING, Loop
from palpate.spatial.kernels import quat_from_rotation_vector, quat_multiply, quat_normalize


class Agent(Record):
    """One environment for compiled code.

    Attributes:
        on: whether it is stepped at all.
        rescue, loop: what is run, and what guards it.
        ticks: of control in a step of the agent.
        target, position, quat_wxyz: the target's numbers, and what of them the agent moves.
        reach, turn: by how much an action of 1 moves and turns it.
        seen: runs of columns of the loop's row, each a start and a length.
        status: how the last step went.
    """

    on: bool
    rescue: Rescue
    loop: Loop
    ticks: int
    target: Vector
    position: Vector
    quat_wxyz: Vector
    reach: float
    turn: float
    seen: Integers
    status: int = RUNNING
    turned: Vector = sized(4)
    angle: Vector = sized(3)


class Batch(Record):
    """Environments that are stepped by one call."""

    agents: list[Agent]


@kernel
def move_target(agent: Agent, action: ReadVector) -> None:
    """Move and turn the target; the turn is a rotation vector in world axes."""
    for i in range(3):
        agent.position[i] += agent.reach * action[i]
        agent.angle[i] = agent.turn * action[3 + i]
    if agent.angle[0] != 0.0 or agent.angle[1] != 0.0 or agent.angle[2] != 0.0:
        quat_from_rotation_vector(agent.angle, agent.turned)
        quat_multiply(agent.turned, agent.quat_wxyz, agent.quat_wxyz)
        quat_normalize(agent.quat_wxyz)


@kernel
def look(agent: Agent, out: Vector) -> None:
    """Observations of the agent."""
    offset = 0
    for k in range(0, agent.seen.size, 2):
        size = agent.seen[k + 1]
        put(out, offset, part(agent.loop.row_numbers, agent.seen[k], size))
        offset += size


@kernel
def take_step(agent: Agent, action: ReadVector, out: Vector) -> None:
    """One step of an environment."""
    L = agent.loop
    move_target(agent, action)
    for k in range(agent.ticks):
        put(L.targets[k], 0, agent.target)
    L.first_target = L.tick_count
    steps = agent.ticks * L.ratio
    agent.status = call_guarded(agent.rescue, address_of_record(L), steps)  # pyright: ignore[reportCallIssue]
    look(agent, out)


@kernel
def take_steps(batch: Batch, actions: ReadMatrix, out: Matrix) -> None:
    """One step of each environment that is on, one after another."""
    for k in range(len(batch.agents)):
        if batch.agents[k].on:
            take_step(batch.agents[k], actions[k], out[k])
