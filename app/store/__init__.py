"""Postgres, the system of record: tables, hot statements, transactions, the beat.

Every law of ``app.domain.ports.runs`` is kept by one of three means: a single statement
that locks before it writes (``sql/record.sql``, ``sql/claim.sql``, ``sql/take_over.sql``), or a
READ COMMITTED transaction whose first statement locks the thread's row (``locking``).
"""
