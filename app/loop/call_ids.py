"""Ids of calls, unique in a thread whatever a provider sends (B15).

Some providers count ``call_1`` anew in every answer, some send none that another
provider would accept.  The id that is recorded is the one that tools, approvals,
results and the provider see from then on.
"""

import re
from collections.abc import Set
from dataclasses import replace

from pydantic_ai.messages import ModelResponse, ModelResponsePart, ToolCallPart

_REFUSED = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 64


def with_unique_ids(response: ModelResponse, taken: Set[str]) -> ModelResponse:
    """Return the answer with ids that no call in ``taken`` and no other call of it has.

    A repeated ``call_1`` becomes ``call_1-2``; an id that is fine stays as it is.
    """
    seen = set(taken)
    parts: list[ModelResponsePart] = []
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            call_id = _unique(part.tool_call_id, seen)
            seen.add(call_id)
            parts.append(replace(part, tool_call_id=call_id))
        else:
            parts.append(part)
    return replace(response, parts=parts)


def _unique(call_id: str, seen: Set[str]) -> str:
    wanted = _REFUSED.sub("_", call_id)[:_LONGEST] or "call"
    candidate, number = wanted, 1
    while candidate in seen:
        number += 1
        suffix = f"-{number}"
        candidate = wanted[: _LONGEST - len(suffix)] + suffix
    return candidate
