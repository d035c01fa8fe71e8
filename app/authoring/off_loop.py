"""Runs a plain function beside the event loop, so that a slow one stops nobody.

Each call gets a daemon thread of its own.  A pool would be filled up by a few
functions that hang, and the name look-ups of the event loop wait in the same
pool; a thread that is no daemon would keep a worker from ending.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

R = TypeVar("R")


async def off_loop(function: Callable[[], R], name: str) -> R:
    """Return what ``function`` returns, called in a thread with this task's context.

    A cancelled caller stops waiting; the thread cannot be stopped and runs to its end.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[R] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: R | None, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(value)  # type: ignore[arg-type]  # None only if R allows it

    def work() -> None:
        value: R | None = None
        failure: BaseException | None = None
        try:
            value = context.run(function)
        except StopIteration:
            failure = RuntimeError(f"{name} raised StopIteration")  # a future refuses it as it is
        except BaseException as error:  # noqa: BLE001  # the caller gets whatever it was
            failure = error
        try:
            loop.call_soon_threadsafe(settle, value, failure)
        except RuntimeError:
            return  # the loop has ended: nobody waits any more

    threading.Thread(target=work, name=f"ropewalk {name}", daemon=True).start()
    return await answer
