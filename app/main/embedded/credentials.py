"""As whom a server runs: ``postgres`` refuses to be root.

An ordinary user runs it as himself.  Root hands it to the owner of the data, or to ``nobody``.
Where that user cannot pass a folder on the way (root's own home is closed to others), it is given
the one capability that lets it through; where even that is refused, one sentence says so.
"""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypedDict

from app.main.refusal import Refusal


class PopenUser(TypedDict, total=False):
    """The arguments of ``Popen`` that change the user."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Credentials:
    """How to start a program as that user: words before its own, and arguments of ``Popen``."""

    uid: int = field(default_factory=os.geteuid)
    gid: int = field(default_factory=os.getegid)
    prefix: tuple[str, ...] = ()
    popen: PopenUser = field(default_factory=PopenUser)

    def own(self, *paths: Path) -> None:
        """Make the user the owner of these paths."""
        if os.geteuid() == 0:
            for path in paths:
                os.chown(path, self.uid, self.gid)


def unprivileged(program: Path, folder: Path) -> Credentials:
    """Return credentials that can run ``program`` with its data in ``folder``.

    ``folder`` is made if it is missing and belongs to the user afterwards.

    Raises:
        Refusal: the folder belongs to somebody else, or cannot be reached by anybody but root.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    owner = folder.stat().st_uid
    if os.geteuid() != 0:
        if owner != os.geteuid():
            name = pwd.getpwuid(owner).pw_name
            raise Refusal(f"{folder} belongs to {name}: run as that user or choose another folder")
        return Credentials()
    uid, gid = _someone_else(owner)
    os.chown(folder, uid, gid)
    for credentials in _ways_to_become(uid, gid):
        if _reaches(credentials, program, folder):
            return credentials
    raise Refusal(
        f"Postgres cannot run as root, and the user that it runs as instead (number {uid}) cannot"
        f" reach {folder} or {program.parent}: open the folders above them (chmod a+x) or use"
        " another user, another folder or DATABASE_URL"
    )


def _someone_else(owner: int) -> tuple[int, int]:
    if owner != 0:
        return owner, pwd.getpwuid(owner).pw_gid
    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def _ways_to_become(uid: int, gid: int) -> Iterator[Credentials]:
    yield Credentials(uid, gid, popen={"user": uid, "group": gid, "extra_groups": []})
    setpriv = shutil.which("setpriv")
    if setpriv is not None:
        through = ("--inh-caps=+dac_override", "--ambient-caps=+dac_override")
        become = (f"--reuid={uid}", f"--regid={gid}", "--clear-groups")
        yield Credentials(uid, gid, prefix=(setpriv, *become, *through))


def _reaches(credentials: Credentials, program: Path, folder: Path) -> bool:
    """Return whether the user can write to the folder and run the program."""
    script = 'cd "$1" && test -w . && "$2" --version'
    try:
        probe = subprocess.run(  # noqa: S603
            [*credentials.prefix, "/bin/sh", "-c", script, "sh", str(folder), str(program)],
            cwd="/",
            capture_output=True,
            check=False,
            **credentials.popen,
        )
    except OSError:
        return False
    return probe.returncode == 0
