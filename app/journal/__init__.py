"""The write-ahead log in Redis that bridges "the body returned" and "Postgres has it"."""

from app.journal.journal import RedisJournal

__all__ = ["RedisJournal"]
