"""What the harness tells the process that forks: one line of JSON for each child."""

import json
from dataclasses import asdict, dataclass
from typing import Any

Plan = tuple[tuple[str, int, str], ...]
"""Point, visit, and what to do there: ``kill`` or ``freeze``."""


@dataclass(frozen=True, slots=True)
class Order:
    """One process to be.

    Attributes:
        trace: the file that its visits are written to.
        body_log: the folder that bodies are noted in.
        is_held: whether it is frozen to be held, and loses nothing by it.
        build: a deliberately broken build to be, or none.
        call: a caller's one call (``function``, ``arguments``, ``caller``, ``dedupe``); without
            one the child is a worker.
        answer: the file that a caller's answer is written to.
        webhook_url: of another system that is told, if there is one.
    """

    id: int
    database_url: str
    redis_url: str
    namespace: str
    trace: str
    log: str
    body_log: str
    plan: Plan = ()
    is_held: bool = False
    build: str | None = None
    drain_s: float = 2.0
    call: dict[str, Any] | None = None
    answer: str = ""
    webhook_url: str | None = None

    def to_json(self) -> str:
        """Return one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str | bytes) -> "Order":
        """Return what ``to_json`` wrote."""
        stored = json.loads(line)
        plan = tuple((name, visit, deed) for name, visit, deed in stored.pop("plan"))
        return cls(plan=plan, **stored)
