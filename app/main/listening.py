"""The socket that a gateway listens on: its own, or one that was handed down to it.

``ropewalk dev`` holds it for every gateway to come.  The port is its own from the start to
the end: nobody takes it while a gateway is being replaced, and who connects meanwhile waits
for the next one.
"""

import errno
import socket

from app.main.refusal import Refusal

BACKLOG = 2048


def listening_socket(host: str, port: int, *, inherited: int | None = None) -> socket.socket:
    """Return a socket that listens.

    Args:
        host: the address to listen on.
        port: 0 picks a free one.
        inherited: a descriptor of such a socket, handed down by whoever started us; it
            outlives us, so that clients can wait for the next one.

    Raises:
        Refusal: the port is taken, or the address is not ours.
    """
    if inherited is not None:
        handed_down = socket.socket(fileno=inherited)
        handed_down.set_inheritable(False)
        return handed_down
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Refusal(
                f"port {port} is taken: choose another with --port (0 picks a free one)"
            ) from error
        raise Refusal(f"cannot listen at {host}, port {port}: {error.strerror or error}") from error
