"""Addresses of the database, as each driver wants them.

``DATABASE_URL`` is a libpq address: it may name several hosts, a Unix socket, and
``target_session_attrs=read-write``.  asyncpg and psycopg both read that; SQLAlchemy's
own URLs do not, so its engines are handed connections instead.
"""

import psycopg
from sqlalchemy import Engine, NullPool, create_engine


def libpq_address(url: str) -> str:
    """Return ``url`` without a driver's name: ``postgresql+asyncpg://`` is SQLAlchemy's."""
    scheme, separator, rest = url.partition("://")
    return f"postgresql{separator}{rest}" if scheme.startswith(("postgresql", "postgres")) else url


def sync_engine(url: str) -> Engine:
    """Return an engine for migrations: one connection, closed after use."""
    address = libpq_address(url)
    return create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(address), poolclass=NullPool
    )
