"""Watching the folder of agents, and judging a change before anything is stopped for it.

The TypeScript that a front end imports is written in the same breath, if one is wanted.
"""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from watchfiles import PythonFilter, watch


def watch_folder(folder: Path, changed: Callable[[], None], stop: threading.Event) -> None:
    """Call ``changed`` from a thread of its own after each change of a Python file.

    A burst of changes (an editor's, a checkout's) is one call.  Ends when ``stop`` is set or the
    process does.
    """

    def run() -> None:
        for _ in watch(folder, watch_filter=PythonFilter(), stop_event=stop, debounce=200):
            changed()

    threading.Thread(target=run, name="watch-agents", daemon=True).start()


def fault_in(folder: Path, types: Path | None) -> str | None:
    """Return what is wrong with the declarations, or nothing: ``ropewalk check`` says.

    It runs as a process of its own, since what Python has imported it cannot import anew.

    Args:
        folder: of the declarations.
        types: written if they are right: ``ropewalk codegen`` does both.
    """
    command = ["check"] if types is None else ["codegen", "--out", str(types)]
    check = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "app.main.cli", *command, "--agents", str(folder)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return None if check.returncode == 0 else (check.stderr or check.stdout).strip()
