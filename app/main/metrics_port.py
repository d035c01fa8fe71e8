"""Metrics of a process that serves no HTTP otherwise: a worker.

A thread of its own answers, so a worker whose event loop stands still can be seen to.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import start_http_server

from app.main.refusal import Refusal
from app.telemetry.metrics import Metrics


@contextmanager
def metrics_port(metrics: Metrics, host: str, port: int) -> Iterator[None]:
    """Serve ``metrics`` at ``/metrics`` of this port for as long as the block lasts; 0: nowhere.

    Raises:
        Refusal: the port is taken, or the address is not ours.
    """
    if port == 0:
        yield
        return
    try:
        server, thread = start_http_server(port, host, metrics.registry)
    except OSError as error:
        raise Refusal(
            f"cannot serve metrics at {host}, port {port}: {error.strerror or error}"
        ) from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
