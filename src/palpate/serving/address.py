"""Which addresses are meant: IPv4, and this machine alone unless more is asked for."""

from __future__ import annotations

import ipaddress

from palpate.errors import InvalidInput

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
        raise InvalidInput(f"{host!r} is no address", hint="give an IPv4 address such as 127.0.0.1") from None
    if address.version != 4:
        raise InvalidInput(
            f"{host} is an IPv6 address, and the FCI protocol is spoken over IPv4 alone", hint="127.0.0.1"
        )
    if not address.is_loopback and not network:
        raise InvalidInput(f"{host} {why}", hint="use 127.0.0.1, or add --allow-network to allow it")
