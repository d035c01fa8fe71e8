"""``python -m tests.support.crashing_worker AGENTS``: forks processes that die where they are told.

Starting a worker costs seconds of imports; forking one that has them costs milliseconds.  So this
process imports everything once, names its points, and then forks a worker (or a caller: what a
gateway does for one call) for each line on its standard input.  It has one thread and no event
loop.  It says on its standard output which points there are, whom it forked, and who has ended.

When its input ends, so do its children and it.
"""

import asyncio
import contextlib
import gc
import json
import os
import select
import signal
import sys
import traceback
from pathlib import Path
from typing import Any, cast

from tests.support.crash_points import importing, points

importing.install()
importing.import_all()

import uvloop  # noqa: E402  # after the hook, as all that follows

from app.domain.errors import ChatError  # noqa: E402
from app.domain.identity import Identity  # noqa: E402
from app.main import worker as worker_process  # noqa: E402
from app.main.load_agents import Declarations, load  # noqa: E402
from app.main.wiring import core, functions_over  # noqa: E402
from app.settings import Settings  # noqa: E402
from app.telemetry.logs import set_up_logs  # noqa: E402
from tests.support import body_log  # noqa: E402
from tests.support.crash_points import broken_builds, pace  # noqa: E402
from tests.support.crash_points.orders import Order  # noqa: E402
from tests.support.crash_points.told import SECRET  # noqa: E402


def main(agents: Path) -> None:
    """Fork until the input ends."""
    declared = load(agents)
    pace.quicken()
    _note_bodies()
    gc.collect()
    gc.freeze()
    waking, woken = os.pipe()
    os.set_blocking(woken, False)  # the function's own signature
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _say({"points": points.names})
    children: set[int] = set()
    unread = b""
    while True:
        ready, _, _ = select.select([0, waking], [], [])
        if waking in ready:
            os.read(waking, 4096)
            _bury(children)
        if 0 in ready:
            more = os.read(0, 65536)
            if not more:
                break
            *lines, unread = (unread + more).split(b"\n")
            children.update(_fork(Order.from_json(line), declared) for line in lines)
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)  # noqa: T201  # this is how it speaks


def _bury(children: set[int]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        except ChildProcessError:
            return
        if pid == 0:
            return
        if os.WIFSTOPPED(status):
            _say({"pid": pid, "frozen": True})
        else:
            children.discard(pid)
            _say({"pid": pid, "exit": os.waitstatus_to_exitcode(status)})


def _fork(order: Order, declared: Declarations) -> int:
    pid = os.fork()
    if pid != 0:
        _say({"order": order.id, "pid": pid})
        return pid
    code = 70
    try:
        _become(order)
        _work(order, declared)
        code = 0
    except BaseException:  # noqa: BLE001  # the edge of a process
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _become(order: Order) -> None:
    """Let go of what is the parent's, and take what the order gives."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    log = os.open(order.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ[body_log.FOLDER] = order.body_log
    pace.sign_sessions()
    if order.is_held:
        pace.stand_for_long()
    if order.build is not None:
        broken_builds.apply(order.build)
    trace = os.open(order.trace, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    points.arm({(name, visit): deed for name, visit, deed in order.plan}, trace)


def _work(order: Order, declared: Declarations) -> None:
    settings = Settings(
        database_url=order.database_url,
        redis_url=order.redis_url,
        redis_namespace=order.namespace,
        drain_s=order.drain_s,
        webhook_url=order.webhook_url,
        webhook_secret=SECRET if order.webhook_url else None,
    )
    set_up_logs("text", "INFO")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.get_loop().add_signal_handler(signal.SIGUSR1, _say_what_is_going_on)
        if order.call is None:
            runner.run(worker_process._serve(settings, declared))
        else:
            answer = runner.run(_call(order.call, settings, declared))
            Path(order.answer).write_text(json.dumps(answer))


async def _call(call: dict[str, Any], settings: Settings, declared: Declarations) -> dict[str, Any]:
    """Do what a gateway does for one call."""
    async with core(settings, connections=2) as stores:
        functions = functions_over(stores, declared, settings)
        try:
            value = await functions.call(
                call["function"],
                call["arguments"],
                caller=Identity(call["caller"], frozenset(call["roles"])),
                dedupe=call["dedupe"],
            )
        except ChatError as error:
            return {"error": error.code, "message": error.message}
        return {"value": value}


def _say_what_is_going_on() -> None:
    """Write down where every task stands: for a play that does not come to an end."""
    for task in asyncio.all_tasks():
        task.print_stack(file=sys.stderr)


def _note_bodies() -> None:
    """Let every step of every run write down when its body starts and ends."""
    from app.engine.durable_run import DurableRun  # noqa: PLC0415
    from app.engine.steps import StepContext, StepResult  # noqa: PLC0415

    whole = DurableRun.step
    body_starts = points.number_of(points.BODY)

    async def step(self: DurableRun, name: str, body: Any, **options: Any) -> Any:  # noqa: ANN401
        async def noted(context: StepContext) -> StepResult:
            key, attempt = context.idempotency_key, context.attempt
            points.reached(body_starts)
            body_log.note("start", self.thread.key, key, attempt)
            result = await body(context)
            body_log.note("end", self.thread.key, key, attempt)
            return cast("StepResult", result)

        return await whole(self, name, noted, **options)

    DurableRun.step = step  # type: ignore[method-assign]  # that is the point


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        main(Path(sys.argv[1]))
