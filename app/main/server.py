"""uvicorn, told to leave in order: readiness goes red, sockets hear goodbye, requests end.

uvicorn re-raises the signal that stopped it, which would end the process before its
connections to the stores are closed; here the signal only begins the leaving.
"""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from app.gateway.frames import UVICORN_OPTIONS, FramesProtocol

LEAVE_S = 8
"""Seconds that requests and sockets get after the signal; the process is gone within ten."""

KEEP_ALIVE_S = 75
"""Longer than balancers keep an idle connection, so that they never meet a closing one."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class LeavingServer(uvicorn.Server):
    """A server that calls ``on_leave`` when it is told to stop, and stops in order."""

    def __init__(self, app: Any, on_leave: Callable[[], None]) -> None:  # noqa: ANN401  # any ASGI app
        options: dict[str, Any] = dict(UVICORN_OPTIONS)
        super().__init__(
            uvicorn.Config(
                app,
                http="httptools",
                ws=FramesProtocol,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,  # TRUSTED_PROXIES says whom to believe; see app.protocol.peer
                timeout_keep_alive=KEEP_ALIVE_S,
                timeout_graceful_shutdown=LEAVE_S,
                **options,
            )
        )
        self._on_leave = on_leave

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let a signal begin the leaving, and a second one hurry it."""
        loop = asyncio.get_running_loop()
        for each in _SIGNALS:
            loop.add_signal_handler(each, self.handle_exit, each, None)
        try:
            yield
        finally:
            for each in _SIGNALS:
                loop.remove_signal_handler(each)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Say that we leave; then do as uvicorn does."""
        self._on_leave()
        await super().shutdown(sockets)
