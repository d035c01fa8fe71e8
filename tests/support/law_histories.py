"""Whether every provider would accept what a thread's messages make.

The rows go the product's own way (``app.loop.history``), then pydantic-ai's mapping of each
provider; what comes out is held to the rules that the providers' APIs refuse requests by:
calls and results in pairs, at once and in order, no empty text, roles where they may stand.
"""

import functools
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, cast

from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from app.domain.message import Message, MessageStatus, Role
from app.loop.history import History

Sent = list[dict[str, Any]]

_PLAIN = ModelRequestParameters()
_LONGEST_ID = 64


def message_of(row: dict[str, Any]) -> Message:
    """Return a message from a row as the audit has it."""
    return Message(
        id=row["id"],
        thread_id=row["thread"],
        seq=row["seq"],
        version=row["version"],
        run_id=row["run"],
        role=Role(row["role"]),
        status=MessageStatus(row["status"]),
        parts=row["parts"],
        created_at=datetime.now(UTC),
        turn=row["turn"],
        model=row["model"],
    )


async def faults_of(rows: Iterable[Message]) -> list[str]:
    """Return what a provider would refuse in the history that these rows make.

    ``Model.prepare_messages`` is left out, which costs more than all the rest: it changes only
    parts that this history never has (speech, prompts of the system in the middle, tool search).
    """
    history = list(History.of(rows).to_send())
    if not history:
        return []
    chat, responses, anthropic = _models()
    of_chat = await chat._map_messages(history, _PLAIN)
    _, of_responses = await responses._map_messages(history, {}, _PLAIN)
    _, of_anthropic = await anthropic._map_message(history, _PLAIN, AnthropicModelSettings())
    return [
        *(f"OpenAI chat: {fault}" for fault in chat_faults(cast("Sent", of_chat))),
        *(f"OpenAI: {fault}" for fault in responses_faults(cast("Sent", of_responses))),
        *(f"Anthropic: {fault}" for fault in anthropic_faults(cast("Sent", of_anthropic))),
    ]


def chat_faults(messages: Sent) -> list[str]:
    """Return what Chat Completions refuses."""
    faults: list[str] = []
    owed: list[str] = []
    for at, message in enumerate(messages):
        role, calls = message["role"], message.get("tool_calls") or []
        if role == "tool":
            if message["tool_call_id"] not in owed:
                faults.append(f"message {at} answers {message['tool_call_id']}, which is not open")
            else:
                owed.remove(message["tool_call_id"])
        elif owed:
            faults.append(f"message {at} ({role}) comes before the results of {owed}")
            owed = []
        if role in {"user", "assistant"} and not calls and not message.get("content"):
            faults.append(f"message {at} ({role}) is empty")
        ids = [call["id"] for call in calls]
        faults += _id_faults(ids)
        faults += [f"the arguments of {c['id']} are no JSON" for c in calls if not _is_json(c)]
        owed += ids
    return faults + ([f"no result of {owed}"] if owed else [])


def responses_faults(items: Sent) -> list[str]:
    """Return what the Responses API refuses."""
    asked = [item["call_id"] for item in items if item.get("type") == "function_call"]
    given = [item["call_id"] for item in items if item.get("type") == "function_call_output"]
    faults = _id_faults(asked)
    if asked != given:
        faults.append(f"calls {asked} have the results {given}")
    for call_id in asked:
        places = [at for at, item in enumerate(items) if item.get("call_id") == call_id]
        if items[places[0]].get("type") != "function_call":
            faults.append(f"the result of {call_id} comes before its call")
    return faults


def anthropic_faults(messages: Sent) -> list[str]:
    """Return what Messages refuses."""
    faults: list[str] = []
    if messages and messages[0]["role"] != "user":
        faults.append("the first message is not a user's")
    turns = [
        (role, [block for message in group for block in _blocks(message)])
        for role, group in groupby(messages, key=lambda message: message["role"])
    ]
    owed: list[str] = []
    for role, blocks in turns:
        results = [each["tool_use_id"] for each in blocks if each["type"] == "tool_result"]
        if results != owed:
            faults.append(f"calls {owed} have the results {results}")
        if [each["type"] for each in blocks[: len(results)]] != ["tool_result"] * len(results):
            faults.append("something stands before a result")
        owed = [each["id"] for each in blocks if each["type"] == "tool_use"]
        faults += _id_faults(owed)
        if role == "user" and owed:
            faults.append("a user makes calls")
        empty = [each for each in blocks if each["type"] == "text" and not each["text"].strip()]
        faults += ["an empty text"] * len(empty)
        if not blocks:
            faults.append("an empty message")
    return faults + ([f"no result of {owed}"] if owed else [])


def _id_faults(ids: Sequence[str]) -> list[str]:
    faults = [f"the id {each!r} is refused" for each in ids if not _is_id(each)]
    return faults + ([f"the ids {ids} are not unique"] if len(set(ids)) != len(ids) else [])


def _is_id(call_id: str) -> bool:
    words = call_id.replace("-", "").replace("_", "")
    return 0 < len(call_id) <= _LONGEST_ID and words.isascii() and words.isalnum()


def _is_json(call: dict[str, Any]) -> bool:
    try:
        return isinstance(json.loads(call["function"]["arguments"]), dict)
    except ValueError:
        return False


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


@functools.cache
def _models() -> tuple[OpenAIChatModel, OpenAIResponsesModel, AnthropicModel]:
    """Return the three, none of which is ever asked anything."""
    openai = OpenAIProvider(api_key="none")
    return (
        OpenAIChatModel("gpt-4o", provider=openai),
        OpenAIResponsesModel("gpt-4o", provider=openai),
        AnthropicModel("claude-sonnet-4-5", provider=AnthropicProvider(api_key="none")),
    )
