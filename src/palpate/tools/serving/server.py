"""A scenario's robot behind its network protocol: one run for each client."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from palpate.checks import Array
from palpate.control.python_law import PythonLaw
from palpate.errors import InvalidInput, NotAClient
from palpate.run.assemble.assemble import assemble
from palpate.run.build import build
from palpate.run.run import Run
from palpate.run.simulate import execute, simulate_quietly
from palpate.scenario.model import Scenario
from palpate.tools.serving.arm.arm import Arm
from palpate.tools.serving.arm.franka import franka_model
from palpate.tools.serving.arm.limits import Limits
from palpate.tools.serving.buttons import Buttons, Press
from palpate.tools.serving.gripper.fingers import Fingers
from palpate.tools.serving.pace import Pace, no_collector, real_time
from palpate.tools.serving.protocol.fci import PORT
from palpate.tools.serving.protocol.link import HANDSHAKE, ClientConnection, check_address, close_at_once, has_asked
from palpate.tools.serving.session import TERMS, ClientLaw, ClientSession
from palpate.trace import Trace
from palpate.world.clock import Clock
from palpate.world.config import World
from palpate.world.driver import per_joint
from palpate.world.sensing.faults import lost_commands

PERIOD = 1e-3  # s, of the protocol
_QUEUE = 4  # connections that may wait
_LOOK, _GLANCE = 0.5, 0.02  # s to wait for a connection: alone, and while others have not said what they want

Say = Callable[[str], None]


def _no_keys() -> str:
    return ""


class _Waiting(NamedTuple):
    """A connection that has not said what it wants, and until when it may."""

    connection: socket.socket
    peer: tuple[str, int]
    until: float


class Server:
    """Listens on an address, and runs the scenario once for each client.

    Args:
        scenario: the robot, the world and the start; its law and the duration of its run are not used.
        host, port: where to listen.
        pace: simulated over real time; None waits for the client's commands.
        duration: s that a client may stay, at most.
        network: whether an address other than loopback may be listened on.
        presses: what a person does at the robot during every connection.
        say: given one sentence at a time for the person at the server.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        host: str = "127.0.0.1",
        port: int = PORT,
        pace: float | None = 1.0,
        duration: float = 300.0,
        network: bool = False,
        presses: Sequence[Press] = (),
        say: Say = lambda text: None,
    ) -> None:
        check_address(host, network)
        self._presses, self.keys = tuple(presses), _no_keys
        self.fingers: Fingers | None = None  # of a gripper beside the arm
        run = build(scenario)
        self._run, self._pace, self._say = _served_run(run, duration), pace, say
        self.model = franka_model(self._run.robot)
        self._rotor = per_joint(self._run.robot, self._run.world.plant.rotor_inertia, "rotor_inertia")
        self._lost = _lost_ticks(run, self._run.clock)
        _warm_up(run, Arm(self._run.robot, self.model, self._rotor, PERIOD))
        Limits(self._run.robot, PERIOD).compile()
        self._socket = _listening(host, port)
        self.address: tuple[str, int] = self._socket.getsockname()

    def wait(self, seconds: float | None = None) -> ClientConnection:
        """The next client; connections that are not clients are named and refused.

        Raises:
            TimeoutError: none came in this time.
        """
        until = None if seconds is None else time.monotonic() + seconds
        waiting: list[_Waiting] = []  # connections that have not said yet what they want
        try:
            while True:
                over = until is not None and time.monotonic() >= until
                waiting += self._accepted(_GLANCE if waiting or over else _LOOK, over)
                for one in tuple(waiting):
                    if (asked := self._asked(one, crowded=len(waiting) > _QUEUE)) is None:
                        continue
                    waiting.remove(one)
                    if isinstance(asked, ClientConnection):
                        return asked
        finally:
            for one in waiting:
                one.connection.close()

    def _accepted(self, seconds: float, over: bool) -> list[_Waiting]:
        """A connection that comes within a time, s; TimeoutError if none does."""
        self._socket.settimeout(seconds)
        try:
            connection, peer = self._socket.accept()
        except TimeoutError:
            if over:
                raise
            return []
        return [_Waiting(connection, peer, time.monotonic() + HANDSHAKE)]

    def _asked(self, one: _Waiting, crowded: bool) -> ClientConnection | Literal[False] | None:
        """The client that a connection is; False if it is none, and None if it has not said yet."""
        try:
            if has_asked(one.connection):
                return ClientConnection(one.connection, one.peer)
            if time.monotonic() < one.until and not crowded:
                return None
            raise NotAClient(f"it did not ask to connect within {HANDSHAKE:g} s")
        except (NotAClient, OSError) as error:
            self._say(f"a connection from {one.peer[0]}:{one.peer[1]} was refused: {error}")
            one.connection.close()
            return False

    def serve(
        self,
        link: ClientConnection,
        partial: os.PathLike[str] | str | None = None,
        ended: Callable[[], None] = lambda: None,
    ) -> Trace:
        """Be the robot of a client until it leaves, and return what happened.

        Args:
            link: the client; see `wait`.
            partial: a file that a long connection is kept in on its way; see `simulate`.
            ended: called when the client has left, before the trace is made.
        """
        run, clock = self._run, self._run.clock
        pace = Pace(clock.control_period, self._pace or 1.0, waits=self._pace is None)
        session = ClientSession(link, run.robot, self.model, self._rotor, pace)
        session.refuse_others, session.lost = self._refuse_others, self._lost
        session.buttons, session.fingers = Buttons(self._presses, self.keys), self.fingers
        if self.fingers is not None:
            self.fingers.put_back()
        try:
            law = ClientLaw(session.decide, TERMS, name="fci-client", follows="nothing", session=session)
            assembly = assemble(replace(run, law=law))
            gears = assembly.loop.elastic
            if gears.on:
                session.arm.know_gears(gears.stiffness, gears.inertia, run.world.sensors.encoders)
            with no_collector(), real_time(self._pace is not None):
                return execute(assembly, None, partial, ended)
        finally:
            link.close()

    def _refuse_others(self) -> None:
        """Refuse other connections while a client is there."""
        self._socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            connection, peer = self._socket.accept()
            self._say(f"a second client from {peer[0]}:{peer[1]} was refused: the robot has one already")
            close_at_once(connection)

    def close(self) -> None:
        """Stop listening."""
        self._socket.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _served_run(run: Run, duration: float) -> Run:
    if abs(run.clock.control_period - PERIOD) > 1e-9:
        raise InvalidInput(
            f"the control period is {run.clock.control_period:g} s; the FCI protocol needs {PERIOD:g} s",
            hint="set run.rate = 1000",
        )
    return replace(
        run, clock=run.clock.model_copy(update={"duration": duration}), world=_without_client(run.world), guards=None
    )


