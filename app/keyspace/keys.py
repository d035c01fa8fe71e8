"""Every key and channel that Ropewalk has in Redis, and how long each lives.

Nothing here is the only copy of anything for longer than one write, so every key carries a
time to live and is made again from Postgres when it is missing.  The keys of one thread share
the hash tag ``{THREAD}``: one script may touch them all, in a cluster too.

    {ns}:{{THREAD}}:fence     string   EPOCH, or closed:EPOCH while somebody ends the run
    {ns}:{{THREAD}}:journal   hash     RUN/STEP -> "N RECORD", N counts the writes; # is the count
    {ns}:{{THREAD}}:live      hash     run, turn, attempt; kind:PART and units:PART for each part
    {ns}:{{THREAD}}:live:PART string   the text of one part so far
    {ns}:{{THREAD}}:tokens    channel  the deltas of that text
    {ns}:abort:WORKER         channel  fences of drives that this worker is to stop
    {ns}:calls:DIGEST         string   when a caller's bucket of calls is full; gone when it is
    {ns}:{{queue}}:doorbell   sorted   ids of rings that no worker has taken, by the time due
    {ns}:{{queue}}:nudge      list     the same ids, for workers that wait
    arq:job:{ns}.RUN.CHANCE   string   the ring itself (arq gives the prefix; it deletes the key)
"""

from dataclasses import dataclass
from datetime import timedelta

JOURNAL_TTL = timedelta(hours=24)
"""Refreshed by each write: longer than any outage of Postgres that a run should outlast."""

LIVE_TEXT_TTL = timedelta(minutes=10)
"""Refreshed by each delta: text that nobody goes on writing is of no use to a reader."""

DOORBELL_TTL = timedelta(hours=24)
"""Refreshed by each ring.  The table is the queue, so an expired ring costs a second at most."""


@dataclass(frozen=True, slots=True)
class ThreadKeys:
    """The keys of one thread."""

    fence: str
    journal: str
    live: str
    tokens: str

    def part(self, part: int) -> str:
        """Return the key of one part's text."""
        return f"{self.live}:{part}"


class Keys:
    """The keys of one deployment; ``namespace`` lets several share a server."""

    def __init__(self, namespace: str = "rw") -> None:
        self.namespace = namespace
        self.doorbell = f"{namespace}:{{queue}}:doorbell"
        self.nudges = f"{namespace}:{{queue}}:nudge"

    def thread(self, thread_id: str) -> ThreadKeys:
        """Return the keys of one thread."""
        base = f"{self.namespace}:{{{thread_id}}}"
        return ThreadKeys(f"{base}:fence", f"{base}:journal", f"{base}:live", f"{base}:tokens")

    def calls(self, digest: str) -> str:
        """Return the key of a caller's bucket; a digest, for a user's id is nobody's business."""
        return f"{self.namespace}:calls:{digest}"

    def aborts(self, worker_id: str) -> str:
        """Return the channel on which a worker is told to stop drives."""
        return f"{self.namespace}:abort:{worker_id}"
