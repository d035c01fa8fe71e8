"""What the gateway is handed by the composition root."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Protocol, TypeAlias

from app.domain.identity import Identity
from app.domain.ports import TokenSource
from app.domain.storable import Json
from app.domain.tables import Keys


class Functions(Protocol):
    """Server functions, the built-in ones included."""

    async def call(
        self, ref: str, args: Mapping[str, Json], *, caller: Identity, dedupe: str | None
    ) -> Json:
        """Call ``module:name`` and return its value.

        Raises:
            ChatError: what the caller is told, by its code.
        """
        ...

    def may_write(self, ref: str) -> bool:
        """Return whether a call of this may change anything: no query does."""
        ...

    async def read(
        self, ref: str, args: Mapping[str, Json], *, caller: Identity, reads: dict[str, Keys]
    ) -> Json:
        """Return what a public query answers; ``reads`` is told what it read.

        Raises:
            ChatError: as of ``call``.
        """
        ...


CountWrites: TypeAlias = Callable[[Collection[str]], Awaitable[Mapping[str, int]]]
"""Returns how many rows of these tables were ever written, as the database counts them."""

Authenticate: TypeAlias = Callable[[str | None], Awaitable[Identity]]
"""Returns who a token speaks for; ``None`` is anonymous.

Raises ``Unauthenticated`` for a token that is not good, ``TransientFault`` when nobody can say.
"""

Admit: TypeAlias = Callable[[Identity, str], Awaitable[None]]
"""Counts a call of somebody, who is at this address.  Raises ``RateLimited`` for one too many."""

OnToken: TypeAlias = Callable[[str, Mapping[str, Any]], None]
"""Hears one payload of a thread's token channel; see ``TokenSource``."""

OnGap: TypeAlias = Callable[[], None]
"""Hears that tokens may have been missed: the connection to Redis was replaced."""

TokenSourceFactory: TypeAlias = Callable[[OnToken, OnGap], TokenSource]
