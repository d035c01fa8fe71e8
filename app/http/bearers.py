"""Whatever a caller shows: a token, an API key, or nothing.  Every way in asks here.

A token is judged by the one key that is configured or by the team's own callable, an API key by
its row; then both meet the list of users whose tokens were taken back.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import TypeAlias

from app.domain.api_key import PresentedKey
from app.domain.errors import Unauthenticated
from app.domain.identity import ANONYMOUS, Identity
from app.http.api_keys import ApiKeys
from app.http.remembered import Remembered
from app.protocol.wire import MAX_TOKEN

JudgeToken: TypeAlias = Callable[[str], Awaitable[Identity]]
ReadRevocations: TypeAlias = Callable[[], Awaitable[Mapping[str, datetime]]]
"""Returns from when on tokens are good, for each user who had any taken back."""


class Bearers:
    """Turns what is shown into identities."""

    def __init__(
        self,
        judge: JudgeToken,
        keys: ApiKeys,
        revocations: ReadRevocations,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._judge = judge
        self._keys = keys

        async def read(_: None) -> Mapping[str, datetime]:
            return await revocations()

        self._revocations: Remembered[None, Mapping[str, datetime]] = Remembered(read, clock=clock)

    async def authenticate(self, token: str | None) -> Identity:
        """Return who is speaking; no token is nobody.

        Raises:
            Unauthenticated: the token is not good; says why, and repeats nothing of it.
            TransientFault: nobody can say just now.
        """
        if token is None:
            return ANONYMOUS
        if len(token) > MAX_TOKEN:
            raise Unauthenticated(f"a token has at most {MAX_TOKEN} characters")
        key = PresentedKey.parse(token)
        identity = await (self._judge(token) if key is None else self._keys.authenticate(key))
        await self._refuse_revoked(identity)
        return identity

    async def _refuse_revoked(self, identity: Identity) -> None:
        if identity.user_id is None:
            return
        not_before = (await self._revocations.get(None)).get(identity.user_id)
        if not_before is None:
            return
        # A token that does not say since when it is good may be an old one.
        if identity.issued_at is None or identity.issued_at < not_before:
            raise Unauthenticated("this user's tokens were taken back; sign in again")
