"""What Ropewalk keeps in Redis: names, lifetimes, and the scripts that several packages share.

``journal``, ``fanout`` and ``queue`` are independent of one another but speak to one Redis, and
what one of them writes another reads: the token sink appends the text that the journal hands
to whoever ends the run.  So the names and the layout live on a floor beneath all three.
"""

from app.keyspace.connection import RedisMayEvict, connect, refuse_eviction
from app.keyspace.keys import Keys, ThreadKeys

__all__ = ["Keys", "RedisMayEvict", "ThreadKeys", "connect", "refuse_eviction"]
