"""What ``ctx.db`` reads and writes of the team's tables, noticed without being told.

Statements are looked at on their way to the driver, objects when a session flushes them.  What
is noted may be too much, never too little: a watcher that looks in vain costs a query, one that
does not look shows what is no longer true.
"""

from app.tracking.session import Session
from app.tracking.tracker import Tracker
from app.tracking.vocabulary import Vocabulary

__all__ = ["Session", "Tracker", "Vocabulary"]
