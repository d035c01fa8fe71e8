"""The Postgres and the Redis of a storm, which it restarts, kills and turns back as it likes."""

import asyncio
import os
import shutil
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from app.main.embedded import EmbeddedPostgres, EmbeddedRedis
from app.main.guard import Guard
from app.store.migrate import upgrade
from tests.support.embedded_stores import session_folder
from tests.support.wait_until import wait_until_sync


@dataclass
class Stores:
    """Both, with the guard that stops them if the test is killed."""

    folder: Path
    postgres: EmbeddedPostgres
    redis: EmbeddedRedis
    guard: Guard

    def fresh_database(self) -> str:
        """Make a migrated database and return its address over TCP."""
        name = f"chaos_{uuid.uuid4().hex[:8]}"
        with psycopg.connect(self.postgres.url, autocommit=True) as admin:
            admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        url = urlunsplit(urlsplit(self.postgres.url)._replace(path=f"/{name}"))
        upgrade(url)
        return url

    async def restart_postgres(self, *, immediate: bool, away_s: float) -> None:
        """Shut it down, fast or without a word to anybody, and start it after a while.

        An immediate shutdown is a crash: what was committed comes back from the log.
        """
        await asyncio.to_thread(self._stop_postgres, immediate=immediate)
        await asyncio.sleep(away_s)
        await asyncio.to_thread(self.start_postgres)

    async def restart_redis(self, *, away_s: float, back_to: Path | None = None) -> None:
        """Kill it and start it after a while, with what it had then or at an older second."""
        await asyncio.to_thread(self._kill_redis)
        if back_to is not None:
            await asyncio.to_thread(shutil.rmtree, self._append_only)
            await asyncio.to_thread(back_to.rename, self._append_only)
        await asyncio.sleep(away_s)
        await asyncio.to_thread(self.start_redis)

    def remember_redis(self) -> Path:
        """Return a copy of what Redis has on disk now."""
        copy = self.folder / f"redis-{uuid.uuid4().hex[:8]}"
        shutil.copytree(self._append_only, copy)
        return copy

    def start_postgres(self) -> None:
        """Start it and put it on the guard's list."""
        self.postgres.start()
        self.guard.watch(self.postgres.pid, rank=0, how=signal.SIGINT, patience_s=10)

    def start_redis(self) -> None:
        """Start it and put it on the guard's list."""
        self.redis.start()
        self.guard.watch(self.redis.pid, rank=0, how=signal.SIGTERM, patience_s=5)

    @property
    def _append_only(self) -> Path:
        return self.folder / "redis" / "appendonlydir"

    def _stop_postgres(self, *, immediate: bool) -> None:
        self.guard.forget(self.postgres.pid)
        if immediate:
            os.kill(self.postgres.pid, signal.SIGQUIT)
            wait_until_sync(
                lambda: not self.postgres.is_running(),
                description="Postgres is gone",
                timeout_s=30,
            )
        self.postgres.stop()

    def _kill_redis(self) -> None:
        self.guard.forget(self.redis.pid)
        os.kill(self.redis.pid, signal.SIGKILL)
        wait_until_sync(lambda: not self.redis.is_running(), description="Redis is gone")


@contextmanager
def running_stores() -> Iterator[Stores]:
    """Start both, and stop them afterwards."""
    with session_folder() as folder:
        guard = Guard()
        stores = Stores(
            folder,
            EmbeddedPostgres(folder / "postgres", durable=False),
            EmbeddedRedis(folder / "redis"),
            guard,
        )
        stores.start_postgres()
        stores.start_redis()
        try:
            yield stores
        finally:
            for server in (stores.postgres, stores.redis):
                server.stop()
                guard.forget(server.pid)
            guard.close()
