"""Postgres connections of their own, outside any pool: one to announce on, one to listen on.

A listener on a pooled connection, or behind a proxy that pools transactions, hears nothing (field
case B57).
"""

import asyncpg

CONNECT_S = 3.0
COMMAND_S = 2.0
"""A notification takes a tenth of a millisecond: after this the connection is dead."""

DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,  # TimeoutError is one
    EOFError,
)


async def connect(url: str, purpose: str) -> "asyncpg.Connection[asyncpg.Record]":
    """Return a new connection.

    Raises:
        DRIVER_ERRORS: there is none to be had now.
    """
    return await asyncpg.connect(
        url.replace("postgresql+asyncpg://", "postgresql://", 1),
        timeout=CONNECT_S,
        command_timeout=COMMAND_S,
        server_settings={"application_name": f"ropewalk {purpose}"},
    )
