"""A model's answer as people see it, and what it cost.

Only text, visible thinking and calls have a form here; signatures, encrypted
reasoning and whatever else a provider keeps in an answer has no way out.
"""

from pydantic import TypeAdapter
from pydantic_ai.messages import ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.usage import RequestUsage

from app.domain.message import Part, text_part, thinking_part, tool_call_part
from app.domain.run import Usage
from app.domain.storable import Json, encode

_RESPONSE: TypeAdapter[ModelResponse] = TypeAdapter(ModelResponse)


def parts_of(response: ModelResponse) -> list[Part]:
    """Return what the wire shows of an answer."""
    parts: list[Part] = []
    for part in response.parts:
        match part:
            case TextPart(content=text) if text:
                parts.append(text_part(text))
            case ThinkingPart(content=text) if text:
                parts.append(thinking_part(text))
            case ToolCallPart():
                parts.append(tool_call_part(part.tool_call_id, part.tool_name, input_of(part)))
            case _:
                pass
    return parts


def input_of(call: ToolCallPart) -> Json:
    """Return the arguments as the model sent them; as text where they are no JSON object."""
    try:
        return call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return str(call.args)


def usage_of(usage: RequestUsage) -> Usage:
    """Return what one request cost."""
    return Usage(
        requests=1,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )


def response_to_text(response: ModelResponse) -> str:
    """Return the JSON from which the history is built.  It never leaves the server."""
    return encode(_RESPONSE.dump_python(response, mode="json", exclude_none=True))


def response_from_text(text: str) -> ModelResponse:
    """Return what ``response_to_text`` wrote: the same on the live path and on a resume."""
    return _RESPONSE.validate_json(text)
