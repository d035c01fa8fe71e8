"""A real uvicorn in the test's own loop, on a port of its own."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn

from app.main.server import KEEP_ALIVE_S
from tests.support.wait_until import wait_until


def listening_socket() -> socket.socket:
    """Return a TCP socket on a free port.

    The protocol number is named, or asyncio would leave Nagle's algorithm on.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(2048)
    return listening


@asynccontextmanager
async def running_uvicorn(
    app: object,
    **options: Any,  # noqa: ANN401  # uvicorn's own
) -> AsyncIterator[tuple[uvicorn.Server, str]]:
    """Serve ``app`` and return the server and where it listens, as ``HOST:PORT``."""
    listening = listening_socket()
    # A client that keeps a connection for as long as uvicorn's own five seconds meets it closing.
    lasting = {"timeout_keep_alive": KEEP_ALIVE_S}
    settings = {"lifespan": "off", "log_config": None, **lasting, **options}
    server = uvicorn.Server(uvicorn.Config(app, **settings))  # type: ignore[arg-type]  # any ASGI app
    serving = asyncio.create_task(server._serve([listening]), name="uvicorn")
    await wait_until(lambda: server.started, description="uvicorn serves")
    try:
        yield server, f"127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