def _without_client(world: World) -> World:
    """The world without what the session does in its place: it loses commands, and adds gravity where it is known.

    The low-pass of a preset is libfranka's, and runs in the client; one that the scenario gives itself is the robot's.
    """
    given = {"loss": 0.0, "stop_after": 0, "adds_gravity": False, "cutoff": world.driver.cutoff or 0.0}
    faults = tuple(fault for fault in world.faults if fault.what != "commands-lost")
    return world.model_copy(update={"faults": faults, "driver": world.driver.model_copy(update=given)})


def _lost_ticks(run: Run, clock: Clock) -> np.ndarray:
    """At which ticks of a connection the client's command is lost."""
    loss, ticks = run.world.driver.facts.loss, clock.steps // clock.ratio + 1
    return lost_commands(run.world.faults, clock.seed, clock.control_period, ticks, loss=loss)


def _warm_up(run: Run, arm: Arm) -> None:
    """Compile what run and arm need before the first client waits for it; contacts that are exact, by touching them.

    libfranka gives a robot up that sends nothing for a second.
    """
    if run.world.is_exact:
        simulate_quietly(run)
    arm.compile()

    def stand(tick: Any, gains: Any, memory: Any) -> dict[str, Array]:
        arm.observe(tick)
        return {name: np.zeros(tick.v.size) for name in TERMS}

    law = PythonLaw(stand, TERMS)
    short = run.clock.model_copy(update={"duration": 2 * run.clock.control_period})
    simulate_quietly(replace(run, law=law, clock=short, stop=()))


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), backlog=_QUEUE)
    except OSError as error:
        raise InvalidInput(
            f"cannot listen on {host}:{port}: {os.strerror(error.errno) if error.errno else error}",
            hint="is another server running? libfranka always uses port 1337; 127.0.0.2 is loopback too",
        ) from None
