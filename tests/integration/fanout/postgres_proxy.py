"""A proxy in front of Postgres that can swallow notifications, or everything."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit, urlunsplit


class PostgresProxy:
    """Forwards bytes; messages from the server are taken apart.

    ``is_deaf`` drops ``NotificationResponse``, as a proxy that pools transactions does; while
    ``is_cut`` nothing passes in either direction, and nobody is told.
    """

    def __init__(self, url: str) -> None:
        self._to = urlsplit(url)
        self._port = 0
        self._open: set[asyncio.StreamWriter] = set()
        self.is_deaf = False
        self.is_cut = False
        self.connections = 0

    @property
    def url(self) -> str:
        """The address of the database through this proxy."""
        user, _ = self._to.netloc.rsplit("@", 1)
        netloc = f"{user}@127.0.0.1:{self._port}"
        return urlunsplit(self._to._replace(netloc=netloc, query="sslmode=disable"))

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["PostgresProxy"]:
        """Serve meanwhile."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for writer in self._open:
                writer.transport.abort()
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        host, port = self._to.hostname, self._to.port
        from_server, to_server = await asyncio.open_connection(host, port)
        self._open |= {writer, to_server}
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._to_server(reader, to_server))
                both.create_task(self._to_client(from_server, writer))
        except* (OSError, EOFError):
            pass
        finally:
            for one in (writer, to_server):
                one.transport.abort()
                self._open.discard(one)

    async def _to_server(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if not self.is_cut:
                writer.write(data)
        raise EOFError

    async def _to_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readexactly(5)
            kind, size = struct.unpack("!cI", head)
            body = await reader.readexactly(size - 4)
            if not self.is_cut and not (self.is_deaf and kind == b"A"):
                writer.write(head + body)
