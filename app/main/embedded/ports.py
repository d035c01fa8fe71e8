"""Free TCP ports on the loopback interface."""

import socket


def free_port() -> int:
    """Return a port that nobody listens on now.  Whoever takes it first has it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_free(host: str, port: int) -> bool:
    """Return whether a server could listen there, its last one's connections notwithstanding."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen()
        except OSError:
            return False
        return True
