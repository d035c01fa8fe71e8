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

_SCHEMA = """
SELECT md5(string_agg(line, ';' ORDER BY line)) FROM (
    SELECT format('%s', row(n.nspname, c.relname, c.relkind, c.reloptions, c.relreplident,
                            c.relrowsecurity, a.attname, a.atttypid::regtype, a.attnotnull,
                            pg_get_expr(d.adbin, d.adrelid))) AS line
      FROM pg_class c
      JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname !~ '^(pg_|information_schema)'
      LEFT JOIN pg_attribute a ON a.attrelid = c.oid
      LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    UNION ALL SELECT nspname FROM pg_namespace
    UNION ALL SELECT extname FROM pg_extension
    UNION ALL SELECT pg_get_constraintdef(oid) FROM pg_constraint
    UNION ALL SELECT format('%s %s', pg_get_triggerdef(oid), tgenabled) FROM pg_trigger
    UNION ALL SELECT proname || prosrc FROM pg_proc WHERE oid >= 16384
    UNION ALL SELECT typname FROM pg_type WHERE oid >= 16384
    UNION ALL SELECT format('%s', s.setconfig) FROM pg_db_role_setting s
                JOIN pg_database b ON b.oid = s.setdatabase AND b.datname = current_database()
) AS everything
"""
_OTHERS = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
# Which migrations were applied is of the schema, not of the test.
_EMPTY = """
SELECT string_agg(format('DELETE FROM %I.%I', schemaname, tablename), ';') FROM pg_tables
 WHERE schemaname = 'public' AND tablename !~ 'alembic'
"""
_SEQUENCES = """
SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
  FROM pg_sequences
"""
_USES = 50
"""Of one database: what was deleted from it stays in its files."""


class Databases:
    """Makes databases of one server, and empties those that can be used again.

    A copy takes a quarter of a second on a busy machine, emptying takes milliseconds.  A database
    whose schema is not what it was is dropped.
    """

    def __init__(self, server: EmbeddedPostgres) -> None:
        self._server = server
        self._schemas: dict[str, str] = {}
        self._free: dict[str, list[tuple[str, int]]] = {}

    def url(self, name: str) -> str:
        """Return the address of a database."""
        return urlunsplit(urlsplit(self._server.fast_url)._replace(path=f"/{name}"))

    def create(self, name: str, template: str = "template0") -> str:
        """Make a database as a copy of another and return its address."""
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        self._execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
        return self.url(name)

    @contextmanager
    def fresh(self, template: str = "template0") -> Iterator[str]:
        """Yield the address of an empty database that nobody else uses meanwhile."""
        free = self._free.setdefault(template, [])
        name, uses = free.pop() if free else (self._copy(template), 0)
        yield self.url(name)
        if uses + 1 < _USES and self._is_emptied(name, self._schemas[template]):
            free.append((name, uses + 1))
        else:
            self._execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _copy(self, template: str) -> str:
        name = f"test_{uuid.uuid4().hex[:12]}"
        url = self.create(name, template)
        if template not in self._schemas:
            with psycopg.connect(url, autocommit=True) as session:
                self._schemas[template] = _schema(session)
        return name

    def _is_emptied(self, name: str, schema: str) -> bool:
        """Empty a database as a new one is, unless its schema has changed."""
        with psycopg.connect(self.url(name), autocommit=True) as session:
            session.execute(_OTHERS)
            if _schema(session) != schema:
                return False
            # Without the triggers of a test's audit, in any order.
            session.execute("SET session_replication_role = replica")
            for (statements,) in session.execute(_EMPTY).fetchall():
                session.execute(statements or "SELECT")
            session.execute(_SEQUENCES)
            session.execute("SELECT pg_stat_force_next_flush()")
            session.execute("SELECT pg_stat_reset()")
        return True

    def _execute(self, statement: sql.Composed) -> None:
        # A session for each: the one of a test that kills the server would be dead.
        with psycopg.connect(self._server.fast_url, autocommit=True) as admin:
            admin.execute(statement)


def _schema(session: psycopg.Connection) -> str:
    row = session.execute(_SCHEMA).fetchone()
    assert row is not None
    return str(row[0])


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
