"""Starting the parts in order, keeping them running, stopping them in reverse.

One thread and one loop: it waits for an event (a signal, a child's end, a changed file) or a tick,
and then tends every part.  Signal handlers and the file watcher only put a word into a queue.
"""

import functools
import ipaddress
import os
import signal
import socket
import sys
import threading
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Literal, TypeAlias

from app.main.dev.child import Child, stop_all
from app.main.dev.declarations import fault_in, watch_folder
from app.main.dev.folder import DataFolder
from app.main.dev.ready import Pids, Ready
from app.main.dev.stores import Store, stores
from app.main.guard import Guard
from app.main.listening import listening_socket
from app.main.migrating import bring_up_to_date
from app.main.refusal import Refusal
from app.main.team_folder import require_folder
from app.settings import Settings

Event: TypeAlias = Literal["stop", "child", "changed"]

_TICK_S = 0.5
_TICK_UNTIL_READY_S = 0.05
_PATIENCE_S = 1.0
"""With a gateway that is starting: it answers when it can, and signals wait as long as we do."""


@dataclass(frozen=True)
class DevOptions:
    """What ``ropewalk dev`` was asked for."""

    host: str
    sign_in: str
    port: int
    data_dir: Path
    ready_file: Path | None
    agents: Path
    workers: int
    reload: bool


