"""What a driver's error means to the rings above: try again, or never.

A *transient* fault says nothing about the rows: the server is away, restarts, became a
standby, is full, or took too long.  The write may or may not have happened; every write
here can be repeated.  Anything else would be refused again, however often it is tried
(field case B19), so it is named and given up.
"""

import asyncpg
from asyncpg.exceptions import DeadlockDetectedError, SerializationError
from sqlalchemy.exc import DBAPIError

from app.domain.errors import ChatError, RecordRefused, StoreUnavailable

DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,  # TimeoutError is one
    EOFError,
)
COLLISIONS = (SerializationError, DeadlockDetectedError)
"""The server undid the transaction because of another one: repeat it as a whole."""

_TRANSIENT_CLASSES = ("08", "53", "57", "58", "40")
_TRANSIENT_STATES = frozenset(
    {
        "25006",  # read-only: this server became a standby
        "25P03",  # idle in transaction for too long
        "25P04",  # a transaction took too long
        "26000",  # a prepared statement is gone: somebody reset the session
        "55P03",  # lock_timeout
    }
)
_HARMLESS_CLASSES = ("40", "55")
"""After these the session can go on; after other transient faults it is not trusted."""


def driver_error(error: BaseException) -> BaseException:
    """Return what the driver said, also when SQLAlchemy passed it on."""
    return error.driver_exception if isinstance(error, DBAPIError) else error


def is_transient(error: BaseException) -> bool:
    """Whether the same statement may succeed a moment later."""
    match error:
        case asyncpg.PostgresError(sqlstate=str(state)):
            return state.startswith(_TRANSIENT_CLASSES) or state in _TRANSIENT_STATES
        case ValueError():  # asyncpg's client-side DataError: an argument it cannot encode
            return False
        case _:
            return isinstance(error, DRIVER_ERRORS)


def spoils_session(error: BaseException) -> bool:
    """Whether the connection is to be closed rather than used again."""
    state = getattr(error, "sqlstate", None) or ""
    return is_transient(error) and not state.startswith(_HARMLESS_CLASSES)


def translated(error: BaseException) -> ChatError:
    """Return the deliberate error that a driver's error means."""
    reason = str(error) or type(error).__name__
    state = getattr(error, "sqlstate", None)
    said = f"{reason} ({state})" if state else reason
    if is_transient(error):
        return StoreUnavailable(f"Postgres did not answer: {said}")
    return RecordRefused(f"Postgres refuses this for good: {said}", {"sqlstate": state})
