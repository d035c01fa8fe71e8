"""Minting tokens with the shared secret, for development and for operators."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import jwt

from app.settings import Settings


def mint(
    secret: str,
    user_id: str,
    *,
    now: datetime,
    lifetime: timedelta,
    settings: Settings,
    roles: Sequence[str] = (),
) -> str:
    """Return a token for a user, one that a gateway with these settings takes.

    Args:
        secret: the shared secret (HS256).
        user_id: becomes the subject.
        now: when the token begins to hold.
        lifetime: for how long.
        settings: say the issuer, the audience and the claim of the roles.
        roles: for example ``admin``.
    """
    claims: dict[str, object] = {"sub": user_id, "iat": now, "exp": now + lifetime}
    if settings.jwt_issuer is not None:
        claims["iss"] = settings.jwt_issuer
    if settings.jwt_audience is not None:
        claims["aud"] = settings.jwt_audience
    if roles:
        *outer, last = settings.jwt_roles_claim.split(".")
        place = claims
        for name in outer:
            place = place.setdefault(name, {})  # type: ignore[assignment]  # made here as objects
        place[last] = list(roles)
    return jwt.encode(claims, secret, algorithm="HS256")
