"""One server program as a child: where it logs, how it is stopped, what it said last."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.main.embedded.credentials import Credentials

_LOG_LIMIT_BYTES = 4 << 20


@dataclass
class Server:
    """A running child in a session of its own: a Ctrl-C at the terminal is not sent to it."""

    process: subprocess.Popen[bytes]
    log: Path
    _read_from: int = field(default=0, repr=False)

    @classmethod
    def start(
        cls, argv: Sequence[str | Path], *, log: Path, cwd: Path, credentials: Credentials
    ) -> "Server":
        """Start ``argv`` with its output appended to ``log`` (begun anew when it grew large)."""
        if log.exists() and log.stat().st_size > _LOG_LIMIT_BYTES:
            log.unlink()
        with log.open("ab") as output:
            offset = output.tell()
            process = subprocess.Popen(  # noqa: S603  # our own argv, no shell
                [*credentials.prefix, *map(str, argv)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"},
                start_new_session=True,
                **credentials.popen,
            )
        return cls(process, log, offset)

    @property
    def pid(self) -> int:
        """The operating system's number for it."""
        return self.process.pid

    def is_running(self) -> bool:
        """Return whether it has not ended."""
        return self.process.poll() is None

    def said(self) -> str:
        """Return what it wrote since it started, its last 8 kB at most."""
        with self.log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._read_from, size - 8192))
            return log.read().decode(errors="replace").strip()

    def stop(self, *signals: signal.Signals, patience_s: float) -> None:
        """Send the signals one after another, each time waiting for the end; then kill."""
        for each in (*signals, signal.SIGKILL):
            if not self.is_running():
                return
            self.process.send_signal(each)
            try:
                self.process.wait(patience_s)
            except subprocess.TimeoutExpired:
                continue


def stop_leftover(pid_file: Path, marker: str, *signals: signal.Signals, patience_s: float) -> None:
    """Stop the server that an earlier, killed process left behind, if there is one.

    Args:
        pid_file: the server's own; its first line is the process id.
        marker: what must appear in that process's command line, so that no stranger who got the
            same number is touched.
        signals: from the gentlest on.
        patience_s: how long to wait for the end after each.
    """
    try:
        pid = int(pid_file.read_text().split("\n", 1)[0])
    except (OSError, ValueError):
        return
    for each in (*signals, signal.SIGKILL):
        if marker not in command_line(pid):
            return
        os.kill(pid, each)
        deadline = time.monotonic() + patience_s
        while marker in command_line(pid) and time.monotonic() < deadline:
            time.sleep(0.02)


def command_line(pid: int) -> str:
    """Return the command line of a living process, or an empty string."""
    proc = Path(f"/proc/{pid}/cmdline")
    if Path("/proc/self/cmdline").exists():
        try:
            return proc.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            return ""
    found = subprocess.run(  # noqa: S603
        ["/bin/ps", "-p", str(pid), "-o", "command="], capture_output=True, text=True, check=False
    )
    return found.stdout.strip()
