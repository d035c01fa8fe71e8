"""The data folder of ``dev``: who may use it, and the secret kept in it."""

import fcntl
import os
import secrets
import time
from pathlib import Path

from app.main.guard import is_alive
from app.main.refusal import Refusal

_TAKEOVER_PATIENCE_S = 60.0


class DataFolder:
    """A folder that one ``dev`` at a time works in."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    @property
    def ready_file(self) -> Path:
        """Where a running ``dev`` says how it is reached, for the other commands."""
        return self.path / "ready.json"

    def prepare(self) -> None:
        """Make the folder.

        Raises:
            Refusal: it cannot be made or written to.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            probe = self.path / f".probe-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise Refusal(
                f"cannot write to {self.path} ({error.strerror}): choose another folder with"
                " --data-dir"
            ) from error

    def lock(self) -> int:
        """Take the folder for this process and return the descriptor that holds it.

        The descriptor is also given to the guard.  So if an earlier ``dev`` was killed, this waits
        until its guard has stopped the last of its processes.

        Raises:
            Refusal: another ``dev`` works in it.
        """
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + _TAKEOVER_PATIENCE_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                holder = os.pread(descriptor, 32, 0).decode().strip()
                if _runs(holder) or time.monotonic() > deadline:
                    os.close(descriptor)
                    raise Refusal(
                        f"{self.path} is in use by another `ropewalk dev` (process {holder}):"
                        " stop that one or choose another folder with --data-dir"
                    ) from None
                time.sleep(0.05)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        return descriptor

    def secret(self) -> str:
        """Return the secret that tokens are signed with here, made at the first call."""
        file = self.path / "jwt-secret"
        if not file.exists():
            unfinished = self.path / f".jwt-secret-{os.getpid()}"
            unfinished.touch(mode=0o600)
            unfinished.write_text(secrets.token_urlsafe(48) + "\n")
            unfinished.rename(file)
        return file.read_text().strip()

    def known_secret(self) -> str | None:
        """Return the secret if a ``dev`` ever made one here."""
        try:
            return (self.path / "jwt-secret").read_text().strip()
        except OSError:
            return None


def _runs(pid: str) -> bool:
    return pid.isdecimal() and is_alive(int(pid))
