"""What the routes are handed by the composition root."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from app.authoring.agent import Agent
from app.domain.identity import Identity
from app.domain.ports import RunStore, ThreadReader
from app.domain.storable import Json
from app.telemetry.metrics import Metrics

Authenticate: TypeAlias = Callable[[str | None], Awaitable[Identity]]
Readiness: TypeAlias = Callable[[], Awaitable[Mapping[str, str | None]]]
"""Returns what was checked, and what is wrong with it (``None``: nothing)."""


class CallFunction(Protocol):
    """Calls a server function; see ``app.functions.dispatch``."""

    async def __call__(
        self, ref: str, args: Mapping[str, object], *, caller: Identity, dedupe: str | None
    ) -> Json:
        """Return what the function answers."""
        ...


@dataclass(frozen=True, slots=True)
class DevServices:
    """What only ``ropewalk dev`` serves: the demo chat, and a token for it."""

    user_id: str
    mint: Callable[[str], str]
    chat: Path


@dataclass(frozen=True, slots=True)
class HttpServices:
    """Everything that the routes use."""

    call: CallFunction
    authenticate: Authenticate
    agents: Mapping[str, Agent]
    reader: ThreadReader
    store: RunStore
    metrics: Metrics
    readiness: Readiness
    dev: DevServices | None = None
