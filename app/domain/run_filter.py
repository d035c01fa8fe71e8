"""Which runs somebody asks for.  What is ``None`` does not matter."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Every word of it has to fit.

    Attributes:
        agent: its slug.
        owner: of the thread.
        key: of the thread; a root's means its branches, too.
        since: started then or later.
        until: started before.
        within_s: started in the last so many seconds, by the database's clock.
        min_tokens: that it used at least, in and out.
    """

    agent: str | None = None
    owner: str | None = None
    key: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    within_s: int | None = None
    min_tokens: int | None = None