class Supervisor:
    """The life of one ``ropewalk dev``."""

    def __init__(self, options: DevOptions, settings: Settings) -> None:
        self._options = options
        self._settings = settings
        self._folder = DataFolder(options.data_dir)
        self._ready_files = [self._folder.ready_file]
        if options.ready_file is not None:
            self._ready_files.append(options.ready_file.resolve())
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._stops_asked = 0
        self._written: Ready | None = None
        self._gateway: list[Child] = []
        self._workers: list[Child] = []
        self._stores: list[Store] = []
        self._door: socket.socket | None = None
        self._url = ""

    def run(self) -> None:
        """Run until told to stop.

        Raises:
            Refusal: it cannot start; nothing is left running.
        """
        self._check_folders()
        lock = self._folder.lock()
        guard = Guard(keep_open=(lock,))
        no_more_changes = threading.Event()
        try:
            self._heed_signals()
            self._open_door()
            self._start(guard)
            if self._options.reload:
                changed = functools.partial(self._events.put, "changed")
                watch_folder(self._options.agents, changed, no_more_changes)
            self._write_types()
            self._keep_running()
        finally:
            no_more_changes.set()
            self._stop()
            guard.close()
            os.close(lock)

    def _write_types(self) -> None:
        """Write the TypeScript beside the start; what is wrong is said by those who serve it."""
        types = self._settings.codegen
        if types is not None:
            arguments = (self._options.agents, types)
            threading.Thread(target=fault_in, args=arguments, daemon=True).start()

    def _check_folders(self) -> None:
        require_folder(self._options.agents)
        self._folder.prepare()

    def _open_door(self) -> None:
        """Listen, for every gateway to come."""
        host = self._options.host
        self._door = listening_socket(host, self._options.port)
        port = self._door.getsockname()[1]
        self._url = f"http://{'127.0.0.1' if host == '0.0.0.0' else host}:{port}"  # noqa: S104

    def _heed_signals(self) -> None:
        """Turn signals into events; a SIGHUP that nohup ignores stays ignored."""
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._asked_to_stop)
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self._asked_to_stop)
        signal.signal(signal.SIGCHLD, lambda *_: self._events.put("child"))

    def _start(self, guard: Guard) -> None:
        self._remove_ready_files()
        self._stores = stores(
            self._folder.path,
            guard,
            database_url=self._settings.database_url,
            redis_url=self._settings.redis_url,
        )
        for store in self._stores:
            store.tend()
        database, redis = self._stores
        bring_up_to_date(database.fast_url, self._options.agents)
        env = self._environment(database, redis)
        patience_s = self._settings.drain_s + 5
        door = self._door.fileno() if self._door else -1
        self._gateway = [
            Child("gateway", {**env, "LISTEN_FD": str(door)}, guard, patience_s, (door,))
        ]
        self._workers = [
            Child("worker", env, guard, patience_s) for _ in range(self._options.workers)
        ]
        for child in self._children:
            child.start()

    @property
    def _children(self) -> list[Child]:
        return [*self._gateway, *self._workers]

    def _environment(self, database: Store, redis: Store) -> dict[str, str]:
        return {
            "LOG_LEVEL": "WARNING",
            **os.environ,
            "ROPEWALK_DEV": "1",
            "DATABASE_URL": database.fast_url,
            "REDIS_URL": redis.fast_url,
            "HOST": self._options.host,
            "DEV_SIGN_IN": self._options.sign_in,
            "AGENTS": str(self._options.agents.resolve()),
            **self._secret(),
            "PYTHONUNBUFFERED": "1",
        }

    def _secret(self) -> dict[str, str]:
        """Return the secret that tokens are signed with, unless something else judges them."""
        given = self._settings
        if given.jwt_public_key or given.jwks_url or given.authenticate:
            return {}
        secret = given.jwt_secret
        return {"JWT_SECRET": secret.get_secret_value() if secret else self._folder.secret()}

    def _keep_running(self) -> None:
        while True:
            events = self._next_events()
            if "stop" in events:
                return
            if "changed" in events:
                self._reload()
            parts: list[Store | Child] = [*self._stores, *self._children]
            for part in parts:
                news = part.tend()
                if news is not None:
                    _say(news)
            if self._written is None:
                self._refuse_a_false_start()
            self._tell_if_ready()

    def _refuse_a_false_start(self) -> None:
        """Give up if the declarations were wrong from the start; later ones are waited for."""
        if any(child.is_waiting_for_a_change for child in self._children):
            raise Refusal(f"not started: {self._options.agents} has to be mended first")

    def _next_events(self) -> set[Event]:
        """Wait for an event, or for the next tick, and return all that have come."""
        events: set[Event] = set()
        with suppress(Empty):
            events.add(self._events.get(timeout=_TICK_S if self._written else _TICK_UNTIL_READY_S))
            while True:
                events.add(self._events.get_nowait())
        return events

    def _reload(self) -> None:
        """Start gateway and workers anew, unless what was declared is wrong."""
        fault = fault_in(self._options.agents, self._settings.codegen)
        if fault is not None:
            _say(f"not reloaded: {fault}")
            return
        stop_all(self._children, self._in_a_hurry)
        for child in self._children:
            child.start_afresh()
        _say("reloaded")

    def _tell_if_ready(self) -> None:
        """Write the ready files when the gateway serves, and again when a process changes."""
        now = self._ready()
        if now is None or now == self._written or (self._written is None and not self._serves()):
            return
        for file in self._ready_files:
            now.write(file)
        if self._written is None:
            _say(f"Ropewalk runs at {self._url} (Ctrl-C stops it)")
            if self._options.sign_in == "anyone":
                _say("whoever reaches it is signed in, as an admin too (--sign-in anyone)")
            elif not _is_loopback(self._options.host):
                _say("pages opened on other machines are not signed in (--sign-in anyone does)")
        self._written = now

    def _ready(self) -> Ready | None:
        """Return what the ready file should say, or nothing while a process is being replaced."""
        gateway = tuple(child.pid for child in self._gateway if child.pid is not None)
        workers = tuple(child.pid for child in self._workers if child.pid is not None)
        if len(gateway) + len(workers) < len(self._children):
            return None
        database, redis = self._stores
        pids = Pids(os.getpid(), gateway, workers, database.pid, redis.pid)
        return Ready(self._url, database.url, redis.url, pids)

    def _serves(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._url}/readyz", timeout=_PATIENCE_S) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def _asked_to_stop(self, _signal: int, _frame: FrameType | None) -> None:
        self._stops_asked += 1
        self._events.put("stop")

    def _in_a_hurry(self) -> bool:
        return self._stops_asked > 1

    def _stop(self) -> None:
        self._remove_ready_files()
        stop_all(self._children, self._in_a_hurry)
        for store in reversed(self._stores):
            store.stop()
        if self._door is not None:
            self._door.close()

    def _remove_ready_files(self) -> None:
        for file in self._ready_files:
            file.unlink(missing_ok=True)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _say(sentence: str) -> None:
    print(f"  {sentence}", file=sys.stderr, flush=True)  # noqa: T201
