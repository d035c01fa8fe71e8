"""A real ``ropewalk dev`` as a child of the test, with its folder, its log and its processes."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.main.guard import Guard
from tests.support.embedded_stores import session_folder
from tests.support.wait_until import wait_until_sync

ROOT = Path(__file__).resolve().parents[2]
START_PATIENCE_S = 45


@dataclass
class DevProcess:
    """One data folder, and the ``dev`` that runs on it."""

    folder: Path
    agents: Path
    guard: Guard
    workers: int = 1
    port: int = 0
    env: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    process: subprocess.Popen[bytes] | None = None

    @property
    def ready_file(self) -> Path:
        return self.folder / "ready-for-test.json"

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    def launch(self) -> "subprocess.Popen[bytes]":
        """Start it without waiting; its output goes to ``log``."""
        argv = ["dev", "--port", self.port, "--data-dir", self.data_dir, "--agents", self.agents]
        argv += ["--ready-file", self.ready_file, "--workers", self.workers, *self.options]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "app.main.cli", *map(str, argv)],
                cwd=ROOT,
                env={**os.environ, **self.env},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.guard.watch(self.process.pid, rank=0, how=signal.SIGTERM, patience_s=START_PATIENCE_S)
        return self.process

    def start(self) -> "DevProcess":
        """Start it and return when it serves."""
        process = self.launch()
        wait_until_sync(
            lambda: self.ready_file.exists() or process.poll() is not None,
            description=f"dev serves; it said: {self.log()}",
            timeout_s=START_PATIENCE_S,
        )
        assert process.poll() is None, f"dev ended: {self.log()}"
        return self

    def log(self) -> str:
        """Return all that it and its children printed."""
        return (self.folder / "log").read_text(errors="replace")

    def ready(self) -> dict[str, Any]:
        """Return what the ready file says now."""
        content: dict[str, Any] = json.loads(self.ready_file.read_text())
        return content

    @property
    def url(self) -> str:
        return str(self.ready()["url"])

    def pids(self, part: str) -> list[int]:
        """Return the processes of a part: gateway, worker, postgres, redis or dev."""
        found = self.ready()["pids"][part]
        if found is None:
            return []
        return list(found) if isinstance(found, list) else [found]

    def all_pids(self) -> list[int]:
        """Return every process, ``dev`` included."""
        return [pid for part in self.ready()["pids"] for pid in self.pids(part)]

    def is_serving(self) -> bool:
        """Return whether the gateway calls itself ready."""
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=2) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError, ValueError):
            return False

    def kill(self, part: str, index: int = 0) -> int:
        """SIGKILL one process and return the number it had."""
        pid = self.pids(part)[index]
        os.kill(pid, signal.SIGKILL)
        return pid

    def wait_for_another(self, part: str, than: int) -> None:
        """Wait until a killed process has been replaced and the gateway is ready."""
        wait_until_sync(
            lambda: self.ready_file.exists() and than not in self.pids(part),
            description=f"another {part} than {than}; dev said: {self.log()}",
            timeout_s=START_PATIENCE_S,
        )
        wait_until_sync(
            self.is_serving,
            description=f"the gateway is ready again; dev said: {self.log()}",
            timeout_s=START_PATIENCE_S,
        )

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop it and return its exit code."""
        if self.process is None:
            return 0
        self.process.send_signal(how)
        code = self.process.wait(START_PATIENCE_S)
        self.guard.forget(self.process.pid)
        return code


@contextmanager
def dev_process(
    *, agents: Path | None = None, env: Mapping[str, str] | None = None, workers: int = 1
) -> Iterator[DevProcess]:
    """Yield a ``dev`` that is not started yet, on a fresh folder; stop it afterwards.

    It is stopped as well when pytest itself is killed.
    """
    with session_folder() as folder:
        if agents is None:
            agents = folder / "agents"
            agents.mkdir()
            (agents / "__init__.py").touch()
        guard = Guard()
        dev = DevProcess(folder, agents, guard, workers, env=env or {})
        try:
            yield dev
        finally:
            dev.stop()
            guard.close()
