"""Sockets of one client: requests over TCP, states and commands over UDP; and which addresses may be used."""

from __future__ import annotations

import contextlib
import ipaddress
import select
import socket
import struct
import time
from collections.abc import Iterator

import numpy as np

from palpate.errors import InvalidInput, NotAClient
from palpate.tools.serving.protocol import fci

_REACHED = "can be reached from other machines, and the protocol has no password"


def check_address(host: str, network: bool, why: str = _REACHED) -> None:
    """Refuse what is no IPv4 address, and what is not loopback unless that is meant.

    Args:
        host: the address.
        network: whether one that is not loopback is meant.
        why: what is wrong with such a one.

    Raises:
        InvalidInput: why, and what to do.
    """
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
    except ValueError:
        raise InvalidInput(f"{host!r} is not an IP address", hint="give an IPv4 address such as 127.0.0.1") from None
    if address.version != 4:
        raise InvalidInput(f"{host} is an IPv6 address, and the FCI protocol uses IPv4 only", hint="127.0.0.1")
    if not address.is_loopback and not network:
        raise InvalidInput(f"{host} {why}", hint="use 127.0.0.1, or add --allow-network to allow it")


def is_loopback(host: str) -> bool:
    """Whether a checked address is this machine's."""
    return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback


HANDSHAKE = 2.0  # s that a connection may take to say what it wants
_MOST_BYTES = 65536  # bytes of requests that wait


def close_at_once(connection: socket.socket) -> None:
    """Close so that the other side learns of it at once: libfranka waits for ever on a polite end."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    finally:
        connection.close()


def has_asked(connection: socket.socket) -> bool:
    """Whether a connection has said what it wants, something else, or has been closed; nothing is taken from it."""
    connection.setblocking(False)
    try:
        data = connection.recv(_MOST_BYTES, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    try:
        return not data or fci.read_request(bytearray(data)) is not None
    except NotAClient:
        return True


class ClientConnection:
    """A connected client.

    Attributes:
        alive: whether it is still there.
        gone: why not.
        interrupted: whether a request came while a command was waited for.
        late: commands that came after the next state had been sent.
        foreign: packets that came from another socket than the one that states are sent to.
    """

    def __init__(self, connection: socket.socket, peer: tuple[str, int]) -> None:
        self.peer, self.alive, self.gone = peer, True, "the client disconnected"
        self.interrupted, self.late, self.foreign = False, 0, 0
        self._tcp, self._buffer = connection, bytearray()
        self._tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._number, port = self._handshake()
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind((connection.getsockname()[0], 0))
        self._udp.setblocking(False)
        self._tcp.setblocking(False)
        self._state_address = (peer[0], port)

    def _handshake(self) -> tuple[int, int]:
        """The number of the Connect request and the port that wants the states.

        Raises:
            NotAClient: it says nothing, something else, or speaks another version.
        """
        until = time.monotonic() + HANDSHAKE
        while (request := self._next_request()) is None:
            self._tcp.settimeout(max(until - time.monotonic(), 1e-3))
            try:
                data = self._tcp.recv(_MOST_BYTES)
            except OSError as error:
                raise NotAClient(f"it did not ask to connect within {HANDSHAKE:g} s ({error})") from None
            if not data:
                raise NotAClient("it closed the connection before it asked for anything")
            self._buffer += data
        if request.command != fci.Command.CONNECT:
            raise NotAClient(f"its first request is {request.command.name}, not CONNECT")
        version, port = (int(x) for x in request.fields)
        if version != fci.VERSION:
            self._tcp.sendall(fci.connected(request.number, fci.INCOMPATIBLE_VERSION))
            self._tcp.shutdown(socket.SHUT_WR)
            raise NotAClient(
                f"it speaks version {version} of the protocol, and this is version {fci.VERSION}",
                hint="libfranka 0.18 to 0.21 speak version 10",
            )
        return request.number, port

    def _next_request(self) -> fci.Request | None:
        try:
            return fci.read_request(self._buffer)
        except NotAClient as error:
            raise NotAClient(f"it does not speak the FCI protocol: {error.args[0]}") from None

    def accept(self) -> None:
        """Tell the client that the robot is ready: its states begin now."""
        self.send(fci.connected(self._number, fci.SUCCESS))

    def send(self, message: bytes) -> None:
        """Send an answer."""
        try:
            self._tcp.settimeout(1.0)
            self._tcp.sendall(message)
            self._tcp.setblocking(False)
        except OSError as error:
            self._disconnected(f"the connection broke ({error})")

    def requests(self) -> Iterator[fci.Request]:
        """Requests of the client since the last call."""
        try:
            data = self._tcp.recv(_MOST_BYTES)
            if not data:
                self._disconnected("the client disconnected")
            self._buffer += data
        except BlockingIOError:
            return
        except OSError as error:
            self._disconnected(f"the connection broke ({error})")
        try:
            while (request := self._next_request()) is not None:
                yield request
        except NotAClient as error:
            self._disconnected(f"the client was disconnected: {error.args[0]}")

    def _disconnected(self, why: str) -> None:
        if self.alive:
            self.alive, self.gone = False, why

    def send_state(self, state: bytes) -> None:
        """Send the robot's state."""
        with contextlib.suppress(OSError):  # the port has no reader: TCP tells whether the client is gone
            self._udp.sendto(state, self._state_address)

    def command(self, number: int, until: float) -> np.ndarray | None:
        """The command that answers the state of a number.

        None if it has not come at a time of the monotonic clock, or a request came first (`interrupted`). Answers to
        states before count as late.
        """
        self.interrupted = False
        while True:
            try:
                data, source = self._udp.recvfrom(2048)
            except BlockingIOError:
                left = until - time.monotonic()
                ready = select.select([self._udp, self._tcp], [], [], left)[0] if left > 0.0 else []
                self.interrupted = self._tcp in ready and self._udp not in ready
                if self._udp not in ready:
                    return None
                continue
            except OSError:  # a state before met a closed port
                continue
            if source != self._state_address:  # another program of that machine
                self.foreign += 1
                continue
            if len(data) != fci.MOTION.itemsize:
                continue
            command = np.frombuffer(data, fci.MOTION)[0]
            if command["message_id"] == number:
                return command
            self.late += 1

    def close(self) -> None:
        """Close both sockets."""
        self._udp.close()
        close_at_once(self._tcp)
