"""One Postgres and one Redis for a whole test session, and a fresh place in them for each test.

They lose data only when the machine loses power (``durable=False``), and are stopped by a guard
when pytest itself is killed.
"""

import shutil
import signal
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import redis
from psycopg import sql

from app.main.dev.stores import EmbeddedServer
from app.main.embedded import EmbeddedPostgres, EmbeddedRedis
from app.main.guard import Guard


class Databases:
    """Makes and drops databases of one server."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self._server = server

    def url(self, name: str) -> str:
        """Return the address of a database."""
        return urlunsplit(urlsplit(self._server.fast_url)._replace(path=f"/{name}"))

    def create(self, name: str, template: str = "template0") -> str:
        """Make a database as a copy of another and return its address."""
        # Copying files and skipping the log takes 25 ms here.
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        self._execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
        return self.url(name)

    @contextmanager
    def fresh(self, template: str = "template0") -> Iterator[str]:
        """Yield the address of a database of its own and drop it afterwards."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        yield self.create(name, template)
        self._execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _execute(self, statement: sql.Composed) -> None:
        # A session for each: the one of a test that kills the server would be dead.
        with psycopg.connect(self._server.fast_url, autocommit=True) as admin:
            admin.execute(statement)


@contextmanager
def session_folder() -> Iterator[Path]:
    """Yield a folder that the user whom Postgres runs as can reach."""
    folder = Path(tempfile.mkdtemp(prefix="rw-tests-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_postgres() -> Iterator[EmbeddedPostgres]:
    """Yield a started server and stop it afterwards."""
    with session_folder() as folder:
        server = EmbeddedPostgres(folder / "postgres", durable=False)
        with _running(server, signal.SIGINT, patience_s=10):
            yield server


@contextmanager
def running_redis() -> Iterator[EmbeddedRedis]:
    """Yield a started server and stop it afterwards."""
    with session_folder() as folder:
        server = EmbeddedRedis(folder / "redis", durable=False)
        with _running(server, signal.SIGTERM, patience_s=5):
            yield server


@contextmanager
def _running(server: EmbeddedServer, how: signal.Signals, *, patience_s: float) -> Iterator[None]:
    guard = Guard()
    server.start()
    guard.watch(server.pid, rank=0, how=how, patience_s=patience_s)
    try:
        yield
    finally:
        server.stop()
        guard.forget(server.pid)
        guard.close()


def keys_without_ttl(client: "redis.Redis", namespace: str) -> list[str]:
    """Return the keys of a namespace that would stay for ever."""
    keys = [each.decode() for each in client.scan_iter(f"*{namespace}*", count=1000)]
    return sorted(key for key in keys if client.ttl(key) == -1)


def delete_keys(client: "redis.Redis", namespace: str) -> None:
    """Delete every key of a namespace."""
    for key in client.scan_iter(f"*{namespace}*", count=1000):
        client.delete(key)
