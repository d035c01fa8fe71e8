"""How much a caller may ask of a thread: one place for every way in.

The socket, HTTP, functions and ``ctx.agents`` refuse the same things, because they read the same
numbers.  Lengths count characters.
"""

from datetime import timedelta
from typing import Final

MAX_KEY: Final = 300
"""Of a thread's key."""

MAX_TITLE: Final = 300
MAX_INPUT: Final = 262_144
"""Of one message.  Longer texts belong into files."""

MAX_REASON: Final = 2000
"""Of the words that go with a decision."""

MAX_DEDUPE: Final = 200
"""Of the key under which a repeated call takes effect once."""

MAX_EVENT_NAME: Final = 200
MAX_PAYLOAD: Final = 262_144
"""Of the JSON of an event, or of a thread's first state."""

MAX_TIMEOUT: Final = timedelta(days=3660)
"""The longest that a run may be given."""

MAX_TURNS: Final = 1000
"""The most that a start may ask for."""

MAX_SEQ: Final = 1 << 60
"""No message of a thread has a higher number, and the database's numbers go beyond it."""

MAX_BATCH: Final = 200
"""Of decisions that are made at once."""

INBOX_LIMIT: Final = 1000
"""The most approvals that are listed."""

PAGE_LIMIT: Final = 50
"""Messages that are read when nobody says how many."""

PAGE_LIMIT_MAX: Final = 200
