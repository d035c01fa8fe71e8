"""What the routes are handed by the composition root."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from starlette.types import ASGIApp

from app.authoring.agent import Agent
from app.dialects.telling import Telling
from app.domain.identity import Identity
from app.domain.ports import RunStore, ThreadReader
from app.domain.storable import Json
from app.domain.thread import Thread
from app.protocol.peer import Peers
from app.telemetry.metrics import Metrics

Authenticate: TypeAlias = Callable[[str | None], Awaitable[Identity]]
Admit: TypeAlias = Callable[[Identity, str], Awaitable[None]]
"""Counts a request of somebody, who is at this address.  Raises ``RateLimited``."""

Readiness: TypeAlias = Callable[[], Awaitable[Mapping[str, str | None]]]
"""Returns what was checked, and what is wrong with it (``None``: nothing)."""


class CallFunction(Protocol):
    """Calls a server function; see ``app.functions.dispatch``."""

    async def __call__(
        self,
        ref: str,
        args: Mapping[str, object],
        *,
        caller: Identity,
        dedupe: str | None,
        internal: bool = False,
    ) -> Json:
        """Return what the function answers."""
        ...


class Finding(Protocol):
    """Something that the laws do not allow; see ``app.main.doctor``."""

    @property
    def kind(self) -> str:
        """What it is, in a word."""
        ...

    @property
    def sentence(self) -> str:
        """What it is, for people."""
        ...

    @property
    def is_mended(self) -> bool:
        """Whether it is no more."""
        ...


Examine: TypeAlias = Callable[[bool], Awaitable[Sequence[Finding]]]
"""Looks for what the laws do not allow, and mends it if that is asked for."""


@dataclass(frozen=True, slots=True)
class DevServices:
    """What only ``ropewalk dev`` serves: the demo chat, and tokens of a person and an admin.

    ``signs_in_anyone``: not only programs on this machine; see ``app.http.dev``.
    """

    user_id: str
    admin_id: str
    mint: Callable[[str, Sequence[str]], str]
    chat: Path
    signs_in_anyone: bool = False


class Retell(Protocol):
    """Answers a request, which was let in already, with a run in another protocol's words."""

    def __call__(
        self, telling: Telling, opening: bytes, thread: Thread, caller: Identity, token: str | None
    ) -> ASGIApp:
        """Return what writes the response; ``opening`` is sent first."""
        ...


async def admit_all(caller: Identity, address: str) -> None:
    """Count nothing."""
    del caller, address


@dataclass(frozen=True, slots=True)
class HttpServices:
    """Everything that the routes use.

    ``streams`` answers with a session's frames as server-sent events; see ``app.gateway.sse``.
    ``retell`` answers with a run in another protocol's words; see ``app.gateway.retelling``.
    ``peers`` tells where a request comes from.  ``admin`` is the folder of the built admin UI.
    """

    call: CallFunction
    authenticate: Authenticate
    agents: Mapping[str, Agent]
    reader: ThreadReader
    store: RunStore
    metrics: Metrics
    readiness: Readiness
    examine: Examine
    version: str
    admit: Admit = admit_all
    peers: Peers = field(default_factory=Peers)
    streams: ASGIApp | None = None
    retell: Retell | None = None
    admin: Path | None = None
    dev: DevServices | None = None
