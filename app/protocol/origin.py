"""The page that opens a socket, as browsers name it: scheme, host, port if it is no usual one."""

from typing import Final

_USUAL_PORTS: Final = {"http": ":80", "https": ":443", "ws": ":80", "wss": ":443"}


def canonical_origin(text: str) -> str:
    """Return an origin in the one spelling that browsers send."""
    scheme, separator, host = text.strip().rstrip("/").lower().partition("://")
    return f"{scheme}{separator}{host.removesuffix(_USUAL_PORTS.get(scheme, '/'))}"
