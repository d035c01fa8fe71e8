"""Code that is not ours, kept from breaking out of the place it was called in.

Tools, functions, predicates and models may raise anything.  What is no ``Exception``
passes every ``except Exception`` on its way up, and would end the process with all the
runs in it, again and again wherever the run is taken up.  Here it becomes a failure of
the one call that raised it.  What the engine itself raises through such code passes,
and so does a cancellation that somebody asked for.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from app.domain.errors import AgentFault, RunInterrupt

_OURS: Final = (RunInterrupt, asyncio.CancelledError)


class BrokeOut(AgentFault):
    """Code of the team raised what no caller of it could have handled."""


@contextmanager
def contained(what: str) -> Iterator[None]:
    """Let nothing out but failures that can be handled.

    Args:
        what: runs inside, as an error would name it.

    Raises:
        BrokeOut: it raised no ``Exception``, or one that has no words.
        RuntimeError: it was cancelled, and nobody had asked for that.
    """
    try:
        yield
    except asyncio.CancelledError as error:
        if is_being_cancelled():
            raise
        raise RuntimeError("something that it waited for was cancelled") from error
    except RunInterrupt:
        raise
    except Exception as error:
        if _words(error) is None:
            raise BrokeOut(f"{what} raised {type(error).__name__}, which has no words") from None
        raise
    except BaseException as error:
        if isinstance(error, BaseExceptionGroup) and error.subgroup(_OURS) is not None:
            raise
        said = _words(error)
        raise BrokeOut(
            f"{what} broke out with {type(error).__name__}" + (f": {said}" if said else "")
        ) from error


def is_being_cancelled() -> bool:
    """Whether somebody wants the current task to end.

    A ``CancelledError`` without that wish is a stray one: code that awaited a task of its
    own which was cancelled.  It is a failure like any other.
    """
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _words(error: BaseException) -> str | None:
    """Return what an error says of itself, or ``None`` if asking it fails."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # anybody may write a __str__
        return None
