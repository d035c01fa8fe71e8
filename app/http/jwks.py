"""The keys that an identity provider publishes, fetched, kept and followed when they rotate.

A key that is not known makes us look again, but not more often than the cool-down
allows: made-up key ids must not turn us against the provider.  When the provider is
away, keys that we have go on for a while.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from jwt import PyJWK, PyJWKClient, PyJWTError

from app.domain.errors import TransientFault, Unauthenticated

FRESH_S = 60.0
"""For so long keys are taken without asking: a withdrawn key works no longer than this."""

STALE_S = 3600.0
"""For so long they go on while the provider does not answer."""

COOL_DOWN_S = 5.0
REST_S = 30.0
"""A provider that failed is left alone for so long while we have keys: asking it may take as long
as the time-out, and everybody waits meanwhile."""

FETCH_TIMEOUT_S = 5.0

log = logging.getLogger(__name__)


class Jwks:
    """The key set at one address."""

    def __init__(self, url: str, *, clock: Callable[[], float]) -> None:
        """Name the set; nothing is fetched yet.

        Raises:
            PyJWKClientError: the address is not one of the web.
        """
        self._client = PyJWKClient(url, cache_jwk_set=False, timeout=FETCH_TIMEOUT_S)
        self._clock = clock
        self._keys: Sequence[PyJWK] = ()
        self._fetched_at = float("-inf")
        self._ask_again_at = float("-inf")
        self._fetching = asyncio.Lock()

    async def key(self, key_id: str | None) -> PyJWK:
        """Return the key that signed a token; without an id, the only one there is.

        Raises:
            Unauthenticated: no such key is published.
            TransientFault: nobody can say, the provider does not answer.
        """
        found = self._find(key_id)
        if found is None or self._age() > FRESH_S:
            await self._refresh()
            found = self._find(key_id)
        if found is not None and self._age() <= STALE_S:
            return found
        if self._age() > FRESH_S:
            raise TransientFault("the identity provider's keys cannot be fetched just now")
        raise Unauthenticated("the token is signed with a key that the provider does not publish")

    def _age(self) -> float:
        return self._clock() - self._fetched_at

    def _find(self, key_id: str | None) -> PyJWK | None:
        if key_id is None:
            return self._keys[0] if len(self._keys) == 1 else None
        return next((key for key in self._keys if key.key_id == key_id), None)

    async def _refresh(self) -> None:
        """Fetch, unless that was tried a moment ago; many callers at once share one fetch."""
        async with self._fetching:
            if self._clock() < self._ask_again_at:
                return
            self._ask_again_at = self._clock() + COOL_DOWN_S
            try:
                # The client's own limit is for each piece of an answer, and there may be many.
                async with asyncio.timeout(FETCH_TIMEOUT_S):
                    keys = await asyncio.to_thread(self._published)
            except (PyJWTError, ValueError, TypeError, RecursionError, OSError) as error:
                # The caller sees by the age of the keys what that means.
                log.warning("the identity provider's keys cannot be fetched: %r", error)
                if self._age() <= STALE_S:
                    self._ask_again_at = self._clock() + REST_S
                return
            self._keys, self._fetched_at = keys, self._clock()

    def _published(self) -> Sequence[PyJWK]:
        """Fetch; blocks."""
        fetched = self._client.get_jwk_set()
        return [key for key in fetched.keys if key.public_key_use in {"sig", None}]
