"""Which address a request or a socket comes from: for limits on callers who are nobody.

``X-Forwarded-For`` is what the sender says, unless a proxy of ours wrote it.  Each trusted proxy
adds one entry at the end, so with N of them the caller is the N-th from the end, and whatever
stands before it is the caller's own invention.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

_UNKNOWN = "unknown"
_FORWARDED = b"x-forwarded-for"


@dataclass(frozen=True, slots=True)
class Peers:
    """Tells addresses from ASGI scopes.  ``trusted`` proxies stand in front."""

    trusted: int = 0

    def address(self, scope: Mapping[str, Any]) -> str:
        """Return the caller's address; of IPv6 the network, for one caller has all of it."""
        peer = scope.get("client")
        said = [str(peer[0]) if peer else _UNKNOWN]
        if self.trusted:
            lines = [value for name, value in scope["headers"] if name.lower() == _FORWARDED]
            said = [*b",".join(lines).decode("latin-1").split(","), *said] if lines else said
        return _plain(said[max(0, len(said) - 1 - self.trusted)])


def _plain(text: str) -> str:
    """Return an address without port, brackets and the host's part of IPv6."""
    text = text.strip().removeprefix("[").partition("]")[0]
    if text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return _UNKNOWN
    if not isinstance(found, IPv6Address):
        return str(found)
    mapped = found.ipv4_mapped
    return str(mapped or ip_network((found, 64), strict=False).network_address)
