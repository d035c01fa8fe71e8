"""The key of a server of the team's own: how it is written, and what is kept of it.

    rw_ID_SECRET      ID names the row, SECRET is 256 random bits

Only a digest of the secret is stored.  It needs no slow hash: nobody guesses 256 bits.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from app.domain.identity import Identity

_KEY: Final = re.compile(r"rw_([0-9a-z]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class PresentedKey:
    """A key as somebody shows it."""

    id: str
    secret: str = field(repr=False)

    @classmethod
    def parse(cls, token: str) -> "PresentedKey | None":
        """Return the key that a bearer token is, if it is one."""
        found = _KEY.fullmatch(token)
        return cls(*found.groups()) if found else None

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"rw_{self.id}_{self.secret}"

    @property
    def digest(self) -> bytes:
        """What is kept of the secret."""
        return hashlib.sha256(self.secret.encode()).digest()


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is kept of a key."""

    id: str
    digest: bytes = field(repr=False)
    name: str
    user_id: str
    roles: frozenset[str]
    scopes: frozenset[str] | None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    used_at: datetime | None = None

    def is_opened_by(self, presented: PresentedKey) -> bool:
        """Whether this is the key that is shown; takes the same time either way."""
        return hmac.compare_digest(self.digest, presented.digest)

    def fault(self, now: datetime) -> str | None:
        """Return why it is good no more; ``None``: it is good."""
        if self.revoked_at is not None:
            return "the API key was revoked"
        if self.expires_at is not None and self.expires_at <= now:
            return "the API key has expired"
        return None

    @property
    def identity(self) -> Identity:
        """Whom it speaks for."""
        return Identity(self.user_id, self.roles, self.scopes, self.created_at)
