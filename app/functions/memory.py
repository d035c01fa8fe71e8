"""The memory of calls: a call repeated under its dedupe key takes effect once.

What is remembered is the outcome, a value or a deliberate error, and a digest of
the arguments: the same key with others is a mistake of the caller's.
"""

import hashlib
import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pydantic_core import to_jsonable_python

from app.domain import errors
from app.domain.calls import CallKey, RememberedCall
from app.domain.errors import ChatError, InvalidArgument
from app.domain.identity import Identity
from app.domain.storable import Json, decode, encode
from app.threads.limits import MAX_DEDUPE

_BY_CODE: dict[str, type[ChatError]] = {
    fault.code: fault
    for fault in (
        errors.InvalidArgument,
        errors.Unauthenticated,
        errors.Forbidden,
        errors.NotFound,
        errors.Conflict,
        errors.PayloadTooLarge,
        errors.RateLimited,
        errors.TransientFault,
    )
}

_SERVERS_OWN: Final = re.compile(r"scheduled:|[0-9a-f-]{36}/")
"""What the keys begin with under which schedules and the steps of runs call."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call that may be repeated: its key and the digest of its arguments."""

    key: CallKey
    arguments: str

    @classmethod
    def of(
        cls, caller: Identity, ref: str, dedupe: str, arguments: object, *, internal: bool
    ) -> "Call":
        """Return the call.

        Args:
            caller: who makes it, or for whom the server does.
            ref: the function.
            dedupe: the key.  One from outside never is one of the server's own, whatever it is:
                else a client could make a call that the server is to make for him later.
            arguments: as they were given.
            internal: it comes from server code.

        Raises:
            InvalidArgument: the key is empty, too long or unprintable.
        """
        if not (0 < len(dedupe) <= MAX_DEDUPE and dedupe.isprintable()):
            raise InvalidArgument(f"a dedupe key has 1 to {MAX_DEDUPE} printable characters")
        if not internal and _SERVERS_OWN.match(dedupe):
            dedupe = f"outside:{dedupe}"
        return cls(CallKey(caller.user_id or "", ref, dedupe), digest(arguments))

    def outcome_of(self, earlier: RememberedCall) -> Json:
        """Return what the earlier call answered, or raise what it raised.

        Raises:
            InvalidArgument: it had other arguments.
            ChatError: it failed so.
        """
        self.check(earlier)
        stored = decode(earlier.result or "null")
        match stored:
            case {"value": value}:
                return value
            case {"error": {"code": str(code), "message": str(message), **rest}}:
                data = rest.get("data")
                fault = _BY_CODE.get(code, ChatError)
                raise fault(message, data if isinstance(data, dict) else None)
            case _:
                raise ChatError("the first answer to this call cannot be read")

    def check(self, earlier: RememberedCall) -> None:
        """Refuse another call that was given the same key.

        Raises:
            InvalidArgument: it had other arguments.
        """
        if earlier.arguments != self.arguments:
            raise InvalidArgument("this dedupe key was used before, with other arguments")


def answered(value: Json) -> str:
    """Return the outcome of a call that answered, as it is stored."""
    return encode({"value": value})


def failed(error: ChatError) -> str:
    """Return the outcome of a call that failed, as it is stored."""
    outcome: dict[str, object] = {"code": error.code, "message": error.message}
    if error.data is not None:
        with suppress(ValueError):  # no JSON: left out, as for the first caller
            outcome["data"] = to_jsonable_python(dict(error.data))
    return encode({"error": outcome})


def digest(arguments: object) -> str:
    """Return the SHA-256 of arguments in hexadecimal; the order of names does not count."""
    plain = json.loads(encode(to_jsonable_python(arguments, inf_nan_mode="null")))
    canonical = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
