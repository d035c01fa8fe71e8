"""Starts workers and gateways by forking a process that has imported everything already.

A storm starts hundreds of them; importing alone would take two seconds of a core each time.
What runs after the fork is the ``ropewalk`` command itself, in a session of its own: killed,
frozen and told to stop like any other process.  Signals go through here too, because only the
parent knows whether a number still means the child it meant.

It speaks JSON lines on stdin and stdout.  When stdin closes, it kills its children and ends.
"""

import gc
import importlib
import json
import os
import select
import signal
import sys
from typing import Any, NoReturn

from app.main.cli import main as command
from tests.support.chaos.inside import prepare_this_process


def main() -> None:
    """Serve until stdin closes."""
    _import_everything()
    gc.freeze()
    awake, waker = os.pipe()
    os.set_blocking(awake, False)
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    children: set[int] = set()
    _say(event="ready", pid=os.getpid())
    pending = b""
    while True:
        readable, _, _ = select.select([0, awake], [], [])
        if awake in readable:
            os.read(awake, 4096)
        _bury(children)
        if 0 in readable:
            got = os.read(0, 65536)
            if not got:
                break
            *lines, pending = (pending + got).split(b"\n")
            for line in lines:
                _obey(json.loads(line), children, keep_closed=(awake, waker))
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    for pid in children:
        os.waitpid(pid, 0)


def _import_everything() -> None:
    """Import what the commands import late."""
    for name in ("app.main.web", "app.main.worker", "tests.support.chaos.plan"):
        importlib.import_module(name)


def _obey(order: dict[str, Any], children: set[int], keep_closed: tuple[int, ...]) -> None:
    match order["do"]:
        case "start":
            pid = os.fork()
            if pid == 0:
                _become(order, keep_closed)
            children.add(pid)
            _say(event="started", id=order["id"], pid=pid)
        case "signal":
            alive = order["pid"] in children
            if alive:
                os.kill(order["pid"], order["signal"])
            _say(event="signalled", id=order["id"], alive=alive)
        case other:
            raise ValueError(other)


def _bury(children: set[int]) -> None:
    for pid in tuple(children):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            children.discard(pid)
            _say(event="ended", pid=pid, code=os.waitstatus_to_exitcode(status))


def _become(order: dict[str, Any], keep_closed: tuple[int, ...]) -> NoReturn:
    """Turn this fork into the process that was asked for."""
    code = 70
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for each in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
            signal.signal(each, signal.SIG_DFL)
        log = os.open(order["log"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        for descriptor in (*keep_closed, nothing, log):
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(order["env"])
        sys.argv = ["ropewalk", order["command"]]
        code = _run()
    except BaseException:  # noqa: BLE001  # whatever it was, this fork must never return
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _run() -> int:
    prepare_this_process()
    try:
        command()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _say(**event: str | int) -> None:
    os.write(1, json.dumps(event).encode() + b"\n")


if __name__ == "__main__":
    main()
