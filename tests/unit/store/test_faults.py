"""What a driver's error means: try again, or never."""

import asyncpg
import pytest
from asyncpg import exceptions as pg

from app.domain.errors import RecordRefused, StoreUnavailable
from app.store.faults import is_transient, spoils_session, translated

TRANSIENT = [
    pytest.param(ConnectionRefusedError("refused"), id="refused"),
    pytest.param(TimeoutError(), id="timed-out"),
    pytest.param(pg.ConnectionDoesNotExistError("closed in the middle"), id="cut"),
    pytest.param(asyncpg.InterfaceError("connection is closed"), id="closed"),
    pytest.param(pg.AdminShutdownError("terminated"), id="restart"),
    pytest.param(pg.CannotConnectNowError("starting up"), id="starting"),
    pytest.param(pg.TooManyConnectionsError("too many"), id="full"),
    pytest.param(pg.DiskFullError("no space"), id="disk-full"),
    pytest.param(pg.ReadOnlySQLTransactionError("read-only"), id="became-a-standby"),
    pytest.param(pg.IdleInTransactionSessionTimeoutError("idle"), id="was-frozen"),
    pytest.param(pg.QueryCanceledError("statement timeout"), id="statement-timeout"),
    pytest.param(pg.LockNotAvailableError("lock timeout"), id="lock-timeout"),
    pytest.param(pg.DeadlockDetectedError("deadlock"), id="deadlock"),
    pytest.param(pg.InvalidSQLStatementNameError("no such statement"), id="session-reset"),
]
FOR_GOOD = [
    pytest.param(pg.UniqueViolationError("duplicate key"), id="unique"),
    pytest.param(pg.DivisionByZeroError("division by zero"), id="row-not-open"),
    pytest.param(pg.CharacterNotInRepertoireError("invalid byte"), id="nul"),
    pytest.param(pg.InvalidTextRepresentationError("invalid json"), id="not-json"),
    pytest.param(pg.ProgramLimitExceededError("index row size"), id="too-long-for-an-index"),
    pytest.param(pg.StatementTooComplexError("stack depth"), id="too-deep"),
    pytest.param(asyncpg.exceptions._base.DataError("invalid input"), id="cannot-be-encoded"),
    pytest.param(pg.UndefinedTableError("no such table"), id="not-migrated"),
]


@pytest.mark.parametrize("error", TRANSIENT)
def test_a_fault_of_the_server_may_pass(error: Exception) -> None:
    assert is_transient(error)
    assert isinstance(translated(error), StoreUnavailable)


@pytest.mark.parametrize("error", FOR_GOOD)
def test_a_fault_of_the_rows_is_never_tried_again(error: Exception) -> None:
    fault = translated(error)

    assert not is_transient(error)
    assert isinstance(fault, RecordRefused)
    assert str(error) in fault.message


def test_a_session_on_a_standby_is_not_used_again() -> None:
    assert spoils_session(pg.ReadOnlySQLTransactionError("read-only"))
    assert spoils_session(TimeoutError())
    assert not spoils_session(pg.DeadlockDetectedError("deadlock"))
    assert not spoils_session(pg.UniqueViolationError("duplicate key"))
