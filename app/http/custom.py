"""The team's own way to judge a token: one async callable, kept from doing harm.

Only an ``Identity`` lets anybody in.  ``None`` is a refusal.  Whatever else happens (an error, a
wrong answer, none in time) means that nobody can say just now: it is logged and never a pass.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final, NoReturn, TypeAlias

from app.authoring.contained import contained
from app.domain.errors import ClientFault, TransientFault, Unauthenticated
from app.domain.identity import Identity
from app.http.identity import fault_of_user_id

PATIENCE_S: Final = 5.0

TeamCallable: TypeAlias = Callable[[str], Awaitable[Identity | None]]

log = logging.getLogger(__name__)


class CustomTokens:
    """Has tokens judged by ``judge``, which an operator knows as ``name``."""

    def __init__(self, judge: TeamCallable, name: str) -> None:
        self._judge = judge
        self._name = name

    async def authenticate(self, token: str) -> Identity:
        """Return who the token speaks for.

        Raises:
            Unauthenticated: the team's code does not know it.
            ClientFault: what else the team's code refuses with.
            TransientFault: it broke, or took too long.
        """
        try:
            async with asyncio.timeout(PATIENCE_S):
                with contained(self._name):
                    # Its type is a promise of the team's that nobody has checked.
                    found: object = await self._judge(token)
        except (ClientFault, TransientFault):
            raise
        except Exception as error:  # noqa: BLE001  # whatever it is, it is no pass
            self._cannot_say("failed", error)
        if found is None:
            raise Unauthenticated("the token is not known")
        if not isinstance(found, Identity):
            self._cannot_say(f"returned {type(found).__name__}, no Identity")
        fault = _fault_of(found)
        if fault is not None:
            self._cannot_say(f"returned an Identity that is none: {fault}")
        return found

    def _cannot_say(self, what: str, error: Exception | None = None) -> NoReturn:
        log.error("%s %s", self._name, what, exc_info=error)
        raise TransientFault("nobody can say just now whose token this is") from error


def _fault_of(found: Identity) -> str | None:
    """Return what is wrong with what nobody has checked; ``None``: nothing.

    A string would do for a set of roles, and hold ``admin`` as soon as one of them ends in it; a
    moment without a time zone cannot be compared with that of a revocation.
    """
    fault = fault_of_user_id(found.user_id)
    if fault is not None:
        return f"user_id {fault}"
    if not _are_words(found.roles):
        return "roles is a frozenset of strings"
    if found.scopes is not None and not _are_words(found.scopes):
        return "scopes is a frozenset of strings, or None"
    issued: object = found.issued_at
    if issued is not None and not (isinstance(issued, datetime) and issued.tzinfo is not None):
        return "issued_at is a datetime with a time zone, or None"
    email: object = found.email
    return None if email is None or isinstance(email, str) else "email is a string, or None"


def _are_words(given: object) -> bool:
    return isinstance(given, frozenset) and all(isinstance(each, str) for each in given)
