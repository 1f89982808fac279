"""Where an outbound call may go: public addresses only, unless the host is allow-listed (architecture.md 5)."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable

Resolve = Callable[[str, int], list[str]]


class AddressNotAllowed(Exception):
    """The host, or one of its addresses, is not public."""


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def address_for(host: str, port: int, allowed_hosts: Iterable[str], resolver: Resolve = resolve) -> str:
    """The address to connect to: resolved once, checked, and used, so that a second answer of the name server cannot
    lead elsewhere. Raises `AddressNotAllowed`, OSError when the name does not resolve."""
    addresses = resolver(host, port)
    if not addresses:
        raise OSError(f"{host} has no address")
    if host not in set(allowed_hosts):
        for address in addresses:
            if not is_public(address):
                raise AddressNotAllowed(host)
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an address is one of the open internet; what hides another address inside is judged by that one."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is not None:
            ip = inner
        elif ip in _NAT64:
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
    return ip.is_global and not ip.is_multicast


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
