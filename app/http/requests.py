"""What a request says: who sent it, its body, its page.  Bounded and strict."""

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.requests import Request

from app.domain.errors import InvalidArgument, PayloadTooLarge, Unauthenticated
from app.protocol.wire import first_fault
from app.threads.limits import MAX_DEDUPE

MAX_BODY = 1 << 20
"""Bytes."""

Body = TypeVar("Body", bound=BaseModel)


def bearer_token(request: Request) -> str | None:
    """Return the token that a request carries, if it carries one.

    Raises:
        Unauthenticated: it authorises itself in a way that is not spoken here.
    """
    header = request.headers.get("authorization")
    if header is None:
        return None
    scheme, _, token = header.strip().partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("authorise with `Authorization: Bearer TOKEN`")
    return token.strip()


def idempotency_key(request: Request) -> str | None:
    """Return the key under which the request takes effect once.

    Raises:
        InvalidArgument: it is empty, too long or unprintable.
    """
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= MAX_DEDUPE and key.isprintable()):
        raise InvalidArgument(f"Idempotency-Key: 1 to {MAX_DEDUPE} printable characters")
    return key


async def json_object(request: Request) -> dict[str, Any]:
    """Return the body, an object; no body at all is an empty one.

    Raises:
        InvalidArgument: it is not JSON, or not an object.
        PayloadTooLarge: it is above the limit.
    """
    raw = await _raw(request)
    if not raw:
        return {}
    try:
        value = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidArgument(f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidArgument("the body has to be a JSON object")
    return value


async def body_of(request: Request, model: type[Body]) -> Body:
    """Return the body as ``model`` describes it.

    Raises:
        InvalidArgument: it is not JSON, or something in it does not fit; says what.
        PayloadTooLarge: it is above the limit.
    """
    given = await json_object(request)
    try:
        return model.model_validate(given, strict=True)
    except ValidationError as error:
        raise InvalidArgument(first_fault(error)) from None


async def _raw(request: Request) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > MAX_BODY:
        raise PayloadTooLarge(f"a body has at most {MAX_BODY} bytes")
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MAX_BODY:
            raise PayloadTooLarge(f"a body has at most {MAX_BODY} bytes")
        chunks.append(chunk)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if size and kind != "application/json":
        # A page of another origin can send plain text without asking; it cannot send this.
        raise InvalidArgument("send the body as content-type: application/json")
    return b"".join(chunks)
