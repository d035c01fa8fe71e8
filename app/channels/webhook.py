"""The outbound webhook: each notice is posted, signed, until somebody takes it.

    POST URL
    ropewalk-event: approval.requested
    ropewalk-delivery: ID                     the same when it is sent again
    ropewalk-signature: t=UNIX,v1=HEX         HMAC-SHA256 over "UNIX.BODY" with the secret

Any answer below 300 takes it.  410 refuses it for good; after anything else, or none, it is sent
again, ever later, for a day.
"""

import asyncio
import hashlib
import hmac
import json
import logging
import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Final, Protocol

import httpx2

from app.domain.errors import StoreUnavailable
from app.domain.notice import OwedNotice
from app.domain.ports import Clock
from app.domain.retry import RetryPolicy, next_delay
from app.domain.storable import storable_text

log = logging.getLogger(__name__)

BACKOFF: Final = RetryPolicy(base=timedelta(seconds=2), cap=timedelta(hours=1))
GIVE_UP_AFTER: Final = timedelta(hours=24)
LEASE: Final = timedelta(seconds=60)
TIMEOUT_S: Final = 15.0
AT_ONCE: Final = 16
_LOOK_S: Final = 1.0
_GONE: Final = 410


class NoticeStore(Protocol):
    """Where notices wait."""

    async def claim(self, limit: int, lease: timedelta) -> Sequence[OwedNotice]:
        """Return notices that are due, oldest first; they are the caller's for ``lease``."""
        ...

    async def settle(self, notice_id: str, error: str | None) -> None:
        """Note that a notice was taken, or with an error that it was given up."""
        ...

    async def put_off(self, notice_id: str, wait: timedelta, error: str) -> None:
        """Have a notice sent again after a while."""
        ...


class Webhook:
    """Posts notices to one address; one in each worker, driven by ``run``."""

    def __init__(
        self, notices: NoticeStore, url: str, secret: str, clock: Clock, client: httpx2.AsyncClient
    ) -> None:
        self._notices = notices
        self._url = url
        self._secret = secret.encode()
        self._clock = clock
        self._client = client

    async def run(self) -> None:
        """Send until cancelled."""
        while True:
            try:
                sent = await self.send_due()
            except StoreUnavailable as error:
                log.warning("webhooks wait: %s", error)
                sent = 0
            if not sent:
                await asyncio.sleep(_LOOK_S)

    async def send_due(self) -> int:
        """Send what is due; return how many there were."""
        due = await self._notices.claim(AT_ONCE, LEASE)
        async with asyncio.TaskGroup() as sending:
            for owed in due:
                sending.create_task(self._send(owed))
        return len(due)

    async def _send(self, owed: OwedNotice) -> None:
        refusal = await self._posted(owed)
        try:
            await self._note(owed, refusal)
        except StoreUnavailable as error:
            # Its lease runs out, and it is sent again; the others are not cut off for it.
            log.warning("what became of the webhook %s is not stored: %s", owed.notice.id, error)

    async def _note(self, owed: OwedNotice, refusal: tuple[bool, str] | None) -> None:
        notice = owed.notice
        if refusal is None:
            await self._notices.settle(notice.id, None)
            return
        is_final, reason = refusal
        age_s = self._clock.unix_ms() / 1000 - owed.created_at.timestamp()
        delay = next_delay(BACKOFF, owed.attempts + 1, jitter=random.random())  # noqa: S311
        if is_final or age_s > GIVE_UP_AFTER.total_seconds():
            log.warning("the webhook %s is given up: %s", notice.id, reason)
            await self._notices.settle(notice.id, reason)
        else:
            log.info("the webhook %s is sent again in %s: %s", notice.id, delay, reason)
            await self._notices.put_off(notice.id, delay, reason)

    async def _posted(self, owed: OwedNotice) -> tuple[bool, str] | None:
        """Post one; return whether it is refused for good, and why, unless it was taken."""
        body = _body(owed)
        headers = self._headers(owed, body)
        try:
            async with (
                asyncio.timeout(TIMEOUT_S),
                # Nobody reads what it says: that may have no end.
                self._client.stream(
                    "POST", self._url, content=body, headers=headers, timeout=TIMEOUT_S
                ) as answer,
            ):
                pass
        except TimeoutError:
            return False, f"no answer within {TIMEOUT_S:g} s"
        except httpx2.HTTPError as error:
            return False, storable_text(f"{type(error).__name__}: {error}"[:500])
        if answer.is_success:
            return None
        return answer.status_code == _GONE, f"answered {answer.status_code}"

    def _headers(self, owed: OwedNotice, body: bytes) -> dict[str, str]:
        now = self._clock.unix_ms() // 1000
        return {
            "content-type": "application/json",
            "ropewalk-event": owed.notice.kind,
            "ropewalk-delivery": owed.notice.id,
            "ropewalk-signature": signature(self._secret, now, body),
        }


def signature(secret: bytes, unix_s: int, body: bytes) -> str:
    """Return the header by which a receiver knows who sent a body, and when."""
    signed = hmac.new(secret, b"%d.%b" % (unix_s, body), hashlib.sha256).hexdigest()
    return f"t={unix_s},v1={signed}"


def _body(owed: OwedNotice) -> bytes:
    notice = owed.notice
    told = {
        "id": notice.id,
        "type": notice.kind,
        "createdAt": owed.created_at.isoformat(timespec="milliseconds"),
        "data": notice.data,
    }
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"), default=dict).encode()
