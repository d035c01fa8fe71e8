"""The two stores of ``dev``: embedded ones, unless the environment names others."""

import signal
from pathlib import Path
from typing import Protocol

from app.main.embedded import EmbeddedPostgres, EmbeddedRedis
from app.main.guard import Guard


class EmbeddedServer(Protocol):
    """What both embedded servers have."""

    @property
    def url(self) -> str:
        """For everybody."""
        ...

    @property
    def fast_url(self) -> str:
        """For our own processes."""
        ...

    @property
    def pid(self) -> int:
        """The server's process id."""
        ...

    def start(self) -> None:
        """Start it and wait until it answers."""
        ...

    def stop(self) -> None:
        """Stop it in good order."""
        ...

    def is_running(self) -> bool:
        """Whether it is there."""
        ...


class Store:
    """One store: somebody else's at a given address, or ours, kept running."""

    def __init__(self, name: str, given_url: str, server: EmbeddedServer, guard: Guard) -> None:
        self.name = name
        self._given_url = given_url
        self._server = server
        self._guard = guard
        self._watched: int | None = None

    @property
    def url(self) -> str:
        """The address for everybody."""
        return self._given_url or self._server.url

    @property
    def fast_url(self) -> str:
        """The address for our own processes."""
        return self._given_url or self._server.fast_url

    @property
    def pid(self) -> int | None:
        """The server's process id, if it is ours and was started."""
        return self._watched

    def tend(self) -> str | None:
        """Start the server if it is ours and does not run; return what there is to say."""
        if self._given_url or self._server.is_running():
            return None
        again = self._watched is not None
        self._forget()
        self._server.start()
        self._watched = self._server.pid
        self._guard.watch(self._watched, rank=1, how=signal.SIGINT, patience_s=30)
        return f"{self.name} had ended; it was started again" if again else None

    def stop(self) -> None:
        """Stop the server if it is ours."""
        if not self._given_url:
            self._server.stop()
            self._forget()

    def _forget(self) -> None:
        if self._watched is not None:
            self._guard.forget(self._watched)
            self._watched = None


def stores(folder: Path, guard: Guard, *, database_url: str, redis_url: str) -> list[Store]:
    """Return Postgres and Redis; an empty address means an embedded one under ``folder``."""
    return [
        Store("Postgres", database_url, EmbeddedPostgres(folder / "postgres"), guard),
        Store("Redis", redis_url, EmbeddedRedis(folder / "redis"), guard),
    ]
