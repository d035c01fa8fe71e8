"""What a tool returned, as JSON that can be stored, shown and sent to the model.

A result that has no JSON, or too much of it, becomes an error that the model can
act on; trying again would return the same (B19).
"""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from pydantic_core import PydanticSerializationError, to_jsonable_python

from app.domain.message import Part, tool_result_part
from app.domain.storable import Json

MAX_RESULT_BYTES: Final = 1 << 20
_SHOWN_CHARACTERS: Final = 600


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to.

    ``edited_input``: the arguments with which a person let it run, if not the model's.
    """

    output: Json
    is_error: bool = False
    edited_input: Json = None

    def part(self, call_id: str, name: str) -> Part:
        """Return the part that the result's row holds."""
        return tool_result_part(
            call_id, name, self.output, is_error=self.is_error, edited_input=self.edited_input
        )


def failed(message: str) -> Outcome:
    """Return an error that the model reads."""
    return Outcome(message, is_error=True)


def outcome_of(returned: object, name: str) -> Outcome:
    """Return the outcome of a tool that returned this."""
    try:
        output = _jsonable(returned)
        size = len(json.dumps(output, ensure_ascii=False).encode(errors="surrogatepass"))
    except (ValueError, TypeError, RecursionError) as error:
        return failed(
            f"{name} returned a {type(returned).__name__}, which has no JSON form: "
            f"{shortened(str(error))}"
        )
    if size > MAX_RESULT_BYTES:
        return failed(
            f"{name} returned {size / MAX_RESULT_BYTES:.1f} MiB, which is more than the limit of "
            f"{MAX_RESULT_BYTES >> 20} MiB. Ask for less of it: a part, a page or a summary."
        )
    return Outcome(output)


def what_failed(name: str, error: Exception, attempts: int) -> Outcome:
    """Return the error for a tool that failed every time."""
    times = "once" if attempts == 1 else f"{attempts} times"
    said = shortened(str(error)) or "no reason given"
    return failed(f"{name} failed {times}. {type(error).__name__}: {said}")


def what_took_too_long(name: str, limit: timedelta, attempts: int) -> Outcome:
    """Return the error for a tool that did not end in time, every time."""
    times = "" if attempts == 1 else f", {attempts} times"
    return failed(
        f"{name} took longer than its limit of {limit.total_seconds():g} s{times}. "
        "It may have taken effect."
    )


def shortened(text: str) -> str:
    """Return at most a paragraph of a message that somebody else wrote."""
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


def _jsonable(returned: object) -> Json:
    """Return JSON values; bytes that are no UTF-8 become base64."""
    try:
        value: Json = to_jsonable_python(returned, bytes_mode="utf8")
    except (PydanticSerializationError, UnicodeDecodeError):
        value = to_jsonable_python(returned, bytes_mode="base64")
    return value
