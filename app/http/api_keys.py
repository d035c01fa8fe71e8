"""A server of the team's own shows a key instead of a token.

A wrong secret and an id that does not exist are refused in the same words; why a key is good no
more hears only who holds it.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from app.domain.api_key import ApiKey, PresentedKey
from app.domain.errors import TransientFault, Unauthenticated
from app.domain.identity import Identity
from app.http.remembered import Remembered

_NOTE_EVERY: Final = timedelta(hours=1)


class KeyStore(Protocol):
    """Where keys are kept; see ``app.store.api_keys``."""

    async def find(self, key_id: str) -> ApiKey | None:
        """Return the key with this id."""
        ...

    async def note_use(self, key_id: str) -> None:
        """Note that a key is in use."""
        ...


class ApiKeys:
    """Turns keys into identities."""

    def __init__(self, store: KeyStore, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._known = Remembered(store.find, clock=clock)
        self._noted: dict[str, datetime] = {}

    async def authenticate(self, presented: PresentedKey) -> Identity:
        """Return whom a key speaks for.

        Raises:
            Unauthenticated: it is not good; says why.
            TransientFault: nobody can say just now.
        """
        key = await self._known.get(presented.id)
        if key is None or not key.is_opened_by(presented):
            raise Unauthenticated("the API key does not verify")
        now = datetime.now(UTC)
        fault = key.fault(now)
        if fault is not None:
            raise Unauthenticated(fault)
        await self._note_use(key, now)
        return key.identity

    async def _note_use(self, key: ApiKey, now: datetime) -> None:
        noted = self._noted.get(key.id, key.used_at)
        if noted is None or now - noted > _NOTE_EVERY:
            self._noted[key.id] = now
            with suppress(TransientFault):  # it is for people who look for keys nobody needs
                await self._store.note_use(key.id)
