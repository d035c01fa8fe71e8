"""The other system that a webhook tells: it is down at first, and notes what it takes."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.support.laws import Violation

SECRET = "of the crash points"  # noqa: S105  # nobody's


@dataclass
class Told:
    """What it was told since the last play."""

    url: str = ""
    taken: set[str] = field(default_factory=set)
    refused: set[str] = field(default_factory=set)

    def clear(self) -> None:
        """Forget it all."""
        self.taken.clear()
        self.refused.clear()

    async def hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Refuse each delivery once, then take it; a sender may die in the middle."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            headers = dict(line.split(": ", 1) for line in head.splitlines()[1:] if line)
            await reader.readexactly(int(headers["content-length"]))
            delivery = headers["ropewalk-delivery"]
            is_known = delivery in self.refused
            (self.taken if is_known else self.refused).add(delivery)
            status = "200 OK" if is_known else "503 Service Unavailable"
            writer.write(f"HTTP/1.1 {status}\r\nconnection: close\r\n\r\n".encode())
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def lacks(self, notices: Sequence[Mapping[str, object]], completed: int) -> list[Violation]:
        """Return what was not told, or other than it happened: one question, and some ends."""
        kinds = dict(Counter(str(row["kind"]) for row in notices))
        should = {"approval.requested": 1, "approval.decided": 1, "run.completed": completed}
        wrong = [] if kinds == should else [f"told of {kinds}, and should be {should}"]
        wrong += [
            f"{row['id']} was not delivered"
            for row in notices
            if row["settled_at"] is None or row["error"] or str(row["id"]).lower() not in self.taken
        ]
        return [Violation("as played", sentence) for sentence in wrong]


@asynccontextmanager
async def listening_system() -> AsyncIterator[Told]:
    """Yield one that listens."""
    told = Told()
    server = await asyncio.start_server(told.hear, "127.0.0.1", 0)
    async with server:
        told.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        yield told
